/** The system keyring of Linux: a real Secret Service, gnome-keyring, on a message bus of its own. */
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { type MadeApplication, makeApplication } from '../rig/make.ts'
import { EXECUTABLE, type Home, makeHome, runCommand } from '../rig/process/command.ts'
import { startTestService, type TestService } from '../rig/service.ts'

let service: TestService
let program: MadeApplication
let home: Home
beforeAll(async () => {
  service = await startTestService({ POLL_INTERVAL: '1' })
  program = await makeApplication(service.context.db, service.config, service.account.slug, { public: true })
  await service.context.applications.refresh()
})
beforeEach(() => {
  home = makeHome()
})
afterEach(() => home.remove())
afterAll(() => service.stop())

const kept = () => join(home.folder, 'config', 'latchkey', 'profiles', 'default')
const environment = () => ({ ...home.environment, LATCHKEY_STORE: '' })
const chosen = () => ['--server', service.config.publicUrl, '--app', program.id]

async function startLogin(...args: string[]) {
  const words = ['login', '--no-wait', '--json', ...chosen(), ...args]
  const { status, stdout, stderr } = await runCommand(words, { environment: environment() })
  if (status !== 8) throw new Error(stderr)
  const { user_code, resume_token } = JSON.parse(stdout)
  expect(await service.grant(user_code)).toBe('granted')
  return resume_token as string
}

/** Runs commands one after the other, with this on standard input, on a message bus with an unlocked keyring. */
async function runWithKeyring(input: string, ...commands: readonly (readonly string[])[]): Promise<string> {
  const latchkey = `'${process.execPath}' '${EXECUTABLE}'`
  const script = commands.map((words) => `${latchkey} ${words.map((word) => `'${word}'`).join(' ')}`).join('\n')
  const unlocked = `echo -n secret | gnome-keyring-daemon --unlock --components=secrets >/dev/null\n${script}`
  const child = spawn('dbus-run-session', ['--', 'bash', '-c', unlocked], {
    env: { PATH: process.env.PATH, ...environment(), XDG_RUNTIME_DIR: home.folder },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.end(input)
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  return `${stdout}${stderr}`
}

it('holds the credentials where there is one, and no file does', async () => {
  const token = await startLogin()
  const shown = await runWithKeyring(token, ['login', '--resume'], ['token'], ['status'], ['token', '--json'])
  expect(shown).toContain('  stored in    the system keyring\n')
  expect(shown).toMatch(/^lka_\S+$/m)
  expect(shown).not.toContain('no system keyring')
  expect(readdirSync(kept())).toEqual(['login.json'])
  expect(readFileSync(join(kept(), 'login.json'), 'utf8')).not.toMatch(/lk[a-z]_/)

  // Without the keyring, what it holds is out of reach; with it, logging out empties it.
  const without = await runCommand(['token'], { environment: environment() })
  expect([without.status, without.stderr]).toEqual([
    1,
    expect.stringContaining('The system keyring holds the credentials of this login and cannot be used'),
  ])
  const ended = await runWithKeyring('', ['logout'], ['status'])
  expect(ended).toContain('Logged out: ')
  expect(ended).toContain('You are not logged in.')
  expect(existsSync(kept())).toBe(false)
})

it('is not used with --store file', async () => {
  const token = await startLogin('--store', 'file')
  expect(await runWithKeyring(token, ['login', '--resume'])).toContain(join(kept(), 'credentials.json'))
})

it('is missing: the credentials are in a file, and the command says so', async () => {
  const token = await startLogin()
  const { status, stdout, stderr } = await runCommand(['login', '--resume'], {
    environment: environment(),
    input: token,
  })
  expect([status, stdout]).toEqual([0, expect.stringContaining(join(kept(), 'credentials.json'))])
  expect(stderr).toContain('There is no system keyring here: the credentials are in a file that only you can read.')
})

it('is missing although --store keyring asks for it: nobody is logged in', async () => {
  await expect(startLogin('--store', 'keyring')).rejects.toThrow('There is no system keyring that this command can use')
})
