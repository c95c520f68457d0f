/** `latchkey account|scope|role|user|app list|show|create|edit|…`: what an operator types, over HTTP and on the machine itself. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { removeFolder } from '../../../tools/remove-folder.ts'
import { makeAccount, makeEnvironment, makeUser } from '../rig/make.ts'
import { makeManagementKey } from '../rig/manage.ts'
import { runCommand } from '../rig/process/command.ts'
import { startTestService, type TestService } from '../rig/service.ts'

let service: TestService
let key: { id: string; key: string }
let environment: Record<string, string>

const OVER_HTTP = 'over HTTP, with a key'
const IN_PROCESS = 'in process, on the machine itself'

async function start(how: string): Promise<void> {
  service = await startTestService({ OPERATOR_ACCOUNT: 'operators' })
  key = await makeManagementKey(service)
  await makeAccount(service.context.db, { slug: 'operators' })
  environment =
    how === OVER_HTTP
      ? { LATCHKEY_SERVER: service.address, LATCHKEY_MANAGEMENT_KEY: key.key }
      : makeEnvironment({ DATABASE_URL: service.database.url, OPERATOR_ACCOUNT: 'operators' })
}

const run = (...args: string[]) => runCommand(args, { environment })
const json = async (...args: string[]) => {
  const { status, stdout, stderr } = await run(...args, '--json')
  expect([status, stderr]).toEqual([0, ''])
  return JSON.parse(stdout)
}
const within = (...args: string[]) => [...args, '--account', service.account.slug]

/** Who did what, newest last, and by which interface. */
const eventsSince = async (before: string) =>
  service.database.query<{ kind: string; actor_kind: string; actor_id: string; via: string }>(
    'select kind, actor_kind, actor_id, via from audit_events where at > $1 order by id',
    [before],
  )

