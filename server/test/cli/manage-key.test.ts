/** `latchkey manage-key`: what an operator types to give a program access to the management API. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { makeEnvironment } from '../rig/make.ts'
import { manageClient } from '../rig/manage.ts'
import { runCommand } from '../rig/process/command.ts'
import { startTestService, type TestService } from '../rig/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

const manageKey = (...args: string[]) =>
  runCommand(['manage-key', ...args], { environment: makeEnvironment({ DATABASE_URL: service.database.url }) })

const statusWith = async (key: string) => (await manageClient(service.address, key)('GET', '/accounts')).status

it('a key is created, listed with its last use, rotated with an overlap and revoked', async () => {
  const args = ['--label', 'Billing', '--scopes', 'accounts:read,users:write', '--account', service.account.slug]
  const { id, key, expires_at } = JSON.parse((await manageKey('create', ...args, '--json')).stdout)
  expect([id, key]).toEqual([expect.stringMatching(/^mgk_/), expect.stringMatching(/^lkm_/)])
  expect(Date.parse(expires_at) - Date.now()).toBeGreaterThan(89 * 24 * 60 * 60 * 1000)
  expect(await statusWith(key)).toBe(200)

  const { keys } = JSON.parse((await manageKey('list', '--json')).stdout)
  expect(keys).toEqual([
    expect.objectContaining({
      ...{ id, label: 'Billing', account: service.account.slug, state: 'live', previous_valid_until: null },
      scopes: ['accounts:read', 'users:write'],
      last_used_at: expect.any(String),
    }),
  ])
  expect((await manageKey('list')).stdout).toContain(id)
  expect((await manageKey('list')).stdout).not.toContain(key)

  const rotated = JSON.parse((await manageKey('rotate', id, '--overlap-hours', '1', '--json')).stdout)
  expect([await statusWith(key), await statusWith(rotated.key)]).toEqual([200, 200])
  expect(await manageKey('revoke', id)).toMatchObject({ status: 0, stdout: `Revoked the management key ${id}.\n` })
  expect([await statusWith(key), await statusWith(rotated.key)]).toEqual([401, 401])
  expect(await manageKey('rotate', id)).toMatchObject({ status: 1, stderr: expect.stringContaining('revoked') })
})

it('a key can be limited to networks, which the list shows with the network of its last use', async () => {
  const args = ['--label', 'Directory', '--scopes', 'accounts:read', '--networks', '127.0.0.0/8,2001:db8::/32']
  const { id, key } = JSON.parse((await manageKey('create', ...args, '--json')).stdout)
  expect(await statusWith(key)).toBe(200)
  const { keys } = JSON.parse((await manageKey('list', '--json')).stdout)
  expect(keys.find((each: { id: string }) => each.id === id)).toMatchObject({
    networks: ['127.0.0.0/8', '2001:db8::/32'],
    last_network: '127.0.0.0/24',
  })
  const { stdout } = await manageKey('list')
  expect(stdout).toContain('from 127.0.0.0/24  within 127.0.0.0/8,2001:db8::/32')
  const elsewhere = ['--label', 'x', '--scopes', 'accounts:read', '--networks', '192.0.2.0/24']
  expect(await statusWith(JSON.parse((await manageKey('create', ...elsewhere, '--json')).stdout).key)).toBe(401)
  const refused = await manageKey('create', ...elsewhere.slice(0, -1), 'here')
  expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining('Networks are written as 192.0.2.0/24') })
})

it('unknown scopes, scopes beyond the reach, unknown accounts and long lifetimes are refused in words', async () => {
  const { slug } = service.account
  const refused = async (...args: string[]) => (await manageKey('create', '--label', 'x', ...args)).stderr
  expect(await refused('--scopes', 'everything')).toContain('Not scopes of a key: everything')
  expect(await refused('--scopes', 'scopes:write', '--account', slug)).toContain('whole service')
  expect(await refused('--scopes', 'users:read', '--account', 'nowhere')).toContain('no account "nowhere"')
  expect(await refused('--scopes', 'users:read', '--days', '400')).toContain('366 days')
})
