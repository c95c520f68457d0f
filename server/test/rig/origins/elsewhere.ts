/**
 * A service whose users sign in elsewhere: at a host service, or at an identity provider that is connected to each of its accounts.
 * Both know the users that the rig makes, with the roles that they have, and have a page on which a browser can sign in.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Registered } from '../../../src/flows/accounts/register.ts'
import type { Context } from '../../../src/flows/context.ts'
import { encryptText } from '../../../src/secrets/provider/encrypted-text.ts'
import { findAccount, lockAccount } from '../../../src/store/accounts/accounts.ts'
import { linkUser } from '../../../src/store/accounts/users.ts'
import type { Postgres } from '../../../src/store/postgres/postgres.ts'
import { findProvider, saveProvider } from '../../../src/store/provider/identity-providers.ts'
import { createUser } from '../create.ts'
import { makeHost, readSignInRequest, signStatement } from '../host-service.ts'
import { PROVIDER_ENVIRONMENT, startProvider } from '../identity-provider.ts'
import { type Elsewhere, setElsewhere, USERS_FROM } from './users-from.ts'

export type UsersElsewhere = {
  /** Settings of the service. */
  readonly environment: Record<string, string>
  /** From now on, the rig makes users of this origin in the service. */
  serve(context: Context): void
  stop(): Promise<void>
}

/** Null: the users are Latchkey's own, or the settings say where they come from. */
export async function startUsersElsewhere(settings: Record<string, string>): Promise<UsersElsewhere | null> {
  if (USERS_FROM === 'own' || settings.SIGN_IN_URL) return null
  return USERS_FROM === 'host' ? startHostUsers(settings) : startProviderUsers()
}

type Person = { externalId: string | null; subject: string | null; permissions: string[]; roles: string[]; now: number }

/** As stored. Somebody unknown signs in as well: the service has to refuse them. */
async function findPerson(db: Postgres, slug: string, email: string): Promise<Person> {
  const { rows } = await db.query<Person>(
    `select u.external_id as "externalId", u.subject, coalesce(u.permissions, '{}') as permissions, now(),
       array(select r.name from user_roles ur join roles r on r.id = ur.role_id where ur.user_id = u.id) as roles
     from (select 1) one left join (select u.* from users u join accounts a on a.id = u.account_id
       where a.slug = $1 and u.email = lower($2)) u on true`,
    [slug, email],
  )
  const [person] = rows
  if (!person) throw new Error('there is always one row')
  return person
}

const seconds = ({ now }: Person) => Math.floor(now / 1000)

async function startHostUsers({ PUBLIC_URL = 'http:' }: Record<string, string>): Promise<UsersElsewhere> {
  const host = await makeHost()
  let users: Elsewhere
  const server = createServer(signInPage((address, email) => users.authenticate(address, email)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const origin = `${new URL(PUBLIC_URL, 'http://localhost').protocol}//127.0.0.1:${port}`
  const signInUrl = `${origin}/latchkey/sign-in`
  return {
    environment: { ...host.environment, SIGN_IN_URL: signInUrl },
    serve: ({ db, config }) => {
      const { operatorAccount } = config
      users = {
        operatorAccount,
        addUser: async (user) => {
          const wanted = { ...user, password: null, externalId: `host-${randomUUID()}` }
          return done(await createUser(db, wanted, operatorAccount, signInUrl))
        },
        authenticate: async (address, email) => {
          const { account, challenge, returnTo } = readSignInRequest(address, signInUrl)
          const person = await findPerson(db, account, email)
          const now = seconds(person)
          const statement = await signStatement(host.key, {
            iss: origin,
            aud: returnTo.origin,
            sub: person.externalId ?? email,
            account,
            nonce: challenge,
            iat: now,
            exp: now + 60,
            email,
            auth_time: now,
            amr: ['pwd', 'otp'],
            roles: person.roles,
            permissions: person.permissions,
          })
          returnTo.searchParams.set('statement', statement)
          return returnTo
        },
      }
      setElsewhere(db, new URL(config.publicUrl).host, users)
    },
    stop: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
      host.remove()
    },
  }
}

async function startProviderUsers(): Promise<UsersElsewhere> {
  const provider = await startProvider()
  let users: Elsewhere
  provider.instead.set(
    '/authorize',
    signInPage((address, email) => users.authenticate(address, email)),
  )
  return {
    environment: PROVIDER_ENVIRONMENT,
    serve: (context) => {
      const { db, config } = context
      users = {
        operatorAccount: config.operatorAccount,
        addUser: async (user) => {
          await connect(context, provider, user.account)
          const made = done(await createUser(db, { ...user, password: null }, config.operatorAccount))
          const subject = { issuer: provider.issuer, subject: `provider-${randomUUID()}` }
          await db.transaction((tx) => linkUser(tx, made.id, subject))
          return made
        },
        authenticate: async (address, email) => {
          const back = new URL(new URL(address).searchParams.get('redirect_uri') ?? '')
          const [slug = ''] = back.host.split('.')
          const person = await findPerson(db, slug, email)
          provider.ahead = person.now - Date.now()
          const claims = { sub: person.subject ?? email, email, email_verified: true, amr: ['pwd', 'otp'] }
          return new URL(provider.authorize(address, claims), back)
        },
      }
      setElsewhere(db, new URL(config.publicUrl).host, users)
    },
    stop: () => provider.stop(),
  }
}

/** Without administrators of Latchkey's own: they would be users whom no test expects. */
async function connect(
  { db, config }: Context,
  { issuer, clientId, clientSecret }: { issuer: string; clientId: string; clientSecret: string },
  slug: string,
): Promise<void> {
  const { id: accountId = '' } = (await findAccount(db, slug)) ?? {}
  if (await findProvider(db, accountId)) return
  const encryptedSecret = encryptText(config.keys, 'provider-secret', accountId, clientSecret)
  const client = { accountId, state: 'optional', issuer, clientId, encryptedSecret } as const
  const rules = { domains: [], admission: 'invited', defaultRole: null, roleClaim: null } as const
  await db.transaction(async (tx) => {
    await lockAccount(tx, accountId)
    await saveProvider(tx, { ...client, ...rules, roleValues: [], breakGlass: [] })
  })
}

/** Sign-in page: the user types an e-mail address, and the browser is redirected back to the service. */
function signInPage(authenticate: (address: string, email: string) => Promise<URL>): RequestListener {
  return async (request, response) => {
    const address = `http://${request.headers.host}${request.url}`
    if (request.method === 'POST') {
      const email = new URLSearchParams(await text(request)).get('email') ?? ''
      response.writeHead(303, { location: (await authenticate(address, email)).href }).end()
      return
    }
    const form = `<form id="elsewhere" method="post"><label>E-mail <input id="email" name="email"></label><button>Sign in</button></form>`
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
    response.end(`<!doctype html><html lang="en"><title>Sign in elsewhere</title>${form}</html>`)
  }
}

function done<T>(result: Registered<T>): T {
  if (result.outcome === 'refused') throw new Error(result.reason)
  return result.value
}
