/** A user who adds a second factor on the pages, as a browser does. */

import { type Page, unescapeHtml, type Web } from '../web.ts'
import { createSoftPasskey, type SoftPasskey } from './soft-passkey.ts'
import { codeOf } from './totp.ts'

/** On the page that is shown: the security page, or the one that requires it. */
export async function addPasskeyHere(web: Web): Promise<{ readonly passkey: SoftPasskey; readonly page: Page }> {
  const passkey = createSoftPasskey()
  const answer = passkey.create(passkeyOptions(web), web.origin)
  return { passkey, page: await web.submit('/security/passkeys', { answer, name: 'Laptop' }) }
}

/** Signs in with the passkey, on the page that is shown. */
export function usePasskeyHere(web: Web, passkey: SoftPasskey, action = '/sign-in/passkey'): Promise<Page> {
  return web.submit(action, { answer: passkey.get(passkeyOptions(web), web.origin) })
}

function passkeyOptions(web: Web) {
  return JSON.parse(unescapeHtml(/ options="([^"]*)"/.exec(web.last?.text ?? '')?.[1] ?? ''))
}

/** On the set-up page that is shown. `now`: PostgreSQL's time. */
export function addAuthenticatorHere(web: Web, now: number): Promise<Page> {
  const secret = /<bdi class="secret"[^>]*>([A-Z2-7 ]+)</.exec(web.last?.text ?? '')?.[1] ?? ''
  return web.submit('/security/authenticator', { code: codeOf(secret, now) })
}

/** The codes on the page that shows them once. */
export function recoveryCodesOn({ text }: Page): readonly string[] {
  return Array.from(text.matchAll(/<code>([0-9a-z]{5}-[0-9a-z]{5})<\/code>/g), ([, code = '']) => code)
}
