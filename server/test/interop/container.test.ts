/**
 * Runs what deploy/container/Dockerfile and deploy/compose.yaml start, without containers: the same files, commands and
 * environment, as an unprivileged user who may read that one folder and write nowhere. docs/install.md says what this leaves open.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { parse } from 'yaml'
import { freePort } from '../../../tools/free-port.ts'
import { removeFolder } from '../../../tools/remove-folder.ts'
import { Device, post } from '../rig/device.ts'
import { engineUrl } from '../rig/engines/database.ts'
import type { MadeApplication } from '../rig/make.ts'
import { commandOf, environmentOf, named } from '../rig/process/dockerfile.ts'
import { accepting } from './accepting.ts'
import { lastStage, layOut } from './container-folder.ts'

const COMPOSE = parse(readFileSync(new URL('../../../deploy/compose.yaml', import.meta.url), 'utf8'), { merge: true })
const DRAIN_SECONDS = 2

const stage = lastStage()
const root = mkdtempSync(join(tmpdir(), 'latchkey-container-'))
const keys = mkdtempSync(join(tmpdir(), 'latchkey-keys-'))
const database = `test_${randomBytes(6).toString('hex')}`
const isRoot = process.getuid?.() === 0
/** Only root can switch users; other users are not root already. */
const [uid, gid] = isRoot ? userOfTheContainer() : [process.getuid?.() ?? 0, process.getgid?.() ?? 0]
let folder: string
let port: number
let application: MadeApplication

beforeAll(async () => {
  folder = layOut(stage, root)
  // A folder of mkdtemp is closed to others.
  for (const each of [root, keys]) chmodSync(each, 0o755)
  await asAdmin(`create database ${database}`)
  port = await freePort()
})
afterAll(async () => {
  await asAdmin(`drop database if exists ${database} with (force)`)
  removeFolder(root)
  removeFolder(keys)
})

function userOfTheContainer(): [number, number] {
  const [user = 0, group = 0] = (named(stage, 'USER').at(-1)?.rest ?? '').split(':').map(Number)
  return [user, group]
}

async function asAdmin(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: engineUrl('DATABASE_URL') })
  await client.connect()
  await client.query(sql)
  await client.end()
}

/** Environment of the image, then of compose; the engines, the port and the path of the key are the test's. */
function environment(): Record<string, string> {
  const url = new URL(engineUrl('DATABASE_URL'))
  url.pathname = `/${database}`
  const { LATCHKEY_KEYS_FILE, ...given } = COMPOSE.services.latchkey.environment
  return {
    ...environmentOf(stage),
    ...given,
    DATABASE_URL: url.href,
    REDIS_URL: engineUrl('REDIS_URL'),
    LATCHKEY_KEYS_FILE: LATCHKEY_KEYS_FILE.replace('/keys', keys),
    PUBLIC_URL: `http://localhost:${port}`,
    SMTP_URL: '',
    PORT: String(port),
    DRAIN_SECONDS: String(DRAIN_SECONDS),
    // Node's permission model then refuses other reads, and all writes.
    NODE_OPTIONS: `--permission --allow-addons --allow-fs-read=${root} --allow-fs-read=${keys} --no-warnings`,
  }
}

/** In the container `node` is the one of the image. */
const PATH = `${dirname(process.execPath)}:/usr/bin:/bin`

/** As that user, without capabilities. */
function start(words: readonly string[], given: Record<string, string> = environment()): ChildProcess {
  const bare = [
    'setpriv',
    `--reuid=${uid}`,
    `--regid=${gid}`,
    '--clear-groups',
    '--no-new-privs',
    '--bounding-set=-all',
  ]
  const [program = '', ...args] = isRoot ? [...bare, ...words] : words
  return spawn(program, args, { cwd: folder, env: { PATH, ...given }, stdio: ['ignore', 'pipe', 'pipe'] })
}

async function run(words: readonly string[]): Promise<{ status: number; said: string }> {
  const child = start(words)
  const said = Promise.all([child.stdout, child.stderr].map((stream) => (stream ? text(stream) : '')))
  const [status] = await once(child, 'close')
  return { status, said: (await said).join('') }
}

/** `docker run latchkey …` and `docker compose run latchkey …` replace CMD, not ENTRYPOINT. */
const latchkey = (...args: readonly string[]) => run([...commandOf(stage, 'ENTRYPOINT'), ...args])

