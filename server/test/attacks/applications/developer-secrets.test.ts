/** AD-05: a secret that the developer console shows is in that one answer and nowhere else. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { pageRoutes } from '../../../src/http/web/account-routes.ts'
import { Device } from '../../rig/device.ts'
import { type MadeUser, makeUser } from '../../rig/make.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { signedFor, signInAs } from '../../rig/signed-in.ts'
import { Web } from '../../rig/web.ts'

let service: TestService
let server: ServerProcess
let administrator: MadeUser
let web: Web
beforeAll(async () => {
  service = await startTestService({}, { listen: false })
  const { publicUrl } = service.config
  const environment = { DATABASE_URL: service.database.url, PUBLIC_URL: publicUrl, LOG_LEVEL: 'debug' }
  server = await startServerProcess(environment)
  administrator = await makeUser(service.context.db, service.account.slug)
  const visiting = await signInAs(service, administrator)
  web = new Web(server.address, visiting.host)
  for (const [name, value] of visiting.cookies) web.cookies.set(name, value)
})
afterAll(async () => {
  await server?.kill('SIGTERM')
  await service?.stop()
})

const secretIn = (html: string) => /id="application-secret">([^<]+)</.exec(html)?.[1] ?? ''
const idIn = (html: string) => /id="application-id">(app_[^<]+)</.exec(html)?.[1] ?? ''

it('AD-05: a new secret is in no other page, no row and no log, however it is used', async () => {
  const form = await signedFor(service, administrator, '/developer/new', {})
  const wish = { step: 'scopes', kind: 'device', name: 'Quiet Board', 'use.orders:read': 'default', ...form }
  const first = await web.send('POST', '/developer/new', wish)
  const id = idIn(first.text)
  const add = '/developer/application/secret'
  const second = await web.send('POST', add, await signedFor(service, administrator, add, { application: id }))
  const secrets = [secretIn(first.text), secretIn(second.text)]
  expect(new Set(secrets.filter((secret) => secret.length > 30)).size).toBe(2)
  for (const { text, headers } of [first, second]) {
    expect(headers['cache-control']).toContain('no-store')
    expect(text.split(secretIn(text)).length - 1, 'times in its own page').toBe(1)
  }
  expect(second.text).not.toContain(secrets[0])

  for (const secret of secrets) await use({ id, secret })
  const evidence: Record<string, string> = { 'the form again': (await web.send('POST', '/developer/new', wish)).text }
  for (const { path } of pageRoutes.filter(({ method, path }) => method === 'GET' && path.startsWith('/developer'))) {
    evidence[path] = (await web.send('GET', `${path}?application=${id}`)).text
  }
  await expect.poll(noted, { timeout: 30_000, interval: 200 }).toBeGreaterThanOrEqual(6)
  evidence['the rows'] = await allRows()
  evidence['the log'] = server.log()
  for (const [place, text] of Object.entries(evidence)) {
    expect(text.length, place).toBeGreaterThan(100)
    expect([place, secrets.filter((secret) => text.includes(secret))]).toEqual([place, []])
  }
})

/** A correct request, one with an unknown scope, and one with the secret in the URL. */
async function use(application: { id: string; secret: string }): Promise<void> {
  const device = new Device(server.address, application)
  await expect.poll(async () => (await device.request()).status, { timeout: 30_000, interval: 200 }).toBe(200)
  expect((await device.request({ scope: 'no:such' })).status).toBe(400)
  const { SVCappid, SVCsecret } = device.credentials
  const query = new URLSearchParams({ SVCappid, SVCsecret, scope: SVCsecret })
  expect((await web.send('POST', `/auth/oauth/device/code?${query}`, {}, { host: hostOf(service) })).status).toBe(400)
}

const hostOf = ({ config }: TestService) => new URL(config.publicUrl).host

/** The requests listed for the application's developer. */
async function noted(): Promise<number> {
  const [row] = await service.database.query<{ count: number }>('select count(*)::int from application_requests')
  return row?.count ?? 0
}

async function allRows(): Promise<string> {
  const tables = await service.database.query<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  )
  const dumps = await Promise.all(
    tables.map(({ name }) => service.database.query(`select (t.*)::text as row from public.${name} t`)),
  )
  return JSON.stringify(dumps)
}
