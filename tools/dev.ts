/**
 * `npm run dev`: starts PostgreSQL and Redis, applies migrations, creates demo data, runs the server from source and prints
 * commands to try. All data is under .engines/ and is reused the next time.
 */
import { spawn } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { BY_COMMAND_LINE } from '../server/src/core/audit/actor.ts'
import type { Registered } from '../server/src/flows/accounts/register.ts'
import { createSetupLink } from '../server/src/flows/accounts/set-up.ts'
import { createKey as createManagementKey } from '../server/src/flows/manage/keys.ts'
import { matchApplicationSecret } from '../server/src/secrets/application-secret.ts'
import { createKey, parseKeyset } from '../server/src/secrets/keyset.ts'
import { findApplication } from '../server/src/store/applications/applications.ts'
import { migrate } from '../server/src/store/postgres/migrate.ts'
import { openPostgres } from '../server/src/store/postgres/postgres.ts'
import { createAccount, createApplication, createRole, createScope, createUser } from '../server/test/rig/create.ts'
import { startMailbox } from '../server/test/rig/network/mailbox.ts'
import { startEngines } from './engines.ts'

const ROOT = join(import.meta.dirname, '..')
const ENVIRONMENT = join(ROOT, '.engines', 'dev.env')
const DEMO = join(ROOT, '.engines', 'demo.json')
const EXAMPLES = join(ROOT, '.engines', 'examples.env')

/** Demo applications: a television with a secret, a public page and program, and an API that both call. */
type Demo = {
  readonly id: string
  readonly secret: string
  readonly publicId: string
  readonly resource: { readonly id: string; readonly secret: string }
}

const everybody = [
  { account: 'acme', email: 'ann@acme.example' },
  { account: 'acme', email: 'ben@acme.example' },
  { account: 'operators', email: 'olga@operators.example' },
]
/** With SIGN_IN_URL, only operators sign in here. */
const PEOPLE = everybody.filter(({ account }) => account === 'operators' || !process.env.SIGN_IN_URL)

const { databaseUrl, redisUrl } = await startEngines()
const mailbox = await startMailbox()
const port = process.env.PORT ?? '8080'
const address = `http://localhost:${port}`
const keys = process.env.LATCHKEY_KEYS ?? knownKeys() ?? createKey(1)
writeFileSync(
  ENVIRONMENT,
  [
    `DATABASE_URL=${databaseUrl}`,
    `REDIS_URL=${redisUrl}`,
    `LATCHKEY_KEYS=${keys}`,
    `PUBLIC_URL=${address}`,
    `SMTP_URL=${mailbox.url}`,
    'OPERATOR_ACCOUNT=operators',
    'HOST=localhost',
    `PORT=${port}`,
    'DRAIN_SECONDS=0',
    'OUTBOUND_PRIVATE=true',
    // All requests come from one network.
    'CODE_REQUESTS_PER_NETWORK=0',
    'CODE_REQUESTS_PER_APPLICATION=0',
    'DIALOGS_PER_NETWORK=0',
    // For examples/own-users.
    ...Object.entries(process.env).flatMap(([name, value]) =>
      name.startsWith('SIGN_IN_') ? [`${name}=${value}`] : [],
    ),
    '',
  ].join('\n'),
  { mode: 0o600 },
)
await migrate(databaseUrl)
const demo = await makeDemo()
writeFileSync(
  EXAMPLES,
  [
    `LATCHKEY_BASE_URL=${address}`,
    `LATCHKEY_APP_ID=${demo.id}`,
    `LATCHKEY_APP_SECRET=${demo.secret}`,
    `LATCHKEY_PUBLIC_APP_ID=${demo.publicId}`,
    `LATCHKEY_RESOURCE_ID=${demo.resource.id}`,
    `LATCHKEY_RESOURCE_SECRET=${demo.resource.secret}`,
    `LATCHKEY_MANAGEMENT_KEY=${await makeManagementKey()}`,
    '',
  ].join('\n'),
  { mode: 0o600 },
)
// For "npm run latchkey -- login" and "… demo", which act as an application.
appendFileSync(ENVIRONMENT, `LATCHKEY_SERVER=${address}\nLATCHKEY_APP=${demo.id}\nLATCHKEY_SECRET=${demo.secret}\n`)
const links = await makeLinks()

