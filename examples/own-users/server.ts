/**
 * A service with users of its own: a table of users, sessions, a sign-in page, a page on which owners change what others may do,
 * and an API. Users of Latchkey's pages sign in here; what concerns Latchkey is in latchkey.ts and tell-latchkey.ts and, for the
 * API, the verifier.
 */
import { randomBytes, scryptSync, timingSafeEqual } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { createVerifier } from '@latchkey/sdk'
import { credentialOf, requireAuth } from '@latchkey/sdk/express'
import express, { type Request } from 'express'
import { latchkey, type SignedInUser } from './latchkey.ts'
import { tellLatchkey } from './tell-latchkey.ts'

const port = Number(process.env.PORT ?? 4003)
const latchkeyUrl = process.env.LATCHKEY_BASE_URL ?? 'http://localhost:8080'
const ownUrl = `http://127.0.0.1:${port}`
const account = process.env.ACCOUNT ?? 'acme'

const database = new DatabaseSync(':memory:')
database.exec(`
  create table users (id text primary key, account text, email text unique, name text, role text, salt text, password text);
  create table sessions (id text primary key, user_id text references users, signed_in_at integer)`)

const digest = (password: string, salt: string) => scryptSync(password, salt, 32).toString('hex')
const addUser = database.prepare('insert into users values (?, ?, ?, ?, ?, ?, ?)')
for (const [id, name, role] of [
  ['17', 'Ada', 'owner'],
  ['18', 'Bob', 'clerk'],
] as const) {
  const salt = randomBytes(16).toString('hex')
  addUser.run(id, account, `${name.toLowerCase()}@own.example`, name, role, salt, digest('a quiet green harbour', salt))
}

/** What each role of this service means at Latchkey. */
const AT_LATCHKEY = {
  owner: { roles: ['administrator'], permissions: [] },
  clerk: { roles: [], permissions: ['orders:read'] },
  guest: { roles: [], permissions: [] },
} as const
type Role = keyof typeof AT_LATCHKEY
const isRole = (text: string): text is Role => Object.hasOwn(AT_LATCHKEY, text)

function userOf(request: Request): SignedInUser | null {
  const [, session = ''] = /(?:^|; )own-session=([\w-]+)/.exec(request.headers.cookie ?? '') ?? []
  const row = database
    .prepare('select users.*, signed_in_at from sessions join users on users.id = user_id where sessions.id = ?')
    .get(session) as Record<string, string> | undefined
  if (!row) return null
  const { id = '', email = '', name = '', role } = row
  // Whoever was dismissed has no role, and is nobody.
  if (role === undefined || !isRole(role)) return null
  return { id, account: row.account ?? '', email, name, signedInAt: Number(row.signed_in_at), ...AT_LATCHKEY[role] }
}

const app = express()
app.use(express.urlencoded({ extended: false }))
app.use(await latchkey(latchkeyUrl, ownUrl, userOf))

/** Only a path of this service. */
const nextPath = (next: unknown) => (/^\/(?![/\\])/.test(String(next)) ? String(next) : '/')
const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
const page = (content: string) =>
  `<!doctype html><html lang="en"><title>Own service</title><main>${content}</main></html>`

app.get('/', (request, response) => {
  const user = userOf(request)
  const team = user && isOwner(user) ? '<p><a href="/team">Team</a></p>' : ''
  const who = user ? `<p>Signed in as ${escaped(user.name)}.</p>${team}` : '<p><a href="/sign-in">Sign in</a></p>'
  response.send(page(who))
})

const signInForm = (next: string, problem = '') =>
  page(`<h1>Sign in</h1><p role="alert">${problem}</p><form method="post" action="/sign-in">
    <input type="hidden" name="next" value="${escaped(next)}">
    <label>E-mail <input name="email" type="email"></label>
    <label>Password <input name="password" type="password"></label> <button>Sign in</button></form>`)

app.get('/sign-in', (request, response) => void response.send(signInForm(nextPath(request.query.next))))

app.post('/sign-in', (request, response) => {
  const { email, password, next } = request.body
  const user = database.prepare('select id, salt, password from users where email = ?').get(String(email)) as
    | { id: string; salt: string; password: string }
    | undefined
  const given = digest(String(password), user?.salt ?? '')
  if (!user || !timingSafeEqual(Buffer.from(given), Buffer.from(user.password))) {
    return void response.status(400).send(signInForm(nextPath(next), 'E-mail address or password is wrong.'))
  }
  const session = randomBytes(16).toString('base64url')
  database.prepare('insert into sessions values (?, ?, ?)').run(session, user.id, Math.floor(Date.now() / 1000))
  response.cookie('own-session', session, { httpOnly: true, sameSite: 'lax', path: '/' })
  response.redirect(303, nextPath(next))
})

const isOwner = (user: SignedInUser) => user.roles.includes('administrator')
const CHOICES = ['clerk', 'guest', 'dismissed']

app.get('/team', (request, response) => {
  const user = userOf(request)
  if (!user || !isOwner(user)) return void response.status(403).send(page('<p>Only owners.</p>'))
  const rows = database.prepare('select id, name, role from users where id <> ?').all(user.id)
  const forms = rows.map(({ id, name, role }) => {
    const buttons = CHOICES.map((each) => `<button name="role" value="${each}">${each}</button>`)
    return `<form method="post" action="/team/${id}">${escaped(String(name))}: ${role} ${buttons.join(' ')}</form>`
  })
  response.send(page(`<h1>Team</h1>${forms.join('')}`))
})

const tell = tellLatchkey(latchkeyUrl, account, process.env.LATCHKEY_MANAGEMENT_KEY ?? '')

app.post('/team/:id', async (request, response) => {
  const user = userOf(request)
  if (!user || !isOwner(user)) return void response.status(403).send(page('<p>Only owners.</p>'))
  const role = String(request.body.role)
  if (!CHOICES.includes(role)) return void response.status(400).send(page('<p>No such role.</p>'))
  // First here, so that no later sign-in gives it back. If Latchkey does not answer, the owner sees that, and presses again.
  database.prepare('update users set role = ? where id = ?').run(role, request.params.id)
  const { permissions } = AT_LATCHKEY[isRole(role) ? role : 'guest']
  await tell(request.params.id, { disabled: !isRole(role), roles: [], permissions })
  response.redirect(303, '/team')
})

// A short memory: a process of Latchkey hears of a change within a second, and the API then asks again.
const verifier = createVerifier({
  cacheSeconds: 0.25,
  baseUrl: latchkeyUrl,
  resourceId: process.env.LATCHKEY_RESOURCE_ID ?? '',
  resourceSecret: process.env.LATCHKEY_RESOURCE_SECRET ?? '',
})

app.get('/orders', requireAuth(verifier, { scope: 'orders:read' }), (request, response) => {
  response.json({ account: credentialOf(request).account, orders: [{ id: 1, what: 'two bottles of ink' }] })
})

app.listen(port, '127.0.0.1', () => console.log(`The service is at ${ownUrl}`))
