/** Several logins on one machine: `--profile`, `latchkey switch`, and `latchkey status`, which lists them. */
import { cpSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { loginFolderOf } from '../../src/cli/client/login-folder.ts'
import { type MadeApplication, type MadeUser, makeApplication, makeUser } from '../rig/make.ts'
import { type Ended, type Home, makeHome, runCommand, startCommand } from '../rig/process/command.ts'
import { startTestService, type TestService } from '../rig/service.ts'

let service: TestService
let program: MadeApplication
let ben: MadeUser
let home: Home
beforeAll(async () => {
  service = await startTestService({ POLL_INTERVAL: '1' })
  const { db } = service.context
  const allowedScopes = ['orders:read', 'email']
  program = await makeApplication(db, service.config, service.account.slug, { public: true, allowedScopes })
  ben = await makeUser(db, service.account.slug)
  await service.context.applications.refresh()
})
beforeEach(() => {
  home = makeHome()
})
afterEach(() => home.remove())
afterAll(() => service.stop())

const folder = (...names: string[]) => join(home.folder, 'config', 'latchkey', ...names)
const run = (...args: string[]) => runCommand(args, { environment: home.environment })
const json = async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout)

async function login(args: readonly string[] = [], user: MadeUser = service.user): Promise<Ended> {
  const chosen = ['--server', service.config.publicUrl, '--app', program.id]
  const command = startCommand(['login', ...chosen, ...args], { environment: home.environment })
  const [, digits = ''] = await command.until(/Your code\s+([\d ]+\d)/)
  expect(await service.grant(digits.replaceAll(' ', ''), user)).toBe('granted')
  return command.ended
}

describe('a machine with two logins', () => {
  const both = makeHome()
  mkdirSync(join(both.folder, 'config'))
  afterAll(() => both.remove())
  beforeEach(() => cpSync(join(both.folder, 'config'), join(home.folder, 'config'), { recursive: true }))

  it('keeps each under its name', async () => {
    expect((await login()).status).toBe(0)
    expect((await login(['--profile', 'work', '--scope', 'email'], ben)).status).toBe(0)
    cpSync(join(home.folder, 'config'), join(both.folder, 'config'), { recursive: true })
    expect(readdirSync(folder('profiles'))).toEqual(['default', 'work'])
  })

  it('uses the one that logged in last, lists both, and names the person who agreed to that', async () => {
    const { current, logins } = await json('status')
    expect(current).toBe('work')
    expect(logins).toEqual([
      expect.objectContaining({ profile: 'work', user: ben.id, email: ben.email }),
      expect.objectContaining({ profile: 'default', user: service.user.id }),
    ])
    expect(logins[1]).not.toHaveProperty('email')
    const { stdout } = await run('status')
    expect(stdout).toContain(`  user         ${ben.email} (${ben.id})\n`)
    expect(stdout).toContain(`  user         ${service.user.id}\n`)
  })

  it('uses another one after switch, in LATCHKEY_PROFILE or with --profile', async () => {
    expect(await run('switch', 'default')).toEqual({
      status: 0,
      stdout: `Commands now use the profile default, at ${service.config.publicUrl}.\n`,
      stderr: '',
    })
    expect((await json('status')).current).toBe('default')
    const tokens = [
      await json('token'),
      await json('token', '--profile', 'work'),
      JSON.parse(
        (await runCommand(['token', '--json'], { environment: { ...home.environment, LATCHKEY_PROFILE: 'work' } }))
          .stdout,
      ),
    ].map(({ token }) => token)
    expect(tokens[1]).toBe(tokens[2])
    expect(tokens[0]).not.toBe(tokens[1])
    const { logins } = await json('status', '--profile', 'work')
    expect(logins).toEqual([expect.objectContaining({ profile: 'work' })])
  })

  it('keeps the other one when one logs out, and uses it', async () => {
    expect(await json('logout')).toEqual({ logged_out: true, profile: 'work', server: service.config.publicUrl })
    expect(existsSync(folder('profiles', 'work'))).toBe(false)
    const { current, logins } = await json('status')
    expect([current, logins.length]).toEqual(['default', 1])
  })

  // The previous test revoked it. A revocation takes effect within two seconds.
  it('tells which one was revoked, with the exit status of the current one', async () => {
    await expect.poll(async () => (await run('status')).status, { timeout: 10_000 }).toBe(4)
    const ended = await run('status', '--json')
    expect([ended.status, ended.stderr]).toEqual([4, expect.stringContaining('The access was revoked')])
    expect(JSON.parse(ended.stdout).logins).toEqual([
      expect.objectContaining({ profile: 'work', exit_status: 4 }),
      expect.objectContaining({ profile: 'default', account: service.account.slug }),
    ])
    await run('switch', 'default')
    expect((await run('status')).status).toBe(0)
  })
})

describe('what cannot be done is refused with what can', () => {
  it.each([
    [['switch', 'moon'], 1, 'There is no login with the profile moon. Run "latchkey login".'],
    [['status', '--profile', '../x'], 1, '"../x" cannot be the name of a profile.'],
    [['token', '--profile', 'moon'], 4, 'You are not logged in. Run "latchkey login".'],
  ])('%j', async (args, status, words) => {
    const ended = await run(...args)
    expect([ended.status, ended.stdout, ended.stderr]).toEqual([status, '', expect.stringContaining(words)])
  })

  it('a profile without a login, beside others', async () => {
    await login()
    expect((await run('token', '--profile', 'moon')).stderr).toBe(
      'You are not logged in with the profile moon. Run "latchkey login --profile moon", or use one of: default.\n',
    )
    expect((await run('switch', 'moon')).stderr).toBe('There is no login with the profile moon. Use one of: default.\n')
  })
})

describe('logins are where the platform keeps the settings of a user', () => {
  const machine = { home: '/home/ann', configHome: '', appData: '' }
  it.each([
    ['linux', {}, '/home/ann/.config/latchkey'],
    ['linux', { configHome: '/etc/ann' }, '/etc/ann/latchkey'],
    ['linux', { configHome: 'relative' }, '/home/ann/.config/latchkey'],
    ['darwin', {}, '/home/ann/Library/Application Support/latchkey'],
    ['darwin', { configHome: '/etc/ann' }, '/etc/ann/latchkey'],
    ['win32', { home: 'C:\\Users\\ann' }, 'C:\\Users\\ann\\AppData\\Roaming\\latchkey'],
    ['win32', { appData: 'D:\\Roaming' }, 'D:\\Roaming\\latchkey'],
  ] as const)('%s with %j', (platform, given, expected) => {
    expect(loginFolderOf({ platform, ...machine, ...given })).toBe(expected)
  })
})
