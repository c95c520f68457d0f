/** `latchkey login --no-wait` and `--resume`: a script or an agent logs somebody in and never blocks. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { type MadeApplication, makeApplication } from '../rig/make.ts'
import { type Ended, type Home, makeHome, runCommand } from '../rig/process/command.ts'
import { startTestService, type TestService } from '../rig/service.ts'

let service: TestService
let program: MadeApplication
let home: Home
beforeAll(async () => {
  service = await startTestService({ POLL_INTERVAL: '1' }, { clock: true })
  program = await makeApplication(service.context.db, service.config, service.account.slug, { public: true })
  await service.context.applications.refresh()
})
beforeEach(() => {
  home = makeHome()
})
afterEach(() => home.remove())
afterAll(() => service.stop())

const folder = () => join(home.folder, 'config', 'latchkey')
const run = (args: readonly string[], input?: string) =>
  runCommand(args, { environment: home.environment, ...(input === undefined ? {} : { input }) })
const objectIn = ({ stdout }: Ended) => JSON.parse(stdout)

async function start(...args: string[]) {
  const chosen = ['--server', service.config.publicUrl, '--app', program.id]
  const ended = await run(['login', '--no-wait', '--json', ...chosen, ...args])
  expect([ended.status, ended.stderr]).toEqual([8, ''])
  return objectIn(ended)
}

it('prints code, address and resume token, stores nothing and exits with status 8', async () => {
  expect(await start()).toEqual({
    event: 'code',
    user_code: expect.stringMatching(/^\d{9}$/),
    verification_url: `${service.config.publicUrl}/activate`,
    expires_in: expect.any(Number),
    resume_token: expect.stringMatching(/^resume_[\w-]+$/),
  })
  expect(existsSync(folder())).toBe(false)
})

it('--resume collects after the decision, with the token from standard input', async () => {
  const { user_code, resume_token } = await start('--profile', 'second')
  expect(await service.grant(user_code)).toBe('granted')
  const ended = await run(['login', '--json', '--no-wait', '--resume'], `${resume_token}\n`)
  expect([ended.status, ended.stderr]).toEqual([0, ''])
  expect(objectIn(ended)).toMatchObject({ event: 'logged_in', profile: 'second', account: service.account.slug })
  expect(ended.stdout).not.toMatch(/lk[a-z]_[\w-]{8}/)
  expect((await run(['status', '--profile', 'second'])).status).toBe(0)
})

it('--resume waits for the decision; with --no-wait it polls once and prints a token to go on with', async () => {
  const { user_code, resume_token } = await start()
  const pending = await run(['login', '--resume', '--no-wait', '--json'], resume_token)
  expect(pending.status).toBe(8)
  expect(objectIn(pending)).toMatchObject({ event: 'pending', user_code, resume_token: expect.any(String) })
  expect(existsSync(folder())).toBe(false)
  const waiting = run(['login', '--resume'], objectIn(pending).resume_token)
  expect(await service.grant(user_code)).toBe('granted')
  const { status, stdout, stderr } = await waiting
  expect([status, stdout]).toEqual([0, expect.stringMatching(/^Logged in at /)])
  expect(stderr).toContain('Waiting for your decision')
})

it('a loop of --resume --no-wait never polls too early', async () => {
  let { user_code, resume_token } = await start()
  for (let round = 0; round < 4; round += 1) {
    resume_token = objectIn(await run(['login', '--resume', '--no-wait', '--json'], resume_token)).resume_token
  }
  const { session } = JSON.parse(Buffer.from(resume_token.replace('resume_', ''), 'base64url').toString())
  expect([session.userCode, session.slowDowns]).toEqual([user_code, 0])
})

it('a rejected and an expired code are reported as without --no-wait', async () => {
  const rejected = await start()
  await service.reject(rejected.user_code)
  expect((await run(['login', '--resume'], rejected.resume_token)).status).toBe(6)
  const expired = await start()
  await service.database.advance(601_000)
  expect((await run(['login', '--resume'], expired.resume_token)).status).toBe(7)
  expect(existsSync(folder())).toBe(false)
})

it('the words for people contain the command to go on with', async () => {
  const { status, stdout } = await run([
    'login',
    '--no-wait',
    '--server',
    service.config.publicUrl,
    '--app',
    program.id,
  ])
  expect([status, stdout]).toEqual([
    8,
    expect.stringMatching(
      /^Your code is \d{3} \d{3} \d{3}, valid until .*\n.*\n\n {2}echo resume_\S+ \| latchkey login --resume\n$/,
    ),
  ])
})

it.each([
  [['--resume'], 'x', 'This is not a resume token'],
  [['--resume'], 'resume_e30', 'This is not a resume token'],
  [['--resume', '--app', 'app_x'], '', "option '--resume' cannot be used with option '--app <id>'"],
  [['--resume', '--secret-stdin'], '', "option '--resume' cannot be used with option '--secret-stdin'"],
])('login %j with %j on standard input is refused', async (args, input, words) => {
  const { status, stderr } = await run(['login', ...args], input)
  expect([status, stderr]).toEqual([1, expect.stringContaining(words)])
})