describe.each([OVER_HTTP, IN_PROCESS])('%s', (how) => {
  beforeAll(() => start(how))
  afterAll(() => service.stop())

  it('accounts and scopes are listed as a table and as JSON, shown and edited', async () => {
    const { slug, id } = service.account
    const table = (await run('account', 'list')).stdout
    expect(table).toMatch(/^slug +name +external id +id\n/)
    expect(table).toContain(id)
    expect((await json('account', 'list')).items).toContainEqual(expect.objectContaining({ id, slug }))
    expect(await json('account', 'edit', slug, '--name', 'Renamed', '--external-id', 'customer-9')).toMatchObject({
      ...{ name: 'Renamed', external_id: 'customer-9' },
    })
    expect(await json('account', 'edit', slug, '--external-id', '')).toMatchObject({ external_id: null })
    expect((await run('account', 'show', slug)).stdout).toMatch(/^name +Renamed$/m)
    expect(await json('scope', 'edit', 'orders:read', '--title', 'Look at orders')).toMatchObject({
      title: 'Look at orders',
    })
    expect(await json('scope', 'show', 'orders:read')).toMatchObject({ title: 'Look at orders', dangerous: false })
    expect(await run('account', 'edit', slug)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('--name <name>'),
    })
    expect(await run('account', 'show', 'nowhere')).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/no such account|no account "nowhere"/),
    })
  })

  it('roles and applications are found by name or id, edited and deleted', async () => {
    const user = await makeUser(service.context.db, service.account.slug, { holds: ['orders:read'] })
    const [role] = (await json(...within('role', 'list'))).items.filter(({ name }: { name: string }) =>
      name.startsWith('role '),
    )
    expect(await json(...within('role', 'edit', role.name, '--name', 'packer', '--scopes', ''))).toMatchObject({
      scopes: [],
    })
    expect(await json(...within('role', 'show', role.id))).toMatchObject({ name: 'packer' })
    expect((await run(...within('role', 'delete', 'packer'))).status).toBe(0)
    expect(await run(...within('role', 'show', 'packer'))).toMatchObject({
      status: 1,
      stderr: 'There is no role "packer".\n',
    })
    expect(user.id).toMatch(/^usr_/)

    const { id } = service.application
    expect(await json(...within('app', 'edit', id, '--name', 'Board', '--device-flow', 'no'))).toMatchObject({
      device_flow: false,
    })
    const refused = await run(...within('app', 'delete', 'Board'))
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining('Add --yes') })
    expect((await json(...within('app', 'show', 'Board'))).id).toBe(id)
    expect((await run(...within('app', 'delete', 'Board', '--yes'))).status).toBe(0)
    expect((await json(...within('app', 'list'))).items).toEqual([])
  })

  it('an account is closed only with --yes, after a list of what ends and what stays', async () => {
    const { slug } = await makeAccount(service.context.db)
    const asked = await run('account', 'close', slug)
    expect(asked).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('its management keys, its identity provider'),
    })
    expect(asked.stderr).toContain('The audit log keeps its events')
    expect((await run('account', 'show', slug)).status).toBe(0)
    expect(await run('account', 'close', slug, '--yes')).toMatchObject({
      status: 0,
      stdout: `Closed the account ${slug}.\n`,
    })
    expect(await run('account', 'show', slug)).toMatchObject({ status: 1 })
  })

  it('users are found by address, edited, disabled and erased, with a word about the audit log', async () => {
    const user = await makeUser(service.context.db, service.account.slug, { holds: ['orders:read'] })
    expect(await json(...within('user', 'edit', user.email, '--name', 'Ann'))).toMatchObject({
      id: user.id,
      name: 'Ann',
    })
    expect(await json(...within('user', 'disable', user.email))).toMatchObject({ status: 'disabled' })
    expect((await run(...within('user', 'list'))).stdout).toMatch(new RegExp(`${user.email} +Ann +disabled`))
    const asked = await run(...within('user', 'erase', user.email))
    expect(asked).toMatchObject({ status: 1, stderr: expect.stringContaining('The audit log keeps its events') })
    expect(await json(...within('user', 'erase', user.email, '--yes'))).toEqual({ id: user.id })
    expect(await run(...within('user', 'show', user.email))).toMatchObject({ status: 1 })
  })

  it('what is created is printed, also as JSON, and the audit log names the actor', async () => {
    const [begin] = await service.database.query<{ now: string }>('select now()::text as now')
    expect(await json('account', 'create', '--slug', 'harbour', '--name', 'Harbour')).toMatchObject({
      ...{ id: expect.stringMatching(/^acc_/), slug: 'harbour', name: 'Harbour' },
    })
    const parcels = { name: 'parcels:read', title: 'See parcels', dangerous: true, device_flow: false }
    expect(
      await json('scope', 'create', 'parcels:read', '--title', 'See parcels', '--dangerous', '--not-by-device'),
    ).toEqual(parcels)
    const at = ['--account', 'harbour']
    expect(await json('role', 'create', ...at, '--name', 'clerk', '--scopes', 'parcels:read')).toMatchObject({
      ...{ id: expect.stringMatching(/^rol_/), account: 'harbour', name: 'clerk', scopes: ['parcels:read'] },
    })
    await json('role', 'create', ...at, '--name', 'guest')
    const ann = ['user', 'create', ...at, '--email', 'ann@harbour.example', '--role', 'clerk', '--role', 'guest']
    expect(await json(...ann, '--invite')).toMatchObject({
      ...{ id: expect.stringMatching(/^usr_/), account: 'harbour', email: 'ann@harbour.example' },
      ...{ roles: ['clerk', 'guest'], status: 'invited' },
    })
    const created = await json('app', 'create', ...at, '--name', 'Display', '--scopes', 'parcels:read')
    expect(created).toMatchObject({
      ...{ id: expect.stringMatching(/^app_/), secret: expect.stringMatching(/^lks_/), account: 'harbour' },
      ...{ name: 'Display', scopes: ['parcels:read'], default_scopes: ['parcels:read'], device_flow: false },
    })
    const page = await run('app', 'create', ...at, '--name', 'Page', '--scopes', '', '--public')
    expect(page.stdout).toContain('it has no secret and uses PKCE')

    const address = 'https://display.example/back'
    expect(await json('app', 'set-redirects', created.id, address, ...at)).toEqual({
      ...{ id: created.id, redirect_uris: [address] },
    })
    const rotated = []
    for (const name of [created.id, 'Display', 'Display']) rotated.push(await json('app', 'rotate-secret', name, ...at))
    expect(rotated.map(({ revoked_secrets: ended }) => ended.length)).toEqual([0, 0, 1])
    expect(await json('user', 'disable', 'ann@harbour.example', ...at)).toMatchObject({ status: 'disabled' })
    expect((await run('user', 'enable', '--user', 'ann@harbour.example', ...at)).stdout).toMatch(
      /^Enabled the user ann@harbour\.example \(usr_\w+\) of harbour\./,
    )
    expect((await run('account', 'close', 'harbour', '--yes')).status).toBe(0)

    const actor =
      how === OVER_HTTP
        ? { actor_kind: 'management_key', actor_id: key.id, via: 'api' }
        : { actor_kind: 'operator', actor_id: 'cli', via: 'cli' }
    const events = (await eventsSince(begin?.now ?? '')).filter(({ kind }) => kind !== 'management_key.network_added')
    expect(events).toEqual(events.map(({ kind }) => ({ kind, ...actor })))
    expect(new Set(events.map(({ kind }) => kind))).toEqual(
      new Set([
        ...['account.created', 'scope.created', 'role.created', 'user.invited', 'application.created'],
        ...['application.changed', 'application.secret_rotated', 'application.secret_revoked'],
        ...['user.disabled', 'user.enabled', 'application.deleted', 'account.closed'],
      ]),
    )
  })
})

