/** `oidc-provider`, a certified OpenID provider, on this machine, with its own pages for signing in and consent. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { onFreePort } from '../../../tools/free-port.ts'

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

/** Whoever signs in as `ada` has the verified address `ada@corp.example`. */
export function startCertifiedProvider(redirectUri: string): Promise<CertifiedProvider> {
  return onFreePort(async (port) => {
    const issuer = `http://127.0.0.1:${port}`
    const client = { client_id: 'latchkey', client_secret: 'a-secret-of-the-certified-provider' }
    const provider = new Provider(issuer, {
      clients: [{ ...client, redirect_uris: [redirectUri] }],
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
