/** The command line, as an operator types it: the built executable, its words, its JSON, its exit status. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { removeFolder } from '../../../tools/remove-folder.ts'
import { Device } from '../rig/device.ts'
import { createTestDatabase, engineUrl, type TestDatabase } from '../rig/engines/database.ts'
import { followLink } from '../rig/mailed-link.ts'
import { makeEnvironment } from '../rig/make.ts'
import { type ServerProcess, startServerProcess } from '../rig/process/server-process.ts'
import { Web } from '../rig/web.ts'

const EXECUTABLE = new URL('../../dist/latchkey.js', import.meta.url).pathname

let database: TestDatabase
let server: ServerProcess
beforeAll(async () => {
  database = await createTestDatabase()
  server = await startServerProcess({ DATABASE_URL: database.url, REDIS_URL: engineUrl('REDIS_URL') })
})
afterAll(async () => {
  await server.kill('SIGTERM')
  await database.drop()
})

function run(args: string[], options: { input?: string; environment?: Record<string, string> } = {}) {
  const environment =
    options.environment ?? makeEnvironment({ DATABASE_URL: database.url, REDIS_URL: engineUrl('REDIS_URL') })
  const { status, stdout, stderr } = spawnSync(process.execPath, [EXECUTABLE, ...args], {
    env: { PATH: process.env.PATH, ...environment },
    encoding: 'utf8',
    input: options.input ?? '',
    timeout: 60_000,
  })
  return { status, stdout: stdout.trim(), stderr: stderr.trim() }
}
const json = (args: string[], input?: string) => {
  const result = run([...args, '--json'], input === undefined ? {} : { input })
  expect([result.status, result.stderr]).toEqual([0, ''])
  return JSON.parse(result.stdout)
}

describe('from nothing to a granted device', () => {
  // Twenty processes, one after the other.
  it('registers, requests, grants, collects', async () => {
    expect(json(['migrate'])).toEqual({ applied: [] })
    expect(json(['account', 'create', '--slug', 'acme', '--name', 'Acme'])).toMatchObject({
      id: expect.stringMatching(/^acc_/),
    })
    json(['scope', 'create', 'orders:read', '--title', 'See orders'])
    json(['scope', 'create', 'orders:write', '--title', 'Change orders'])
    expect(
      json(['scope', 'create', 'account:close', '--title', 'Close the account', '--dangerous', '--not-by-device']),
    ).toEqual({ name: 'account:close', title: 'Close the account', dangerous: true, device_flow: false })
    json(['role', 'create', '--account', 'acme', '--name', 'clerk', '--scopes', 'orders:read'])
    expect(
      json(['user', 'create', '--account', 'acme', '--email', 'Ann@acme.example', '--role', 'clerk']),
    ).toMatchObject({
      ...{ id: expect.stringMatching(/^usr_/), account: 'acme', email: 'ann@acme.example', roles: ['clerk'] },
    })
    const { link } = json(['user', 'link', '--account', 'acme', '--user', 'ann@acme.example'])
    const web = new Web(server.address, 'acme.localhost:8080')
    await followLink(web, new URL(link).searchParams.get('token') ?? '', 'setup')
    expect((await web.send('GET', '/applications')).status).toBe(200)
    const application = json([
      'app',
      'create',
      '--account',
      'acme',
      '--name',
      'TV',
      '--scopes',
      'orders:read,orders:write',
      '--device-flow',
    ])
    expect(application).toMatchObject({ id: expect.stringMatching(/^app_/), secret: expect.stringMatching(/^lks_/) })
    await new Promise((resolve) => setTimeout(resolve, 1_200))

    const device = new Device(server.address, application)
    const [yes, no] = [await device.code(), await device.code()]
    const who = ['--account', 'acme', '--user', 'ann@acme.example']
    expect(json(['code', 'show', yes.user_code, ...who])).toMatchObject({
      status: 'pending',
      can_be_entered: true,
      entry: 'accepted',
      would_grant: 'orders:read',
      lacks: 'orders:write',
      can_allow: true,
      prevented_by: null,
    })
    expect(json(['code', 'grant', yes.user_code, ...who])).toMatchObject({
      outcome: 'granted',
      granted: ['orders:read'],
      lacking: ['orders:write'],
    })
    expect(json(['code', 'reject', no.user_code, ...who])).toEqual({ outcome: 'rejected' })
    expect((await device.poll(yes.device_code)).body.scope).toBe('orders:read')
    expect((await device.poll(no.device_code)).body.error).toBe('auth_rejected')
    expect(json(['code', 'show', yes.user_code])).toMatchObject({ status: 'used', can_be_entered: false })
    const again = run(['code', 'grant', yes.user_code, ...who])
    expect(again.status).toBe(1)
    expect(again.stderr).toMatch(/^This code is not recognised: .* or barred by the policy of this account/)

    const publisher = ['app', 'set-publisher', application.id, '--name', 'acme.example', '--status', 'verified']
    expect(json(publisher)).toEqual({ id: application.id, publisher: 'acme.example', status: 'verified' })
    expect(json(['app', 'set-publisher', application.id, '--status', 'own'])).toMatchObject({ publisher: null })
    expect(json(['app', 'suspend', application.id, '--reason', 'test'])).toEqual({
      id: application.id,
      suspended: true,
      revoked: 0,
    })
    expect(run(['app', 'suspend', application.id]).stderr).toMatch(/suspended already/)
    expect(json(['app', 'restore', application.id])).toEqual({ id: application.id, suspended: false })
    const [row] = await database.query<{ password_digest: string }>('select password_digest from users')
    expect(row?.password_digest).toMatch(/^\$argon2id\$/)
  })

  it('registers a dialog without a duty to use PKCE, unless it is asked for or the application is public', async () => {
    const create = [
      'app',
      'create',
      '--account',
      'acme',
      '--scopes',
      'orders:read',
      '--redirect-uri',
      'https://a.example/',
    ]
    const required = async (name: string, ...options: string[]) => {
      const { id } = json([...create, '--name', name, ...options])
      const [row] = await database.query('select pkce_required from applications where id = $1', [id])
      return row?.pkce_required
    }
    expect(await required('Shop')).toBe(false)
    expect(await required('Bank', '--require-pkce')).toBe(true)
    expect(await required('Page', '--public')).toBe(true)
  })

  it('keeps three secrets alive: the fourth ends the oldest (AP-22)', async () => {
    const first = json([
      'app',
      'create',
      '--account',
      'acme',
      '--name',
      'Kiosk',
      '--scopes',
      'orders:read',
      '--device-flow',
    ])
    const later = [1, 2, 3].map(() => json(['app', 'rotate-secret', first.id]))
    expect(later.map((each) => each.revoked_secrets.length)).toEqual([0, 0, 1])
    await new Promise((resolve) => setTimeout(resolve, 1_200))
    const statuses = await Promise.all(
      [first, ...later].map(
        async ({ secret }) => (await new Device(server.address, { id: first.id, secret }).request()).status,
      ),
    )
    expect(statuses).toEqual([401, 200, 200, 200])
  })
})

describe('an account with its first administrator', () => {
  const create = ['account', 'create', '--slug', 'fresh', '--name', 'Fresh', '--administrator']

  it('is made whole or not at all', async () => {
    const refused = run([...create, 'nobody'])
    expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining('"nobody" is not an e-mail address.')])
    expect(await database.query("select from accounts where slug = 'fresh'")).toEqual([])
    expect(json([...create, 'ann@fresh.example'])).toMatchObject({
      slug: 'fresh',
      administrator: expect.stringMatching(/^usr_/),
      link: expect.stringMatching(/^http:\/\/fresh\.localhost:\d+\/link\?token=lkl_/),
    })
  })
})

describe('what can be fixed is said in a sentence', () => {
  it.each([
    [['account', 'create', '--slug', 'acme', '--name', 'A'], 'An account "acme" exists already.'],
    [['account', 'create', '--slug', 'Not A Host', '--name', 'A'], 'The slug "Not A Host" cannot be a host name'],
    [['account', 'create', '--slug', 'www', '--name', 'A'], 'reserved for the service itself'],
    [
      ['user', 'create', '--account', 'nobody', '--email', 'a@b.example', '--role', 'x'],
      'There is no account "nobody".',
    ],
    [
      ['user', 'create', '--account', 'acme', '--email', 'a@b.example', '--role', 'king'],
      'It has: administrator, clerk.',
    ],
    [['scope', 'create', 'Bad Name', '--title', 'x'], '"Bad Name" cannot be a scope'],
    [['scope', 'create', 'good', '--title', ' '], 'A name or title has 1 to 100 characters.'],
    [['key', 'create', '--id', 'abc'], 'A key id is a number from 1 to 255.'],
    [['app', 'create', '--account', 'acme', '--name', 'X', '--scopes', 'nope'], 'Not in the scope catalogue: nope.'],
    [
      ['app', 'create', '--account', 'acme', '--name', 'X', '--scopes', 'orders:read,account:close', '--device-flow'],
      'No typed code may lead to account:close, so an application with the device flow cannot have it in its default scopes.',
    ],
    [['app', 'rotate-secret', 'app_000000000000'], 'There is no application "app_000000000000".'],
    [
      ['app', 'create', '--account', 'acme', '--name', 'SVC\u202e Support', '--scopes', 'orders:read'],
      'An application has a name of 1 to 100 characters',
    ],
    [
      ['app', 'set-publisher', 'app_000000000000', '--name', 'Acme Ltd', '--status', 'verified'],
      '"Acme Ltd" is not a domain',
    ],
    [['app', 'set-publisher', 'app_000000000000', '--status', 'verified'], 'give it with --name'],
    [
      ['app', 'set-publisher', 'app_000000000000', '--status', 'famous'],
      'Allowed choices are own, verified, unverified.',
    ],
    [['code', 'show', '123'], 'There is no code with these digits'],
    [['code', 'show', '123', '--account', 'acme'], '--account and --user must be given together'],
  ])('%j', (args, words) => {
    const result = run(args)
    expect(result.status).toBe(1)
    expect(result.stderr).toContain(words)
    expect(result.stderr).not.toContain('    at ')
  })

  it('a configuration that is wrong in several ways is told all of them, with status 2', () => {
    const result = run(['serve'], {
      environment: { DATABASE_URL: 'mysql://x', PORT: 'eighty', LATCHKEY_KEYS: '1:short' },
    })
    expect(result.status).toBe(2)
    for (const name of ['DATABASE_URL', 'PORT', 'LATCHKEY_KEYS']) expect(result.stderr).toContain(name)
    expect(result.stderr).not.toContain('mysql://x')
  })

  it('a database that was not migrated keeps the service from starting, and says the command', async () => {
    const [row] = await database.query<{ url: string }>("select 'postgres' as url")
    const url = new URL(database.url)
    url.pathname = `/${row?.url}`
    const result = run(['serve'], { environment: makeEnvironment({ DATABASE_URL: url.toString() }) })
    expect([result.status, result.stderr]).toEqual([1, expect.stringContaining('Run "latchkey migrate" first.')])
  })

  it.each([
    ['/absent', 'The database in DATABASE_URL does not exist.'],
    ['/postgres', 'The database was not migrated.'],
  ])('a database at %s is told apart in a sentence', (path, words) => {
    const url = new URL(database.url)
    url.pathname = path
    const environment = makeEnvironment({ DATABASE_URL: url.toString() })
    const result = run(['account', 'create', '--slug', 'x', '--name', 'X'], { environment })
    expect([result.status, result.stderr]).toEqual([1, expect.stringContaining(words)])
    expect(result.stderr).not.toContain('    at ')
  })

  it('serve ends if PostgreSQL does not answer its first statements', async () => {
    const engines = { DATABASE_URL: database.url, REDIS_URL: engineUrl('REDIS_URL') }
    const busy = new pg.Client({ connectionString: database.url })
    await busy.connect()
    await busy.query('begin; lock table signing_keys in access exclusive mode')
    try {
      const result = run(['serve'], { environment: makeEnvironment({ ...engines, PORT: '0' }) })
      expect([result.status, result.stderr]).toEqual([1, expect.stringMatching(/^PostgreSQL: /)])
    } finally {
      await busy.end()
    }
  })

  it('a file that cannot be opened is named', () => {
    expect(run(['restore', 'check', '/nonexistent/journal'])).toMatchObject({
      status: 1,
      stderr: '/nonexistent/journal cannot be opened: ENOENT.',
    })
  })

  it('a port in use is told in a sentence, and the command ends', () => {
    const port = new URL(server.address).port
    const environment = makeEnvironment({ DATABASE_URL: database.url, REDIS_URL: engineUrl('REDIS_URL'), PORT: port })
    const result = run(['serve'], { environment })
    expect([result.status, result.stderr]).toEqual([1, expect.stringMatching(/^The port is in use/)])
  })

  it('help names every noun and ends well', () => {
    const { status, stdout } = run(['--help'])
    expect(status).toBe(0)
    for (const noun of ['serve', 'migrate', 'sweep', 'account', 'user', 'scope', 'app', 'code'])
      expect(stdout).toContain(noun)
  })
})

describe('a second look', () => {
  it('lists what waits, writes the logo to look at, and accepts or declines the version that was seen', async () => {
    json(['account', 'create', '--slug', 'lamps', '--name', 'Lamps'])
    json(['user', 'create', '--account', 'lamps', '--email', 'lea@lamps.example', '--role', 'administrator'])
    json(['scope', 'create', 'lamps:see', '--title', 'See lamps'])
    const { id } = json([
      'app',
      'create',
      '--account',
      'lamps',
      '--name',
      'Lamp',
      '--scopes',
      'lamps:see',
      '--device-flow',
    ])
    json(['app', 'set-publisher', id, '--name', 'lamps.example', '--status', 'verified'])
    expect(run(['app', 'proposals'])).toEqual({ status: 0, stdout: 'No pending changes.', stderr: '' })
    const propose = (name: string) =>
      database.query(
        `insert into application_proposals (application_id, version, name, logo, logo_version, proposed_at, proposed_by)
         select $1, nextval('application_proposal_versions'), $2, 'a picture', '0123456789ab', now(), id
         from users where email = 'lea@lamps.example'
         returning version::int`,
        [id, name],
      )
    const [first] = await propose('Bright Lamp')
    const version = String(first?.version)
    const folder = mkdtempSync(join(tmpdir(), 'latchkey-logos-'))
    expect(json(['app', 'proposals', '--logos', folder])).toEqual({
      proposals: [
        {
          id,
          version: first?.version,
          account: 'lamps',
          publisher: 'lamps.example',
          status: 'verified',
          name_now: 'Lamp',
          name: 'Bright Lamp',
          logo: 'new',
          proposed_by: 'lea@lamps.example',
          proposed_at: expect.stringMatching(/^\d{4}-/),
        },
      ],
    })
    expect(readFileSync(join(folder, `${id}-${version}.png`), 'utf8')).toBe('a picture')
    removeFolder(folder)
    expect(run(['app', 'proposals']).stdout).toContain('Lamp  ->  Bright Lamp')

    const stale = run(['app', 'accept-proposal', id, '--version', '0'])
    expect([stale.status, stale.stderr]).toEqual([1, expect.stringContaining('have been edited since')])
    const silent = run(['app', 'decline-proposal', id, '--version', version, '--reason', ' '])
    expect([silent.status, silent.stderr]).toEqual([1, expect.stringContaining('Give a reason')])
    expect(json(['app', 'decline-proposal', id, '--version', version, '--reason', 'Too bright.'])).toEqual({
      id,
      version: first?.version,
      outcome: 'declined',
    })
    expect(run(['app', 'accept-proposal', id, '--version', version]).stderr).toContain('has no pending changes')

    await database.query('delete from application_proposals')
    const [second] = await propose('Dim Lamp')
    expect(json(['app', 'accept-proposal', id, '--version', String(second?.version)])).toMatchObject({
      outcome: 'accepted',
    })
    expect(await database.query('select name from applications where id = $1', [id])).toEqual([{ name: 'Dim Lamp' }])
  })
})
