/** `oidc-provider`, a certified OpenID provider, on this machine, with its own pages for signing in and consent. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { Page } from 'playwright-core'
import { onFreePort } from '../../../tools/free-port.ts'
import { post } from './device.ts'

/** The part that is used here; the package has no types. */
type ProviderPackage = {
  default: new (issuer: string, configuration: Record<string, unknown>) => { callback(): RequestListener }
}
const { default: Provider }: ProviderPackage = await import('oidc-provider' as string)

export type CertifiedProvider = {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  stop(): Promise<void>
}

/** Whoever signs in as `ada` has the verified address `ada@corp.example`. `origin`: of the account that it signs users in to. */
export function startCertifiedProvider(origin: string): Promise<CertifiedProvider> {
  return onFreePort(async (port) => {
    const issuer = `http://127.0.0.1:${port}`
    const client = { client_id: 'latchkey', client_secret: 'a-secret-of-the-certified-provider' }
    const provider = new Provider(issuer, {
      clients: [
        {
          ...client,
          redirect_uris: [`${origin}/sign-in/provider/return`],
          backchannel_logout_uri: `${origin}/sign-in/provider/logout`,
        },
      ],
      features: { backchannelLogout: { enabled: true } },
      fetch: postHere,
      ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: 600, IdToken: 600 },
      cookies: { keys: ['a key of this test'] },
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups'] },
      findAccount: (_: unknown, id: string) => ({
        accountId: id,
        claims: () => ({
          sub: id,
          email: `${id}@corp.example`,
          email_verified: id !== 'unverified',
          name: id,
          groups: ['sales'],
        }),
      }),
    })
    const server = createServer(provider.callback()).listen(port, '127.0.0.1')
    await once(server, 'listening')
    return {
      issuer,
      clientId: client.client_id,
      clientSecret: client.client_secret,
      stop: async () => {
        server.closeAllConnections()
        server.close()
        await once(server, 'close')
      },
    }
  })
}

/** Hosts below `localhost` are this machine, which its resolver need not know. */
async function postHere(address: string, { headers, body }: RequestInit): Promise<Response> {
  const { host, port, pathname } = new URL(address)
  const sent = { headers: { ...Object.fromEntries(new Headers(headers)), host }, raw: String(body) }
  const { status } = await post(`http://127.0.0.1:${port}`, pathname, sent)
  return new Response(null, { status })
}

/** Its pages load nothing from the internet in this window. */
export async function keepFromInternet(page: Page): Promise<void> {
  await page.route(/^https:\/\//, (route) => route.fulfill({ contentType: 'text/css', body: '' }))
}

/** Fills in its pages, which the window shows or is about to. */
export async function signInAtCertifiedProvider(
  page: Page,
  { issuer }: CertifiedProvider,
  login: string,
): Promise<void> {
  await page.waitForURL(`${issuer}/interaction/**`)
  await page.fill('input[name=login]', login)
  await page.fill('input[name=password]', 'any')
  await page.click('button[type=submit]')
  const consent = page.locator('form[action*="/confirm"], input[name=prompt][value=consent]')
  await consent.first().waitFor({ state: 'attached' })
  await page.click('button[type=submit]')
}

/** Ends the session there, of which the provider tells the service. */
export async function signOutAtCertifiedProvider(page: Page, { issuer }: CertifiedProvider): Promise<void> {
  await page.goto(`${issuer}/session/end`)
  await page.click('button[name=logout]')
  await page.waitForURL(`${issuer}/session/end/success`)
}
