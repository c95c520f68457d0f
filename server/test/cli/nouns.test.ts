/** `latchkey account|scope|role|user|app list|show|edit|…`: what an operator types, answered by the management API. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { makeAccount, makeUser } from '../rig/make.ts'
import { makeManagementKey } from '../rig/manage.ts'
import { runCommand } from '../rig/process/command.ts'
import { startTestService, type TestService } from '../rig/service.ts'

let service: TestService
let environment: Record<string, string>
beforeAll(async () => {
  service = await startTestService()
  const { key } = await makeManagementKey(service)
  environment = { LATCHKEY_SERVER: service.address, LATCHKEY_MANAGEMENT_KEY: key }
})
afterAll(() => service.stop())

const run = (...args: string[]) => runCommand(args, { environment })
const json = async (...args: string[]) => {
  const { status, stdout, stderr } = await run(...args, '--json')
  expect([status, stderr]).toEqual([0, ''])
  return JSON.parse(stdout)
}
const within = (...args: string[]) => [...args, '--account', service.account.slug]

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
    stderr: expect.stringContaining('no such'),
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
  expect(await json(...within('user', 'edit', user.email, '--name', 'Ann'))).toMatchObject({ id: user.id, name: 'Ann' })
  expect(await json(...within('user', 'disable', user.email))).toMatchObject({ status: 'disabled' })
  expect((await run(...within('user', 'list'))).stdout).toMatch(new RegExp(`${user.email} +Ann +disabled`))
  const asked = await run(...within('user', 'erase', user.email))
  expect(asked).toMatchObject({ status: 1, stderr: expect.stringContaining('The audit log keeps its events') })
  expect(await json(...within('user', 'erase', user.email, '--yes'))).toEqual({ id: user.id })
  expect(await run(...within('user', 'show', user.email))).toMatchObject({ status: 1 })
})

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
