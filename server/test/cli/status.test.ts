/** `latchkey status|token|logout`: what a login is worth, and how it ends, at the service and here. */
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { removeGrant } from '../../src/flows/grants/connected-applications.ts'
import { type MadeApplication, makeApplication } from '../rig/make.ts'
import { type HttpProxy, startHttpProxy } from '../rig/network/http-proxy.ts'
import { type Ended, type Home, makeHome, runCommand, startCommand } from '../rig/process/command.ts'
import { startTestService, type TestService } from '../rig/service.ts'

let service: TestService
let program: MadeApplication
let proxy: HttpProxy
let home: Home
beforeAll(async () => {
  service = await startTestService({ POLL_INTERVAL: '1' })
  program = await makeApplication(service.context.db, service.config, service.account.slug, { public: true })
  await service.context.applications.refresh()
})
beforeEach(async () => {
  home = makeHome()
  proxy = await startHttpProxy(() => service.address)
})
afterEach(async () => {
  home.remove()
  await proxy.close().catch(() => {})
})
afterAll(() => service.stop())

const kept = (name = '') => join(home.folder, 'config', 'latchkey', 'profiles', 'default', name)
const run = (...args: string[]) => runCommand(args, { environment: home.environment })

async function login(args: string[] = [], given: Record<string, string> = {}): Promise<Ended> {
  const environment = { ...home.environment, LATCHKEY_SERVER: proxy.address, LATCHKEY_APP: program.id, ...given }
  const command = startCommand(['login', ...args], { environment })
  const [, digits = ''] = await command.until(/Your code\s+([\d ]+\d)/)
  expect(await service.grant(digits.replaceAll(' ', ''))).toBe('granted')
  return command.ended
}

async function me(credential: string): Promise<number> {
  return (await fetch(`${service.address}/1/me`, { headers: { authorization: `Bearer ${credential}` } })).status
}

/** As somebody does on their account's page. */
async function removeAccess(): Promise<void> {
  const [grant] = await service.database.query<{ id: string }>('select id from grants order by created_at desc limit 1')
  const removal = { by: service.user.id, grantId: grant?.id ?? '', asAdministrator: false, reported: false }
  expect(await removeGrant(service.context, removal)).toMatchObject({ outcome: 'removed' })
  await service.context.grantCache.pull()
}

describe('who is logged in', () => {
  it('is told which service, application, account, scope and until when, after the service was asked', async () => {
    expect((await login()).status).toBe(0)
    const { status, stdout } = await run('status')
    expect(status).toBe(0)
    expect(stdout.replace(/\d\d:\d\d, /, 'HH:MM, ')).toBe(`Logged in at ${proxy.address}.

  profile      default
  application  ${program.id}
  account      ${service.account.slug}
  user         ${service.user.id}
  scope        orders:read
  valid until  HH:MM, renewed automatically while in use
  stored in    ${kept('credentials.json')}
`)
    const shown = {
      profile: 'default',
      server: proxy.address,
      application: program.id,
      account: service.account.slug,
      user: service.user.id,
      grant: expect.stringMatching(/^grt_/),
      scope: 'orders:read',
      variant: 'token_set',
      expires_in: expect.any(Number),
      kept_in: kept('credentials.json'),
    }
    expect(JSON.parse((await run('status', '--json')).stdout)).toEqual({ current: 'default', logins: [shown] })
  })

  it('can hand the credential to other programs, and only that command prints it', async () => {
    await login()
    const { stdout } = await run('token')
    expect(stdout).toMatch(/^lka_\S+\n$/)
    expect(await me(stdout.trim())).toBe(200)
    expect(JSON.parse((await run('token', '--json')).stdout)).toEqual({ token: stdout.trim() })
  })

  it('is not logged in over it: the old access would be left behind', async () => {
    await login()
    const environment = { ...home.environment, LATCHKEY_SERVER: proxy.address, LATCHKEY_APP: program.id }
    expect(await runCommand(['login'], { environment })).toMatchObject({
      status: 1,
      stdout: '',
      stderr: `You are already logged in at ${proxy.address}, in the account ${service.account.slug}. Run "latchkey logout" first, or choose another --profile.\n`,
    })
    expect((await run('status')).status).toBe(0)
  })
})

