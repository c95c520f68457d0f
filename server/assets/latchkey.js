// @ts-check
/**
 * A few elements that improve the pages, sent to browsers as they are. Every page works without them; nothing here decides
 * anything. What they say comes from their attributes, in the reader's language.
 */

/** The reader's own kind of the page's language, because clocks and dates differ within one. */
const { lang } = document.documentElement
const locale = navigator.languages.find((each) => each.split('-')[0] === lang) ?? lang

/** Around the input for a code: groups the digits as the application shows them, and keeps the caret at its digit. */
class CodeField extends HTMLElement {
  #digits = ''

  connectedCallback() {
    const input = this.querySelector('input')
    if (!input) return
    const group = (/** @type {Event | undefined} */ event) => this.#group(input, event)
    input.addEventListener('input', group)
    input.addEventListener('compositionend', group)
    group(undefined)
  }

  /** @param {HTMLInputElement} input @param {Event | undefined} event */
  #group(input, event) {
    if (event instanceof InputEvent && event.isComposing) return
    const typed = input.value
    const caret = input.selectionStart ?? typed.length
    const all = digitsOf(typed)
    const before = digitsOf(typed.slice(0, caret))
    // Something else was typed: the reader should see it, not wonder where it went.
    if (all === null || before === null) return
    let digits = all
    let position = before.length
    const deleted = event instanceof InputEvent && /^deleteContent(Back|For)ward$/.exec(event.inputType)
    if (deleted && digits === this.#digits) {
      // Only the gap was deleted, and it would come back: what was meant is the digit beyond it.
      if (deleted[1] === 'Back') position = Math.max(0, position - 1)
      digits = digits.slice(0, position) + digits.slice(position + 1)
    }
    this.#digits = digits
    const grouped = (digits.match(/\d{3}(?=\d{2})|\d+/g) ?? []).join(' ')
    if (grouped === typed) return
    input.value = grouped
    if (document.activeElement === input) {
      const place = placeOf(grouped, position)
      input.setSelectionRange(place, place)
    }
  }
}

/** The digits of any script, without what may separate them; null if there is anything else. @param {string} text */
function digitsOf(text) {
  const compact = text.normalize('NFKC').replace(/[\s\p{Pd}\p{Cf}._·]/gu, '')
  if (!/^\p{Nd}*$/u.test(compact)) return null
  return Array.from(compact, asciiDigit).join('')
}

/** Unicode keeps the ten digits of every script together, zero first. @param {string} character */
function asciiDigit(character) {
  const point = character.codePointAt(0) ?? 0
  if (point < 128) return character
  let zero = point
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1
  return String((point - zero) % 10)
}

/** Behind how many characters the caret stands to have so many digits before it. @param {string} text @param {number} digits */
function placeOf(text, digits) {
  let place = 0
  for (let seen = 0; seen < digits && place < text.length; place += 1) if (text[place] !== ' ') seen += 1
  return place
}

/** Says until when a code works, and speaks up two minutes and thirty seconds before and when it is over. */
class ExpiryNotice extends HTMLElement {
  connectedCallback() {
    const [until, status] = this.querySelectorAll('p')
    if (!until || !status) return
    const end = Date.now() + Number(this.getAttribute('remaining'))
    const time = new Date(end).toLocaleTimeString(locale, { hour: '2-digit', minute: '2-digit' })
    until.textContent = (this.getAttribute('until') ?? '').replace('[time]', time)
    const due = [
      { at: end - 120_000, says: this.getAttribute('two-minutes') },
      { at: end - 30_000, says: this.getAttribute('thirty-seconds') },
      { at: end, says: this.getAttribute('over') },
    ].filter(({ at }) => at > Date.now())
    const look = () => {
      while (due[0] && due[0].at <= Date.now()) status.textContent = due.shift()?.says ?? ''
      until.hidden = due.length === 0
    }
    for (const { at } of due) setTimeout(look, at - Date.now())
    // A machine that slept did not count.
    document.addEventListener('visibilitychange', look)
  }
}

