/** A user who is signed in to an account's pages, with a second factor: a real session, without hashing a password. */
import { randomUUID } from 'node:crypto'
import { SESSION } from '../../src/http/web/cookies.ts'
import { signForm, signSession } from '../../src/secrets/web-texts.ts'
import { insertSession } from '../../src/store/sign-in/sessions.ts'
import { type MadeUser, makeUser } from './make.ts'
import type { TestService } from './service.ts'
import type { Web } from './web.ts'

type Where = {
  readonly account?: { readonly id: string; readonly slug: string }
  /** Headers of every request, for example of a proxy. */
  readonly headers?: Record<string, string>
}

export async function signInAs(service: TestService, user: MadeUser, where: Where = {}): Promise<Web> {
  const { slug } = where.account ?? service.account
  const web = service.web(where.headers, slug)
  web.cookies.set(SESSION, signSession(service.config.keys, await startSession(service, user, where), slug))
  return web
}

/** The id of a new session of this user. */
export async function startSession(
  { context, config, account }: Pick<TestService, 'context' | 'config' | 'account'>,
  user: MadeUser,
  where: Where = {},
): Promise<string> {
  const id = randomUUID()
  const { id: accountId } = where.account ?? account
  const signed = { lifetimeMs: config.sessionLifetimeMs, keyId: config.keys.signing.id, secondFactor: true }
  const session = { id, accountId, userId: user.id, ...signed, address: null, agent: null }
  await context.db.transaction((tx) => insertSession(tx, session))
  return id
}

export type SignedInUser = { readonly user: MadeUser; readonly web: Web }

/** A clerk: holds the scopes that the rig's applications request, and is not an administrator. */
export async function makeSignedInUser(service: TestService, where: Where = {}): Promise<SignedInUser> {
  const { slug } = where.account ?? service.account
  const user = await makeUser(service.context.db, slug, { holds: ['orders:read', 'orders:write'] })
  return { user, web: await signInAs(service, user, where) }
}

export async function makeSignedInUsers(
  service: TestService,
  count: number,
  where: Where = {},
): Promise<SignedInUser[]> {
  const visitors: SignedInUser[] = []
  for (let made = 0; made < count; made += 1) visitors.push(await makeSignedInUser(service, where))
  return visitors
}

/** A form signed for this user's session with any values: what the signature does not cover has to be checked separately. */
export async function signedFor(
  service: TestService,
  user: MadeUser,
  action: string,
  bound: Record<string, string>,
): Promise<Record<string, string>> {
  const [session] = await service.database.query<{ created_at: Date }>(
    'select created_at from sessions where user_id = $1 order by created_at desc limit 1',
    [user.id],
  )
  const holder = { userId: user.id, sessionCreatedAt: session?.created_at.getTime() ?? 0 }
  return { ...bound, token: signForm(service.config.keys, holder, action, bound) }
}
