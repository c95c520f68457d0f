/** `latchkey apply` and `latchkey export`: a service is made as a file says, by the management API. */
import { existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { removeFolder } from '../../../tools/remove-folder.ts'
import { type ManageClient, makeManagementKey, manageClient } from '../rig/manage.ts'
import { runCommand } from '../rig/process/command.ts'
import { startTestService, type TestService } from '../rig/service.ts'

/** Also printed in docs/guides/configuration-as-code.md. */
const SAMPLE = readFileSync(new URL('../../../examples/configuration/latchkey.yaml', import.meta.url), 'utf8')

let service: TestService
let call: ManageClient
let key: string
let folder: string
beforeAll(async () => {
  service = await startTestService()
  key = (await makeManagementKey(service)).key
  call = manageClient(service.address, key)
  folder = mkdtempSync(join(tmpdir(), 'latchkey-apply-'))
})
afterAll(async () => {
  removeFolder(folder)
  await service.stop()
})

const write = (name: string, text: string) => {
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}
const run = (args: readonly string[], at = service, by = key) =>
  runCommand(args, { environment: { LATCHKEY_SERVER: at.address, LATCHKEY_MANAGEMENT_KEY: by } })
const apply = (file: string, ...options: string[]) => run(['apply', file, ...options])
const everything = async () =>
  (
    await service.database.query<{ n: number }>(
      "select count(*)::int as n from audit_events where kind <> 'management_key.network_added'",
    )
  )[0]?.n

it('the sample of the guide is planned, applied once, and then makes no difference', async () => {
  const file = write('sample.yaml', SAMPLE)
  const before = await everything()
  const planned = await apply(file, '--plan')
  expect(planned).toMatchObject({ status: 2, stderr: '' })
  expect(planned.stdout).toContain('add scope parcels:read: title "See your parcels"')
  expect(planned.stdout).toContain('add role clerk of harbour: scopes parcels:read')
  expect(planned.stdout).toContain('add application Display of harbour: allowed scopes parcels:read')
  expect(await everything()).toBe(before)

  const secrets = join(folder, 'secrets.jsonl')
  const applied = await apply(file, '--secrets-file', secrets)
  expect(applied, applied.stderr).toMatchObject({ status: 0 })
  const { secret, id } = JSON.parse(readFileSync(secrets, 'utf8'))
  expect([secret, statSync(secrets).mode & 0o777]).toEqual([expect.stringMatching(/^lks_/), 0o600])
  expect(applied.stdout).toContain(id)
  expect(applied.stdout + applied.stderr).not.toContain('lks_')

  const made = await everything()
  for (const options of [['--plan'], []])
    expect(await apply(file, ...options)).toMatchObject({ status: 0, stdout: 'No differences.\n' })
  expect(await everything()).toBe(made)
})

it('a change by hand is shown in words by --plan, and undone by the file', async () => {
  const file = write('sample.yaml', SAMPLE)
  await apply(file)
  const { items } = (await call('GET', '/accounts/harbour/applications')).body
  await call('PATCH', `/accounts/harbour/applications/${items[0].id}`, {
    allowed_scopes: ['parcels:read', 'parcels:write'],
  })
  await call('PATCH', '/accounts/harbour', { name: 'Harbour & Sons' })
  const planned = await apply(file, '--plan')
  expect(planned.status).toBe(2)
  expect(planned.stdout).toBe(
    'account harbour: name "Harbour & Sons" → "Harbour"\n' +
      'application Display of harbour: allowed scopes parcels:read parcels:write → parcels:read\n' +
      '2 changes; nothing was changed.\n',
  )
  const json = JSON.parse((await apply(file, '--plan', '--json')).stdout)
  expect(json).toMatchObject({
    applied: false,
    not_in_file: [],
    changes: [{ kind: 'account' }, { kind: 'application' }],
  })
  expect((await apply(file)).status).toBe(0)
  expect((await call('GET', '/accounts/harbour')).body.name).toBe('Harbour')
  expect((await apply(file, '--plan')).status).toBe(0)
})

it('what a section does not name is left alone, and deleted only with --prune', async () => {
  const file = write('sample.yaml', SAMPLE)
  await apply(file)
  await call('POST', '/accounts/harbour/roles', { name: 'guest', scopes: [] })
  await call('POST', '/accounts/harbour/applications', { name: 'Old', allowed_scopes: [] })
  const left = await apply(file, '--plan')
  expect(left).toMatchObject({ status: 0 })
  expect(left.stdout).toContain('(not in the file, left alone: role guest of harbour)')
  const planned = await apply(file, '--plan', '--prune')
  expect(planned).toMatchObject({ status: 2 })
  expect(planned.stdout).toContain('delete role guest of harbour\ndelete application Old of harbour\n')
  const withoutSections = write('short.yaml', 'accounts:\n  harbour:\n    name: Harbour\n')
  expect(await apply(withoutSections, '--prune')).toMatchObject({ status: 0, stdout: 'No differences.\n' })

  expect((await apply(file, '--prune')).status).toBe(0)
  const names = async (path: string) =>
    (await call('GET', `/accounts/harbour/${path}`)).body.items.map(({ name }: { name: string }) => name)
  expect([await names('roles'), await names('applications')]).toEqual([['administrator', 'clerk'], ['Display']])
})

it.each([
  [
    'accounts:\n  harbour:\n    name: Harbour\n    role: {}\n',
    4,
    /There is no such member\. Allowed: name, external_id/,
  ],
  ['scopes:\n  "a b":\n    title: x\n', 2, /a-z, 0-9/],
  ['scopes:\n  late:read:\n    title: 7\n', 3, /has to be a text; put it in quotes/],
  ['scopes:\n  late:read: {}\n', 2, /The member title is missing/],
  ['scopes:\n  late:read:\n    title: x\n  late:read:\n    title: y\n', 4, /unique/],
  [
    'accounts:\n  new-one:\n    name: New\n    roles:\n      clerk:\n        scopes: [nothing:read]\n',
    6,
    /Not in the scope catalogue: nothing:read\. Scopes are: .*parcels:read/,
  ],
  [
    'scopes:\n  late:read:\n    title: x\n  parcels:read:\n    title: x\n    dangerous: true\n',
    6,
    /dangerous is no and cannot be changed/,
  ],
  ['scopes:\n  late:read:\n    title: x\naccounts:\n  www:\n    name: New\n', 5, /reserved/],
  [
    'accounts:\n  harbour:\n    name: Harbour\n    applications:\n      Display:\n        allowed_scopes: []\n        redirect_uris: ["http://far.example/"]\n',
    7,
    /cannot be a redirect address/,
  ],
  [
    'scopes:\n  late:read:\n    title: x\naccounts:\n  other:\n    name: Other\n    external_id: harbour-1\n',
    5,
    /exists already/,
  ],
])('a wrong file changes nothing, and its line and remedy are named: %j', async (text, line, message) => {
  await apply(write('sample.yaml', SAMPLE))
  const before = await everything()
  const file = write('wrong.yaml', text)
  const { status, stdout, stderr } = await apply(file)
  expect([status, stdout]).toEqual([1, ''])
  expect(stderr).toContain(`${file}:${line}: `)
  expect(stderr).toMatch(message)
  expect(await everything()).toBe(before)
})

it('an export, applied to an empty service and exported again, is the same file', async () => {
  await apply(write('sample.yaml', SAMPLE))
  const exported = await run(['export'])
  expect(exported.status, exported.stderr).toBe(0)
  expect(exported.stdout).not.toMatch(/lks_|lkm_/)
  const empty = await startTestService()
  try {
    const { key: other } = await makeManagementKey(empty)
    const file = write('exported.yaml', exported.stdout)
    const applied = await run(['apply', file, '--prune'], empty, other)
    expect(applied.status, applied.stderr).toBe(0)
    // The account that every service of a test starts with.
    const again = parse((await run(['export'], empty, other)).stdout)
    delete again.accounts[empty.account.slug]
    expect(stringify(again, { lineWidth: 0 })).toBe(exported.stdout)
    expect((await run(['apply', file, '--plan'], empty, other)).status).toBe(0)
  } finally {
    await empty.stop()
  }
})

it('a missing key, an unknown one, one without the scope and an unreachable service are told apart from differences', async () => {
  const file = write('sample.yaml', SAMPLE)
  const { key: reading } = await makeManagementKey(service, { scopes: ['accounts:read', 'scopes:read'] })
  const failed = async (environment: Record<string, string>) => {
    const { status, stderr } = await runCommand(['apply', file, '--plan'], { environment })
    return `${status} ${stderr}`
  }
  const at = { LATCHKEY_SERVER: service.address }
  expect(await failed(at)).toMatch(/^1 The management key is missing/)
  expect(await failed({ ...at, LATCHKEY_MANAGEMENT_KEY_FILE: join(folder, 'none') })).toMatch(/^1 .*cannot be read/)
  expect(await failed({ ...at, LATCHKEY_MANAGEMENT_KEY: 'lkm_wrong' })).toMatch(
    /^1 The management key is missing, unknown/,
  )
  expect(await failed({ ...at, LATCHKEY_MANAGEMENT_KEY: reading })).toMatch(/^1 .*roles:read/)
  expect(await failed({ LATCHKEY_SERVER: 'http://127.0.0.1:9', LATCHKEY_MANAGEMENT_KEY: key })).toMatch(/^5 /)
})

it('an existing secrets file is not overwritten, and nothing is changed', async () => {
  const text = 'accounts:\n  harbour:\n    name: Harbour\n    applications:\n      Fresh: { allowed_scopes: [] }\n'
  const secrets = write('taken.jsonl', 'kept')
  const before = await everything()
  const { status, stderr } = await apply(write('fresh.yaml', text), '--secrets-file', secrets)
  expect([status, stderr]).toEqual([1, expect.stringContaining('exists already')])
  expect([readFileSync(secrets, 'utf8'), await everything(), existsSync(secrets)]).toEqual(['kept', before, true])
})