/** Asks at its `address` whether the device is connected, for half a minute, and says so. */
class DeliveryNotice extends HTMLElement {
  connectedCallback() {
    // Whatever the reason that there is no answer: what the page says stays true.
    this.#watch().catch(() => {})
  }

  async #watch() {
    const status = this.querySelector('[role=status]')
    const end = performance.now() + 30_000
    for (let wait = 250; status && performance.now() < end; wait = Math.min(1_000, wait * 2)) {
      await new Promise((resolve) => setTimeout(resolve, wait))
      const answer = await fetch(this.getAttribute('address') ?? '', { redirect: 'manual' })
      const { connected } = await answer.json()
      if (!connected) continue
      status.textContent = this.getAttribute('connected')
      return
    }
  }
}

/** Copies its `text`, or that of the element whose id it has in `from`. */
class CopyButton extends HTMLElement {
  connectedCallback() {
    if (!navigator.clipboard) return
    this.hidden = false
    this.addEventListener('click', async (event) => {
      if (!(event.target instanceof HTMLButtonElement)) return
      const shown = document.getElementById(this.getAttribute('from') ?? '')
      await navigator.clipboard.writeText(this.getAttribute('text') ?? shown?.textContent ?? '')
      const status = this.querySelector('[role=status]')
      if (status) status.textContent = this.getAttribute('copied')
    })
  }
}

/** Asks the browser for a passkey and sends what it says as the form's `answer`. */
class PasskeyButton extends HTMLElement {
  #waiting = new AbortController()

  connectedCallback() {
    const form = this.querySelector('form')
    if (!form || !window.PublicKeyCredential?.parseRequestOptionsFromJSON) return
    this.hidden = false
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      this.#waiting.abort()
      this.#ask(form, {}).catch(() => {
        const status = this.querySelector('[role=status]')
        if (status) status.textContent = this.getAttribute('failed')
      })
    })
    this.#offer(form).catch(() => {})
  }

  /** Passkeys among the suggestions of the field that asks for them. @param {HTMLFormElement} form */
  async #offer(form) {
    if (!document.querySelector('input[autocomplete~=webauthn]')) return
    if (!(await PublicKeyCredential.isConditionalMediationAvailable?.())) return
    await this.#ask(form, { mediation: 'conditional', signal: this.#waiting.signal })
  }

  /** @param {HTMLFormElement} form @param {CredentialRequestOptions} how */
  async #ask(form, how) {
    const options = JSON.parse(this.getAttribute('options') ?? '{}')
    const credential =
      this.getAttribute('mode') === 'register'
        ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
        : await navigator.credentials.get({
            ...how,
            publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options),
          })
    const answer = form.elements.namedItem('answer')
    if (!(credential instanceof PublicKeyCredential) || !(answer instanceof HTMLInputElement)) return
    answer.value = JSON.stringify(credential.toJSON())
    form.submit()
  }
}

/** Rewrites a <time> for where the browser is. */
class LocalTime extends HTMLElement {
  connectedCallback() {
    const time = this.querySelector('time')
    if (!time) return
    time.textContent = new Date(time.dateTime).toLocaleString(locale, { dateStyle: 'long', timeStyle: 'short' })
  }
}

/**
 * Answers that cannot be pressed by a pointer before one can have read the question: whoever opened this window could have
 * put it under a click that was meant for something else. The keyboard is not concerned. Nor can access be allowed, in any
 * way, before every permission, warning and field was on the screen: the press shows the next one instead.
 */
class SteadyAnswers extends HTMLElement {
  #timer = 0
  /** @type {Set<Element>} */
  #unseen = new Set()

