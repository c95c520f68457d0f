/**
 * All that a service with its own users adds for Latchkey: the public key, and a page that states who is signed in.
 * Latchkey gets the addresses of both: SIGN_IN_KEYS and SIGN_IN_URL.
 */
import { randomUUID } from 'node:crypto'
import { type Request, Router } from 'express'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

export type SignedInUser = {
  /** Never changes, unlike the e-mail address. */
  readonly id: string
  readonly account: string
  readonly email: string
  readonly name: string
  /** Seconds since 1970. */
  readonly signedInAt: number
  /** Names of roles and scopes at Latchkey. Names that it does not know are ignored. */
  readonly roles: readonly string[]
  readonly permissions: readonly string[]
}

export async function latchkey(
  latchkeyUrl: string,
  ownUrl: string,
  userOf: (request: Request) => SignedInUser | null,
): Promise<Router> {
  // In production, store the key: after a restart, statements are refused until Latchkey has fetched the new one.
  const { publicKey, privateKey } = await generateKeyPair('EdDSA')
  const key = { ...(await exportJWK(publicKey)), kid: randomUUID(), alg: 'EdDSA', use: 'sig' }
  const { protocol, host } = new URL(latchkeyUrl)
  const router = Router()

  router.get('/latchkey/keys', (_request, response) => void response.json({ keys: [key] }))

  router.get('/latchkey/sign-in', async (request, response) => {
    const { account, challenge, return_to: returnTo, max_age: maxAge = Infinity } = request.query
    const back = URL.parse(String(returnTo))
    // Statements go to Latchkey only.
    if (back?.origin !== `${protocol}//${account}.${host}`) return void response.status(400).send('Not Latchkey.')
    const user = userOf(request)
    const isRecent = user !== null && Date.now() / 1000 - user.signedInAt <= Number(maxAge)
    if (user?.account !== account || !isRecent) {
      return response.redirect(303, `/sign-in?next=${encodeURIComponent(request.originalUrl)}`)
    }
    const { id, signedInAt, ...said } = user
    const statement = new SignJWT({ ...said, nonce: challenge, auth_time: signedInAt, amr: ['pwd'] })
      .setProtectedHeader({ alg: 'EdDSA', kid: key.kid, typ: 'latchkey-sign-in+jwt' })
      .setIssuer(new URL(ownUrl).origin)
      .setAudience(back.origin)
      .setSubject(id)
      .setIssuedAt()
      .setExpirationTime('60s')
    back.searchParams.set('statement', await statement.sign(privateKey))
    response.redirect(303, back.href)
  })
  return router
}