const args = ['--import', 'tsx', `--env-file=${ENVIRONMENT}`, join(ROOT, 'server', 'src', 'latchkey.ts'), 'serve']
// The demo uses its own PostgreSQL and Redis, regardless of the environment of this terminal.
const env = { PATH: process.env.PATH, HOME: process.env.HOME }
const server = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'inherit'] })
createInterface({ input: server.stdout }).on('line', (line) => {
  console.log(line)
  if (line.includes('"event":"listening"')) console.log(startHints())
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => server.kill('SIGTERM'))
const mailTimer = setInterval(showMails, 500)
server.once('exit', (code) => {
  process.exitCode = code ?? 0
  clearInterval(mailTimer)
  void mailbox.stop()
})

/** Mails are printed here instead of being sent. */
let shown = 0
function showMails(): void {
  for (const { to, subject, text } of mailbox.mails.slice(shown)) {
    console.log(`\n--- mail to ${to}: ${subject}\n\n${text}\n---`)
    shown += 1
  }
}

function knownKeys(): string | undefined {
  if (!existsSync(ENVIRONMENT)) return undefined
  return /^LATCHKEY_KEYS=(.+)$/m.exec(readFileSync(ENVIRONMENT, 'utf8'))?.[1]
}

/** Creates an account with an administrator and a user who lacks a permission, applications, and an operator account. */
async function makeDemo(): Promise<Demo> {
  const keyset = parseKeyset(keys)
  if ('problem' in keyset) throw new Error(`LATCHKEY_KEYS is invalid: ${keyset.problem}`)
  const db = openPostgres(databaseUrl, 2)
  try {
    await createAccount(db, { slug: 'operators', name: 'Operators' })
    await createUser(db, {
      account: 'operators',
      email: 'olga@operators.example',
      roles: ['administrator'],
      password: null,
    })
    const known: Demo | null = existsSync(DEMO) ? JSON.parse(readFileSync(DEMO, 'utf8')) : null
    const registered = known && (await findApplication(db, known.id))
    const isComplete = known?.resource !== undefined && registered
    if (isComplete && matchApplicationSecret(keyset, registered.secrets, known.secret)) return known
    await createAccount(db, { slug: 'acme', name: 'Acme' })
    await createScope(db, { name: 'orders:read', title: 'See orders' })
    await createScope(db, { name: 'orders:write', title: 'Change orders' })
    await createRole(db, { account: 'acme', name: 'clerk', scopes: ['orders:read'] })
    await createRole(db, { account: 'acme', name: 'sales', scopes: ['orders:read', 'orders:write'] })
    await createUser(db, { account: 'acme', email: 'ann@acme.example', roles: ['administrator'], password: null })
    await createUser(db, { account: 'acme', email: 'ben@acme.example', roles: ['clerk'], password: null })
    const scopes = ['orders:read', 'orders:write']
    const register = async (name: string, wish: { redirectUri?: string; public?: boolean; resourceServer?: boolean }) =>
      done(
        await createApplication(db, keyset, {
          account: 'acme',
          name,
          allowedScopes: scopes,
          defaultScopes: scopes,
          requiredScopes: [],
          deviceFlow: wish.resourceServer !== true,
          redirectUris: wish.redirectUri ? [wish.redirectUri] : [],
          public: wish.public ?? false,
          pkceRequired: false,
          resourceServer: wish.resourceServer ?? false,
        }),
      )
    const television = await register('Acme Television', { redirectUri: 'http://127.0.0.1:4000/callback' })
    const orders = await register('Acme Orders', { redirectUri: 'http://127.0.0.1:4002/connected', public: true })
    const api = await register('Acme API', { resourceServer: true })
    const made: Demo = {
      id: television.id,
      secret: television.secret ?? '',
      publicId: orders.id,
      resource: { id: api.id, secret: api.secret ?? '' },
    }
    writeFileSync(DEMO, JSON.stringify(made), { mode: 0o600 })
    return made
  } finally {
    await db.close()
  }
}

/** For examples/own-users: manages the users of its account. A new one at each start, for as long as somebody tries it. */
async function makeManagementKey(): Promise<string> {
  const keyset = parseKeyset(keys)
  if ('problem' in keyset) throw new Error(`LATCHKEY_KEYS is invalid: ${keyset.problem}`)
  const db = openPostgres(databaseUrl, 2)
  try {
    const maker = { db, keys: keyset, operatorAccount: 'operators', actor: BY_COMMAND_LINE }
    const wish = {
      account: 'acme',
      label: 'Own users',
      scopes: ['users:write', 'roles:write'],
      networks: '',
      lifetimeMs: 604_800_000,
    }
    return done(await createManagementKey(maker, wish)).key
  } finally {
    await db.close()
  }
}

/** One-time links for users without a password. */
async function makeLinks(): Promise<readonly string[]> {
  const keyset = parseKeyset(keys)
  if ('problem' in keyset) throw new Error(`LATCHKEY_KEYS is invalid: ${keyset.problem}`)
  const db = openPostgres(databaseUrl, 2)
  try {
    const { rows } = await db.query<{ email: string }>(
      'select email from users where password_digest is null and email = any($1) order by email',
      [PEOPLE.map(({ email }) => email)],
    )
    const without = new Set(rows.map(({ email }) => email))
    const given = PEOPLE.filter(({ email }) => without.has(email)).map((each) => ({ ...each, reset: false }))
    const made = given.map((each) =>
      createSetupLink(db, { keys: keyset, publicUrl: address, operatorAccount: null, signInUrl: null }, each),
    )
    return (await Promise.all(made)).map((link, index) => `  ${given[index]?.email}\n  ${done(link).address}`)
  } finally {
    await db.close()
  }
}

function done<T>(result: Registered<T>): T {
  if (result.outcome === 'refused') throw new Error(result.reason)
  return result.value
}

function startHints(): string {
  const credentials = `-d SVCappid=${demo.id} -d SVCsecret=${demo.secret}`
  const account = `http://acme.localhost:${port}`
  const passwordHint = links.length > 0 ? `\nFirst set a password (each link works once):\n\n${links.join('\n')}\n` : ''
  return `
Run the whole device flow with explanations, in another terminal:

  npm run latchkey -- demo --grant

The account's pages are at ${account}
${passwordHint}
Connect a television (more examples in examples/README.md):

  npm run example television

Or use curl. The application requests a code:

  curl ${credentials} -d state=living-room ${address}/auth/oauth/device/code

Enter the user_code at ${account}/connect/code and decide. (ben@acme.example lacks a permission.)
The application polls, no faster than the interval (insert the device_code):

  curl ${credentials} -d device_code=DEVICE_CODE ${address}/auth/oauth/device/polling

Use /auth/key/… instead of /auth/oauth/… for an access key, and append .xml to a path for XML. Describe a credential:

  curl -H "Authorization: Bearer CREDENTIAL" ${address}/1/me

Operators sign in at http://operators.localhost:${port}/operator (olga@operators.example), and first set up an authenticator app or a passkey.

Mails are printed here instead of being sent. Ctrl-C ends the server; "npm run engines -- --stop" stops PostgreSQL and Redis.
`
}