  connectedCallback() {
    this.addEventListener('click', (event) => {
      if (event.detail > 0 && this.#timer !== 0) event.preventDefault()
      else if (event.target === this.#allow()) this.#showUnseen(event)
    })
    window.addEventListener('focus', () => this.#settle())
    document.addEventListener('visibilitychange', () => this.#settle())
    this.#watch()
    this.#settle()
  }

  #allow() {
    return this.querySelector('button[value=allow]')
  }

  /** An element was seen when its end was: it may be taller than the window, and the answers stand above the end of the window. */
  #watch() {
    for (const each of document.querySelectorAll('.must-see')) this.#unseen.add(each)
    const bar = this.closest('.sticky') ?? this
    const look = () => {
      const bottom = Math.min(window.innerHeight, bar.getBoundingClientRect().top)
      for (const each of this.#unseen) {
        const end = each.getBoundingClientRect().bottom
        if (end > 0 && end <= bottom) this.#unseen.delete(each)
      }
      this.#mark()
    }
    for (const happens of ['scroll', 'resize', 'load']) window.addEventListener(happens, look)
    look()
  }

  /** @param {Event} event */
  #showUnseen(event) {
    const [first] = this.#unseen
    if (!(first instanceof HTMLElement)) return
    event.preventDefault()
    first.tabIndex = -1
    const field = first.querySelector('input') ?? first
    field.focus({ preventScroll: true })
    first.scrollIntoView()
  }

  #settle() {
    clearTimeout(this.#timer)
    this.#timer = window.setTimeout(() => {
      this.#timer = 0
      this.#mark()
    }, 500)
    this.#mark()
  }

  #mark() {
    for (const button of this.querySelectorAll('button')) {
      const off = this.#timer !== 0 || (button === this.#allow() && this.#unseen.size > 0)
      if (off) button.setAttribute('aria-disabled', 'true')
      else button.removeAttribute('aria-disabled')
    }
  }
}

/** Around a list or a table: from the link of a line, j goes on to the next and k back. Only there, so that no key does anything elsewhere. */
class KeyList extends HTMLElement {
  connectedCallback() {
    this.addEventListener('keydown', ({ key, ctrlKey, metaKey, altKey }) => {
      const step = ctrlKey || metaKey || altKey ? 0 : key === 'j' ? 1 : key === 'k' ? -1 : 0
      const links = Array.from(this.querySelectorAll('li a, tbody th a'))
      const here = links.indexOf(/** @type {HTMLAnchorElement} */ (document.activeElement))
      if (step !== 0 && here !== -1) links[here + step]?.focus()
    })
  }
}

/**
 * Around the input for a picture: turns what is not a PNG into one before it is sent, at most `side` pixels wide and high, and
 * half as large until it takes at most `bytes`. What the browser cannot decode is sent as it is, and the answer says why not.
 */
class PictureField extends HTMLElement {
  connectedCallback() {
    const input = this.querySelector('input')
    const form = input?.form
    if (!input || !form) return
    input.accept = 'image/*'
    form.addEventListener('submit', (event) => {
      const file = input.files?.[0]
      if (!file || file.type === 'image/png') return
      event.preventDefault()
      this.#convert(input, file)
        .catch(() => {})
        .finally(() => form.submit())
    })
  }

  /** @param {HTMLInputElement} input @param {File} file */
  async #convert(input, file) {
    const picture = await createImageBitmap(file)
    const longest = Math.max(picture.width, picture.height)
    const canvas = document.createElement('canvas')
    for (let side = Math.min(longest, Number(this.getAttribute('side'))); side >= 1; side /= 2) {
      canvas.width = Math.ceil((picture.width * side) / longest)
      canvas.height = Math.ceil((picture.height * side) / longest)
      canvas.getContext('2d')?.drawImage(picture, 0, 0, canvas.width, canvas.height)
      /** @type {Blob | null} */
      const png = await new Promise((resolve) => canvas.toBlob(resolve, 'image/png'))
      if (!png || png.size > Number(this.getAttribute('bytes'))) continue
      const converted = new DataTransfer()
      converted.items.add(new File([png], `${file.name}.png`, { type: png.type }))
      input.files = converted.files
      return
    }
  }
}

customElements.define('picture-field', PictureField)
customElements.define('key-list', KeyList)
customElements.define('steady-answers', SteadyAnswers)
customElements.define('code-field', CodeField)
customElements.define('expiry-notice', ExpiryNotice)
customElements.define('delivery-notice', DeliveryNotice)
customElements.define('copy-button', CopyButton)
customElements.define('passkey-button', PasskeyButton)
customElements.define('local-time', LocalTime)