describe(OVER_HTTP, () => {
  beforeAll(() => start(OVER_HTTP))
  afterAll(() => service.stop())

  it('a change that needs another scope of the key says which', async () => {
    const user = await makeUser(service.context.db, service.account.slug, { holds: [] })
    const { key } = await makeManagementKey(service, { scopes: ['users:write', 'roles:write'] })
    const by = (...args: string[]) =>
      runCommand(within('user', 'edit', user.email, ...args), {
        environment: { ...environment, LATCHKEY_MANAGEMENT_KEY: key },
      })
    const [role] = (await json(...within('role', 'list'))).items.filter(
      ({ holds_every_scope }: { holds_every_scope: boolean }) => holds_every_scope,
    )
    const refused = await by('--roles', role.id)
    expect(refused.status).toBe(1)
    expect(refused.stderr).toContain('The management key does not have the scope administrators:write.')
    expect((await by('--permissions', 'orders:read')).status).toBe(0)
  })

  it('the operators’ account is not found', async () => {
    expect((await json('account', 'list')).items.map(({ slug }: { slug: string }) => slug)).not.toContain('operators')
    const wish = ['--email', 'mallory@evil.example', '--role', 'administrator']
    expect(await run('user', 'create', '--account', 'operators', ...wish)).toMatchObject({
      ...{ status: 1, stderr: expect.stringContaining('The key reaches no such account.') },
    })
  })

  it('what only the machine itself offers is refused: links, and an application without its account', async () => {
    const setUp = ['--slug', 'pier', '--name', 'Pier', '--administrator', 'ann@pier.example']
    expect(await run('account', 'create', ...setUp)).toMatchObject({
      ...{ status: 1, stderr: expect.stringContaining('no member "administrator"') },
    })
    expect(await run('account', 'show', 'pier')).toMatchObject({ status: 1 })
    expect(await run('app', 'rotate-secret', service.application.id)).toMatchObject({
      ...{ status: 1, stderr: 'Name the account with --account.\n' },
    })
  })
})

describe(IN_PROCESS, () => {
  beforeAll(() => start(IN_PROCESS))
  afterAll(() => service.stop())

  it('the operators’ account is listed and changed, and every operator is told', async () => {
    const at = ['--account', 'operators']
    expect((await json('account', 'list')).items.map(({ slug }: { slug: string }) => slug)).toContain('operators')
    for (const email of ['olga@operators.example', 'omar@operators.example'])
      await json('user', 'create', ...at, '--email', email, '--role', 'administrator')
    const { link } = await json('user', 'link', '--user', 'omar@operators.example', ...at)
    expect(link).toMatch(/\/link\?token=lkl_/)
    await service.database.query("update users set disabled_at = now() where email = 'omar@operators.example'")
    await json('user', 'enable', '--user', 'omar@operators.example', ...at)
    const events = await service.database.query(
      "select detail->>'change' as change from audit_events where kind = 'operator.changed_alone' order by id",
    )
    expect(events).toEqual(['create', 'create', 'reset', 'enable'].map((change) => ({ change })))
    const mails = await service.database.query(
      "select count(*)::int as n from mails m join users u on u.id = m.user_id where m.kind = 'operator_change' and u.email like 'olga%'",
    )
    expect(mails).toEqual([{ n: 3 }])
    expect(await run('account', 'close', 'operators', '--yes')).toMatchObject({
      ...{ status: 1, stderr: 'The operators’ account cannot be closed.\n' },
    })
  })

  it('an application is found by its id alone', async () => {
    expect(await json('app', 'rotate-secret', service.application.id)).toMatchObject({ revoked_secrets: [] })
  })

  it('the configuration is exported, and applied again without a difference', async () => {
    const exported = await json('export')
    expect(Object.keys(exported.accounts)).toContain(service.account.slug)
    const file = `${mkdtempSync(join(tmpdir(), 'latchkey-nouns-'))}/latchkey.yaml`
    writeFileSync(file, JSON.stringify(exported))
    expect(await run('apply', file, '--plan')).toMatchObject({ status: 0, stdout: 'No differences.\n' })
    removeFolder(dirname(file))
  })

  it('without a key and without the settings of the service, both are asked for', async () => {
    const { status, stderr } = await runCommand(['account', 'list'], {})
    expect([status, stderr]).toEqual([
      2,
      expect.stringMatching(/The management key is missing\..*DATABASE_URL is missing/s),
    ])
  })
})
