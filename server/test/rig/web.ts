/**
 * A browser without rendering: keeps cookies, submits forms, sends the headers that browsers send. It parses the
 * HTML of pages. Tests in real Chromium are in server/test/browser/; this one is for the many small cases.
 */
import { SESSION } from '../../src/http/web/cookies.ts'
import { post, type WireAnswer } from './device.ts'
import { secondFactorOf } from './factors/second-factor-codes.ts'
import { elsewhereAt } from './origins/users-from.ts'

export type Page = WireAnswer & { readonly location: string | null }

/** Link to the identity provider, or to the host service. */
const EXTERNAL_SIGN_IN = / href="(\/sign-in\/provider[^"]*|http[^"]*[?;]challenge=[^"]*)"/

export class Web {
  readonly address: string
  /** For example `acme.localhost:43210`. */
  readonly host: string
  readonly cookies = new Map<string, string>()
  readonly headers: Record<string, string>
  last: Page | null = null

  constructor(address: string, host: string, headers: Record<string, string> = {}) {
    this.address = address
    this.host = host
    this.headers = headers
  }

  get origin(): string {
    return `http://${this.host}`
  }

  async send(method: 'GET' | 'POST', path: string, form?: Record<string, string>, headers = {}): Promise<Page> {
    const cookie = Array.from(this.cookies, ([name, value]) => `${name}=${value}`).join('; ')
    const answer = await post(this.address, path, {
      method,
      ...(form ? { form } : {}),
      headers: {
        host: this.host,
        ...(cookie === '' ? {} : { cookie }),
        ...(method === 'POST' ? { origin: this.origin, 'sec-fetch-site': 'same-origin' } : {}),
        ...this.headers,
        ...headers,
      },
    })
    for (const each of [answer.headers['set-cookie'] ?? []].flat()) this.keep(each)
    this.last = { ...answer, location: (answer.headers.location as string | undefined) ?? null }
    return this.last
  }

  private keep(setCookie: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(setCookie) ?? []
    if (/;\s*Max-Age=0\b/i.test(setCookie)) this.cookies.delete(name)
    else this.cookies.set(name, value)
  }

  /** Follows redirects, as a browser does. */
  async get(path: string): Promise<Page> {
    let page = await this.send('GET', path)
    for (let hops = 0; page.location !== null && hops < 5; hops += 1) page = await this.send('GET', page.location)
    return page
  }

  /** Fills in and submits the form with this action on the page that was shown last. */
  async submit(action: string, values: Record<string, string> = {}): Promise<Page> {
    return this.follow(await this.send('POST', action, { ...formFields(this.last?.text ?? '', action), ...values }))
  }

  private async follow(page: Page): Promise<Page> {
    return page.location === null ? page : this.get(page.location)
  }

  /** Where the user signs in. `from`: the page that asks for it. */
  async signIn(email: string, password: string, from = '/sign-in'): Promise<Page> {
    // The page is requested without the session cookie: a signed-in browser would not be asked to sign in.
    const session = this.cookies.get(SESSION)
    this.cookies.delete(SESSION)
    const elsewhere = elsewhereAt(this.host)
    await (elsewhere ? this.send('GET', from) : this.get(from))
    const back = elsewhere ? await this.authenticateElsewhere(email) : null
    if (session !== undefined) this.cookies.set(SESSION, session)
    if (back) return this.get(`${back.pathname}${back.search}`)
    const page = await this.submit('/sign-in', { email, password })
    const code = page.text.includes('action="/sign-in/code"') ? await secondFactorOf(email) : null
    return code === null ? page : this.submit('/sign-in/code', { code })
  }

  /** On the page that asks for a recent sign-in. */
  async confirm(email: string, password: string): Promise<Page> {
    if (!elsewhereAt(this.host)) return this.submit('/confirm', { password })
    const back = await this.authenticateElsewhere(email)
    return this.get(`${back.pathname}${back.search}`)
  }

  /** Goes where the page that was shown last sends its users to sign in; returns the address to which it is sent back. */
  async authenticateElsewhere(email: string): Promise<URL> {
    for (let hops = 0; hops < 5; hops += 1) {
      const to = this.last?.location ?? unescapeHtml(EXTERNAL_SIGN_IN.exec(this.last?.text ?? '')?.[1] ?? '')
      const elsewhere = elsewhereAt(this.host)
      if (elsewhere && URL.canParse(to)) return elsewhere.authenticate(to, email)
      await this.send('GET', to)
    }
    throw new Error(`no page of ${this.host} leads to where its users sign in`)
  }

  async enterCode(code: string): Promise<Page> {
    await this.get('/connect/code')
    return this.submit('/connect/code', { code })
  }
}

/** Target of a redirect, or of the Refresh header of a page. */
export function nextLocation({ location, headers }: Page): string | null {
  return location ?? /^0; url=(.*)$/.exec(String(headers.refresh))?.[1] ?? null
}

/** The hidden fields of the first form with this action. */
export function formFields(html: string, action: string): Record<string, string> {
  const form = html.split('<form').find((each) => each.includes(`action="${action}"`))
  const title = /<title>(.*?)<\/title>/s.exec(html)?.[1] ?? html.slice(0, 100)
  if (!form) throw new Error(`there is no form for ${action} on the page "${title}"`)
  const inputs = (form.split('</form>')[0] ?? '').matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)
  return Object.fromEntries(Array.from(inputs, ([, name = '', value = '']) => [name, unescapeHtml(value)]))
}

const ENTITIES: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" }

export function unescapeHtml(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] ?? entity)
}

/** Text of a page, without the tags. */
export function textOf(html: string): string {
  const body = html.replace(/<head>.*<\/head>/s, ' ').replace(/<(script|style|svg)\b.*?<\/\1>/gs, ' ')
  return unescapeHtml(body.replace(/<[^>]+>/g, ' '))
    .replace(/\s+/g, ' ')
    .trim()
}
