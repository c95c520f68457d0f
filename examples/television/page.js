/** The screen of the television: shows the state of its server, counts down the seconds, and forwards the button. */

/**
 * @typedef {{ show: string, code: string, address: string, qr: string, seconds: number, secondsLeft: number,
 *   account: string, scope: string[], message: string }} Screen As described in server.ts; fields depend on the state.
 */

const at = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id))
const bar = /** @type {HTMLProgressElement} */ (at('bar'))
const qr = /** @type {HTMLImageElement} */ (at('qr'))
let endsAt = 0

/** @type {Record<string, (screen: Screen) => void>} */
const draw = {
  code: (screen) => {
    at('digits').textContent = screen.code
    // Codes are longer when many are live.
    at('digits').style.setProperty('--characters', String(screen.code.length))
    at('address').textContent = screen.address.replace(/^https?:\/\//, '')
    qr.src = `data:image/svg+xml,${encodeURIComponent(screen.qr)}`
    qr.alt = `The address ${screen.address} as a QR code`
    bar.max = screen.seconds
    // Measured with the clock of this page, which may differ from the server's.
    endsAt = performance.now() + screen.secondsLeft * 1000
    count()
  },
  connected: ({ account, scope }) => {
    at('account').textContent = account
    at('scope').textContent = scope.join(', ')
  },
  problem: ({ message }) => {
    at('message').textContent = message
  },
}

function count() {
  const left = Math.max(0, Math.ceil((endsAt - performance.now()) / 1000))
  bar.value = left
  at('left').textContent = `Valid for ${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`
}
setInterval(count, 250)

new EventSource('/events').onmessage = ({ data }) => {
  /** @type {Screen} */
  const screen = JSON.parse(data)
  draw[screen.show]?.(screen)
  for (const section of document.querySelectorAll('section')) section.hidden = section.id !== screen.show
  // For remote controls with arrows and OK: there is at most one button, and it has the focus.
  for (const button of document.querySelectorAll('button')) if (!button.closest('[hidden]')) button.focus()
}

for (const button of document.querySelectorAll('button')) {
  button.addEventListener('click', () => fetch(button.dataset.do ?? '', { method: 'POST' }))
}
