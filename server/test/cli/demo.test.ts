/** `latchkey demo`: a device and its user, in a newcomer's terminal, with every exchange explained. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { engineUrl } from '../rig/engines/database.ts'
import { makeEnvironment } from '../rig/make.ts'
import { runCommand, startCommand } from '../rig/process/command.ts'
import { startTestService, type TestService } from '../rig/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService({ POLL_INTERVAL: '1', REDIS_URL: engineUrl('REDIS_URL') })
})
afterAll(() => service.stop())

const environment = () => ({
  ...makeEnvironment({
    DATABASE_URL: service.database.url,
    REDIS_URL: engineUrl('REDIS_URL'),
    PUBLIC_URL: service.config.publicUrl,
  }),
  LATCHKEY_SERVER: service.config.publicUrl,
  LATCHKEY_APP: service.application.id,
  LATCHKEY_SECRET: service.application.secret,
})
const who = () => ['--account', service.account.slug, '--user', service.user.email]

it('with --grant plays both sides, one line per exchange, and gives the access back', async () => {
  const { status, stdout, stderr } = await runCommand(['demo', '--grant', ...who()], { environment: environment() })
  expect([status, stderr]).toEqual([0, ''])
  const exchanges = stdout.split('\n').filter((line) => line.includes(' -> '))
  expect(exchanges.map((line) => line.split(/ {2,}/)[0]).filter((line, index, all) => line !== all[index - 1])).toEqual(
    [
      'POST /auth/oauth/device/code -> 200',
      'POST /auth/oauth/device/polling -> 400 auth_pending',
      'POST /auth/oauth/device/polling -> 200',
      'GET /1/me -> 200',
      'POST /auth/oauth/revoke -> 200',
    ],
  )
  expect(stdout).toContain(`${service.user.email} enters the code on the account's page and grants orders:read.`)
  expect(stdout).not.toMatch(/lk[a-z]_/)
  expect(await service.database.query('select from grants where revoked_at is null')).toEqual([])
})

it('without it waits for a person, and takes a no for an outcome', async () => {
  const command = startCommand(['demo', ...who()], { environment: environment() })
  const [, code = ''] = await command.until(/code grant (\d{9}) --account/)
  expect(command.stdout()).toContain(`Open ${service.config.publicUrl}/activate, sign in, type the code and decide.`)
  await service.reject(code)
  const { status, stdout, stderr } = await command.ended
  expect([status, stderr]).toEqual([6, 'The user rejected the request.\n'])
  expect(stdout).toContain('400 auth_rejected')
})

it('--json explains on standard error, and prints one object', async () => {
  const args = ['demo', '--grant', '--json', ...who()]
  const { status, stdout, stderr } = await runCommand(args, { environment: environment() })
  expect(status).toBe(0)
  const { exchanges, ...access } = JSON.parse(stdout)
  expect(access).toMatchObject({ account: service.account.slug, scope: 'orders:read' })
  // Code, first poll, granted poll, check and revocation; on a slow machine more polls before the grant.
  expect(exchanges).toBeGreaterThanOrEqual(5)
  expect(stderr).toContain('POST /auth/oauth/device/code -> 200')
})

it('without a service says that there is none', async () => {
  const { status, stderr } = await runCommand(['demo', '--server', 'http://127.0.0.1:2'], {
    environment: environment(),
  })
  expect([status, stderr]).toEqual([5, expect.stringContaining('http://127.0.0.1:2 could not be reached')])
})
