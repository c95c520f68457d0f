/** `latchkey login` as a person meets it, in a terminal and without one, against the real service. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type MadeApplication, makeApplication } from '../rig/make.ts'
import {
  type Command,
  type CommandOptions,
  type Home,
  makeHome,
  runCommand,
  startCommand,
} from '../rig/process/command.ts'
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

const kept = (name = '') => join(home.folder, 'config', 'latchkey', 'profiles', 'default', name)
const asProgram = () => ['--server', service.config.publicUrl, '--app', program.id]

function login(args: string[] = [], options: CommandOptions = {}): Command {
  const environment = { ...home.environment, ...options.environment }
  return startCommand(['login', ...asProgram(), ...args], { ...options, environment })
}
async function codeOf(command: Command): Promise<string> {
  const [, digits = ''] = await command.until(/Your code\s+(?:\S*m)?([\d ]+\d)/)
  return digits.replaceAll(' ', '')
}
const secretTexts = /lk[a-z]_[\w-]{8}/

describe('in a terminal', () => {
  it('the code comes first, in groups; Enter opens the page, q draws it, and a yes logs in', async () => {
    const command = login([], { terminal: true })
    const code = await codeOf(command)
    const page = `${service.config.publicUrl}/activate`
    expect(command.stdout().trimStart()).toMatch(/^Your code {3}\S*\d{3} \d{3} \d{3}\S* +valid until \d\d:\d\d\s/)
    await command.until(/Press Enter to open the page in your browser, q to show its QR code\./)
    expect(command.stdout()).toContain(`1  Open ${page} and sign in to your account`)
    await command.until(/Waiting for your decision, 9:5\d left/)
    expect(home.opened()).toBe('')
    command.type('q')
    await command.until(/[█▀▄]{20}/)
    command.type('\r')
    await expect.poll(home.opened).toBe(`${page}\n`)
    expect(await service.grant(code)).toBe('granted')

    const { status, stdout } = await command.ended
    expect(status).toBe(0)
    expect(stdout).toContain(`Logged in at ${service.config.publicUrl}.`)
    expect(stdout).toMatch(new RegExp(`account +${service.account.slug}`))
    expect(stdout).toMatch(/valid until +\d\d:\d\d, renewed automatically while in use/)
    expect(stdout).not.toMatch(secretTexts)
  })

  it('has one line that counts down, in its place', async () => {
    const command = login([], { terminal: true })
    await command.until(/left.*left/s)
    const [before = ''] = command.stdout().split('Waiting for your decision')
    expect(command.stdout().slice(before.length)).not.toContain('\n')
    command.type('\u0003')
    await command.ended
  })

  it('is in colour, and with NO_COLOR in none', async () => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal understands as colour
    const colour = /\u001b\[\d+m/
    for (const [environment, coloured] of [
      [{ TERM: 'xterm-256color' }, true],
      [{ TERM: 'xterm-256color', NO_COLOR: '1' }, false],
    ] as const) {
      const command = login([], { terminal: true, environment })
      await codeOf(command)
      expect(colour.test(command.stdout())).toBe(coloured)
      command.type('\u0003')
      await command.ended
    }
  })

  it('Ctrl-C ends it at once, says so, and leaves nothing behind', async () => {
    const command = login([], { terminal: true })
    const code = await codeOf(command)
    await command.until(/left/)
    expect(readdirSync(kept())).toEqual(['login.json'])
    command.type('\u0003')
    const { status, stdout } = await command.ended
    expect(status).toBe(130)
    expect(stdout).toContain(
      `Interrupted; nothing was stored on this machine. Do not enter ${code.replace(/\d{3}(?=\d{2})/g, '$& ')} any more; it expires by itself.`,
    )
    expect(existsSync(kept())).toBe(false)
  })

  it('without a browser the address is said once more', async () => {
    const command = login([], { terminal: true, environment: { PATH: '/usr/bin:/bin' } })
    await command.until(/left/)
    command.type('\r')
    await command.until(/No browser could be opened here\. Open \S+\/activate on any device\./)
    command.type('\u0003')
    await command.ended
  })
})

describe('without a terminal', () => {
  it('nothing is opened or redrawn, and only the outcome is on standard output', async () => {
    const command = login()
    await service.grant(await codeOf(command))
    const { status, stdout, stderr } = await command.ended
    expect(status).toBe(0)
    expect(stdout).toMatch(/^Logged in at /)
    expect(stderr).toMatch(/Waiting for your decision, until \d\d:\d\d\.\n$/)
    expect(stderr).not.toContain('Press Enter')
    expect(stdout + stderr).not.toContain('\u001b')
    expect(home.opened()).toBe('')
  })

  it('what is kept is for its owner only', async () => {
    const command = login()
    await service.grant(await codeOf(command))
    await command.ended
    expect(statSync(kept()).mode & 0o777).toBe(0o700)
    expect(readdirSync(kept()).sort()).toEqual(['credentials.json', 'login.json'])
    for (const name of readdirSync(kept())) expect(statSync(kept(name)).mode & 0o777).toBe(0o600)
    expect(readFileSync(kept('login.json'), 'utf8')).not.toMatch(secretTexts)
  })

  it('--json prints the code and then the outcome, a line each, and no credential', async () => {
    const command = login(['--json', '--scope', 'orders:write'])
    await service.grant(await codeOf(command))
    const { stdout } = await command.ended
    const [code, outcome] = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(code).toEqual({
      event: 'code',
      user_code: expect.stringMatching(/^\d{9}$/),
      verification_url: `${service.config.publicUrl}/activate`,
      expires_in: expect.any(Number),
    })
    expect(outcome).toMatchObject({
      event: 'logged_in',
      profile: 'default',
      server: service.config.publicUrl,
      application: program.id,
      account: service.account.slug,
      user: service.user.id,
      scope: 'orders:write',
      variant: 'token_set',
      kept_in: kept('credentials.json'),
    })
    expect(stdout).not.toMatch(secretTexts)
  })

  it('SIGTERM leaves nothing behind either', async () => {
    const command = login()
    await codeOf(command)
    command.kill('SIGTERM')
    expect((await command.ended).status).toBe(130)
    expect(existsSync(kept())).toBe(false)
  })
})

describe('what goes wrong is said with what to do', () => {
  it('a no', async () => {
    const command = login()
    await service.reject(await codeOf(command))
    const { status, stderr } = await command.ended
    expect([status, stderr]).toEqual([
      6,
      expect.stringContaining('The user who entered the code rejected the request.'),
    ])
    expect(existsSync(kept())).toBe(false)
  })

  it('a code that ran out', async () => {
    const command = login()
    await codeOf(command)
    await service.database.advance(601_000)
    const { status, stderr } = await command.ended
    expect([status, stderr]).toEqual([7, expect.stringContaining('Run "latchkey login" for a new one.')])
    expect(existsSync(kept())).toBe(false)
  })

  it.each([
    [['--server', 'http://127.0.0.1:2'], 5, 'http://127.0.0.1:2 could not be reached (ECONNREFUSED). Check the URL'],
    [['--app', 'app_aaaaaaaaaaaa'], 1, 'The service does not accept app_aaaaaaaaaaaa without a secret. Check the id.'],
    [['--scope', 'moon:land'], 1, 'may not request all of this scope. Request less with --scope'],
    [['--server', 'service'], 1, 'The URL of the service is not valid. Example: https://service.example.'],
    [['--secret', 'lks_x'], 1, "unknown option '--secret'"],
    [['--secret-stdin'], 1, 'There is no secret on standard input.'],
  ])('%j', async (args, status, words) => {
    const ended = await login(args).ended
    expect([ended.status, ended.stdout]).toEqual([status, ''])
    expect(ended.stderr).toContain(words)
    expect(existsSync(kept())).toBe(false)
  })

  it('which service and which application are asked for by name', async () => {
    const { environment } = home
    expect(await runCommand(['login'], { environment })).toMatchObject({
      status: 1,
      stderr:
        'The URL of the service is missing. Set it with --server or LATCHKEY_SERVER, for example https://service.example.\n',
    })
    const { stderr } = await runCommand(['login'], { environment: { ...environment, LATCHKEY_SERVER: 'http://x' } })
    expect(stderr).toMatch(/^The id of the application is missing\. Set it with --app or LATCHKEY_APP\./)
  })

  it('a place where nothing can be kept, before anybody is asked for anything', async () => {
    const count = async () => (await service.database.query('select from device_codes')).length
    const before = await count()
    const { status, stderr } = await login([], { environment: { XDG_CONFIG_HOME: '/dev/null' } }).ended
    expect([status, stderr]).toEqual([1, expect.stringContaining('so you were not logged in. Make it writable')])
    expect(await count()).toBe(before)
  })
})

describe('an application with a secret', () => {
  it.each([
    ['in LATCHKEY_SECRET', () => ({ environment: { LATCHKEY_SECRET: service.application.secret } }), []],
    ['on standard input', () => ({ input: `${service.application.secret}\n` }), ['--secret-stdin']],
  ] as const)('gets it %s, for a key that does not run out', async (_, given, args) => {
    const command = login(['--app', service.application.id, '--key', ...args], given())
    await service.grant(await codeOf(command))
    const { status, stdout, stderr } = await command.ended
    expect([status, stdout]).toEqual([0, expect.stringContaining('valid until  revoked')])
    expect(stdout + stderr).not.toMatch(secretTexts)
  })

  it('is told when the secret is wrong', async () => {
    const environment = { LATCHKEY_SECRET: `lks_${'a'.repeat(43)}` }
    const { status, stderr } = await login(['--app', service.application.id], { environment }).ended
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/^The service does not accept app_\w+ with this secret/),
    ])
  })
})