it('a key is created once, readable by the service only', async () => {
  const [command = ''] = COMPOSE.services.key.command
  const make = async () => {
    const words = command.replaceAll('/keys', keys).replace('1000:1000', `${uid}:${gid}`)
    const child = spawn('sh', ['-c', words], { cwd: folder, env: { PATH }, stdio: 'ignore' })
    expect(await once(child, 'exit')).toEqual([0, null])
    return readFileSync(join(keys, 'latchkey'), 'utf8')
  }
  const key = await make()
  expect(key).toMatch(/^1:[\w-]{43}\n$/)
  expect(await make()).toBe(key)
  const { mode, uid: owner } = statSync(join(keys, 'latchkey'))
  expect([mode & 0o777, owner]).toEqual([0o600, uid])
})

it('an empty database is migrated, and a second run applies nothing', async () => {
  const first = await latchkey(...COMPOSE.services.migrate.command)
  expect(first.status, first.said).toBe(0)
  expect(first.said).toContain('Applied 0001_schema.sql')
  expect((await latchkey('migrate')).said).toContain('Nothing to do')
})

it('a scope, an account and an application are created by the same program', async () => {
  expect((await latchkey('scope', 'create', 'orders:read', '--title', 'See orders')).status).toBe(0)
  const account = ['account', 'create', '--slug', 'acme', '--name', 'Acme', '--administrator', 'ann@acme.example']
  expect((await latchkey(...account)).said).toContain(`http://acme.localhost:${port}/`)
  const television = ['--account', 'acme', '--name', 'TV', '--scopes', 'orders:read', '--device-flow', '--json']
  const { id, secret } = JSON.parse((await latchkey('app', 'create', ...television)).said)
  application = { id, secret }
})

it('the service starts, passes its health check, serves both hosts, and drains on SIGTERM', async () => {
  const child = start([...commandOf(stage, 'ENTRYPOINT'), ...commandOf(stage, 'CMD')])
  onTestFinished(() => void child.kill('SIGKILL'))
  const log = Promise.all([child.stdout, child.stderr].map((stream) => (stream ? text(stream) : '')))
  const exited = once(child, 'exit')
  const early = exited.then(async ([code]) => Promise.reject(new Error(`it ended with ${code}: ${await log}`)))
  await Promise.race([accepting(`127.0.0.1:${port}`), early])
  early.catch(() => {})
  const address = `http://127.0.0.1:${port}`
  expect((await post(address, '/health/ready', { method: 'GET' })).body).toEqual({ status: 'ready', gate: 'up' })
  expect((await run(commandOf(stage, 'HEALTHCHECK'))).status).toBe(0)

  const device = new Device(address, application)
  const code = await device.code()
  expect(
    (await latchkey('code', 'grant', code.user_code, '--account', 'acme', '--user', 'ann@acme.example')).status,
  ).toBe(0)
  expect((await device.poll(code.device_code)).body).toHaveProperty('access_token')

  const page = await post(address, '/sign-in', { method: 'GET', headers: { host: `acme.localhost:${port}` } })
  const sheet = /href="(\/assets\/[^"]+\.css)"/.exec(page.text)?.[1] ?? ''
  const style = await post(address, sheet, { method: 'GET', headers: { host: `acme.localhost:${port}` } })
  expect([page.status, style.status]).toEqual([200, 200])

  const asked = performance.now()
  child.kill('SIGTERM')
  await sleep(300)
  expect((await post(address, '/health/ready', { method: 'GET' })).status).toBe(503)
  expect((await run(commandOf(stage, 'HEALTHCHECK'))).status).toBe(1)
  expect((await device.request()).status).toBe(200)
  expect(await exited).toEqual([0, null])
  expect(performance.now() - asked).toBeGreaterThan(DRAIN_SECONDS * 1000)
  const [said = '', complained = ''] = await log
  expect(said).toContain('"event":"stopped"')
  expect(said + complained).not.toMatch(/ERR_ACCESS_DENIED|EACCES|EROFS/)
  // On a busy machine an engine may answer later than the service waits: it says so, and is right.
  const lines = `${said}\n${complained}`.split('\n')
  const errors = lines.filter((line) => line.includes('"level":"error"') && !line.includes('"engine_away"'))
  expect(errors).toEqual([])
})

it('SIGUSR1 opens no debugger of the process: it would read keys', async () => {
  const opensDebugger = async (options: readonly string[]) => {
    const waiting = "console.log('up'); setTimeout(() => process.exit(), 1000)"
    const child = spawn(process.execPath, ['--inspect-port=0', ...options, '-e', waiting])
    const complained = text(child.stderr)
    await once(child.stdout, 'data')
    child.kill('SIGUSR1')
    return (await complained).includes('Debugger listening')
  }
  const options = commandOf(stage, 'ENTRYPOINT').filter((word) => word.startsWith('--'))
  expect([await opensDebugger([]), await opensDebugger(options)]).toEqual([true, false])
})