describe('who is not', () => {
  it('is told so, with status 4', async () => {
    for (const command of ['status', 'token']) {
      expect(await run(command)).toEqual({
        status: 4,
        stdout: '',
        stderr: 'You are not logged in. Run "latchkey login".\n',
      })
    }
    expect(await run('logout')).toMatchObject({ status: 0, stdout: 'Nothing to do: you are not logged in.\n' })
  })

  it('because the access was taken back, is told that, and can log in again', async () => {
    await login()
    await removeAccess()
    const { status, stderr } = await run('status')
    expect([status, stderr]).toEqual([4, expect.stringContaining('The access was revoked or has expired.')])
    expect((await login()).status).toBe(0)
    expect((await run('status')).status).toBe(0)
  })

  it('because somebody edited the file, is told which', async () => {
    await login()
    writeFileSync(kept('credentials.json'), 'x')
    const { status, stderr } = await run('status')
    expect([status, stderr]).toEqual([1, expect.stringContaining(`${kept('credentials.json')} is not a file that`)])
  })
})

describe('logging out', () => {
  it('ends the access at the service, then forgets it', async () => {
    await login()
    const credential = (await run('token')).stdout.trim()
    const { status, stdout } = await run('logout')
    expect([status, stdout]).toEqual([
      0,
      `Logged out: the access at ${proxy.address} was revoked and the stored login was deleted.\n`,
    ])
    expect(existsSync(kept())).toBe(false)
    await expect.poll(() => me(credential), { timeout: 30_000 }).toBe(401)
    const [grant] = await service.database.query('select revoked_at from grants order by created_at desc limit 1')
    expect(grant).toEqual({ revoked_at: expect.any(Date) })
  })

  it('of an application with a secret needs it once more, and says so', async () => {
    const { id, secret } = service.application
    await login([], { LATCHKEY_APP: id, LATCHKEY_SECRET: secret })
    const without = await run('logout')
    expect([without.status, without.stderr]).toEqual([1, expect.stringContaining('set it in LATCHKEY_SECRET')])
    expect(existsSync(kept('credentials.json'))).toBe(true)
    const environment = { ...home.environment, LATCHKEY_SECRET: secret }
    expect((await runCommand(['logout', '--json'], { environment })).stdout).toBe(
      `${JSON.stringify({ logged_out: true, profile: 'default', server: proxy.address })}\n`,
    )
  })

  it('says what is left when the service cannot be reached; --forget leaves nothing here', async () => {
    await login()
    const credential = JSON.parse(readFileSync(kept('credentials.json'), 'utf8')).accessToken
    await proxy.close()
    const away = await run('status')
    expect([away.status, away.stderr]).toEqual([
      5,
      `${proxy.address} could not be reached (ECONNREFUSED). Check the URL and your connection, then try again.\n`,
    ])
    const twin = makeHome()
    cpSync(join(home.folder, 'config'), join(twin.folder, 'config'), { recursive: true })
    const [ended, forgotten] = await Promise.all([
      run('logout'),
      runCommand(['logout', '--forget'], { environment: twin.environment }),
    ])
    expect([ended.status, ended.stdout]).toEqual([5, ''])
    expect(ended.stderr).toContain(`You are still logged in; the credentials are in ${kept('credentials.json')}.`)
    expect(ended.stderr).toContain('Run "latchkey logout" again later, or run it with --forget')
    expect(existsSync(kept('credentials.json'))).toBe(true)

    expect([forgotten.status, forgotten.stdout]).toEqual([5, ''])
    expect(forgotten.stderr).toContain('the access still exists at the service: remove it on your account’s page.')
    expect(existsSync(join(twin.folder, 'config', 'latchkey'))).toBe(false)
    twin.remove()
    expect(await me(credential)).toBe(200)
  })
})

it('a second program with the same code ends the waiting, before the application is suspended for it', async () => {
  const busy = await startHttpProxy(() => service.address, { pollTwice: true })
  const args = ['login', '--server', busy.address, '--app', program.id]
  const { status, stderr } = await runCommand(args, { environment: home.environment })
  await busy.close()
  expect([status, stderr]).toEqual([1, expect.stringContaining('another program uses the same code. End it, then run')])
  expect(existsSync(kept())).toBe(false)
})
