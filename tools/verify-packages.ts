/**
 * `npm run verify -- packages`: packs the three packages, installs each in an empty folder, with its dependencies from the registry, and lets it do
 * its first useful thing: the server migrates and serves, the client library and the command line log in there. Prints times and sizes.
 */
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createEmptyDatabase, engineUrl } from '../server/test/rig/engines/database.ts'
import { freePort } from './free-port.ts'
import { removeFolder } from './remove-folder.ts'

const ROOT = join(import.meta.dirname, '..')
/** Each with the packages of this repository that it depends on: they are not in the registry yet. */
const PACKAGES = { sdk: [], cli: ['sdk'], server: ['sdk'] } as const
type Name = keyof typeof PACKAGES

execFileSync('npm', ['run', '-s', 'build', '--workspace', 'cli'], { cwd: ROOT, stdio: 'inherit' })
const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'latchkey-packages-'))
const database = await createEmptyDatabase()
const running: ChildProcess[] = []

type Packed = { readonly filename: string; readonly size: number; readonly unpackedSize: number }

async function time<T>(step: string, work: () => Promise<T>): Promise<T> {
  const from = performance.now()
  const result = await work()
  console.log(`${((performance.now() - from) / 1000).toFixed(1).padStart(7)} s  ${step}`)
  return result
}

function expect(holds: boolean, sentence: string, shown: unknown = ''): void {
  if (!holds) throw new Error(`Not true: ${sentence}\n${typeof shown === 'string' ? shown : JSON.stringify(shown)}`)
}

async function pack(name: Name): Promise<Packed> {
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: join(ROOT, name),
    maxBuffer: 16 << 20,
  })
  const [packed] = JSON.parse(stdout) as [Packed]
  return packed
}

async function install(name: Name, packed: Record<Name, Packed>): Promise<string> {
  const own = join(folder, name)
  mkdirSync(own)
  writeFileSync(join(own, 'package.json'), '{ "private": true, "type": "module" }\n')
  const files = [...PACKAGES[name], name].map((each) => join(folder, packed[each].filename))
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error']
  await run('npm', ['install', ...flags, ...files], { cwd: own })
  return own
}

const kilobytes = (bytes: number) => `${Math.round(bytes / 1000)} kB`
const sizeOf = (path: string) => Number(execFileSync('du', ['-sb', path], { encoding: 'utf8' }).split('\t')[0])

/** Only what a user's machine has: nothing of this repository can be found through it. */
const bare = { PATH: process.env.PATH, HOME: folder, XDG_CONFIG_HOME: join(folder, 'config'), LATCHKEY_STORE: 'file' }

type Ended = { readonly status: number; readonly stdout: string; readonly stderr: string }

function latchkeyOf(own: string, environment: Record<string, string> = {}, input = '') {
  return async (...args: readonly string[]): Promise<Ended> => {
    const program = join(own, 'node_modules', '.bin', 'latchkey')
    const ended = run(program, args, { cwd: own, env: { ...bare, ...environment } })
    ended.child.stdin?.end(input)
    return ended.then(
      ({ stdout, stderr }) => ({ status: 0, stdout, stderr }),
      ({ code, stdout, stderr }) => ({ status: code, stdout, stderr }),
    )
  }
}

async function serve(own: string) {
  const port = await freePort()
  const address = `http://localhost:${port}`
  const started = { DATABASE_URL: database.url, REDIS_URL: engineUrl('REDIS_URL'), PUBLIC_URL: address }
  const key = await latchkeyOf(own)('key', 'create')
  const environment = { ...started, PORT: String(port), LATCHKEY_KEYS: key.stdout.trim(), POLL_INTERVAL: '1' }
  const latchkey = latchkeyOf(own, environment)
  const done = async (...args: readonly string[]) => {
    const ended = await latchkey(...args)
    expect(ended.status === 0, `latchkey ${args.join(' ')} succeeds`, ended)
    return ended.stdout
  }
  await done('migrate')
  await done('scope', 'create', 'orders:read', '--title', 'See orders')
  await done('account', 'create', '--slug', 'acme', '--name', 'Acme', '--administrator', 'ann@acme.example')
  const application = ['--account', 'acme', '--name', 'Program', '--scopes', 'orders:read', '--device-flow', '--public']
  const { id } = JSON.parse(await done('app', 'create', ...application, '--json'))
  const program = join(own, 'node_modules', '@latchkey', 'server', 'dist', 'latchkey.js')
  running.push(
    spawn(process.execPath, [program, 'serve'], { cwd: own, env: { ...bare, ...environment }, stdio: 'ignore' }),
  )
  for (let tries = 0; ; tries += 1) {
    const ready = await fetch(`${address}/health/ready`).catch(() => null)
    if (ready?.ok) break
    expect(tries < 300, 'the server becomes ready')
    await sleep(100)
  }
  const grant = (code: string) => done('code', 'grant', code, '--account', 'acme', '--user', 'ann@acme.example')
  return { address, id: id as string, grant }
}

type Served = Awaited<ReturnType<typeof serve>>

/** The device flow, with the library as it was installed. */
async function useLibrary(own: string, { address, id, grant }: Served): Promise<void> {
  const program = `
    import { createClient } from '@latchkey/sdk'
    const client = createClient({ baseUrl: '${address}', appId: '${id}' })
    const session = await client.device.start({ variant: '${variant()}' })
    console.log(session.userCode)
    await session.wait()
    const me = await client.fetch('${address}/1/me')
    console.log(await me.text())`
  writeFileSync(join(own, 'program.js'), program)
  const child = spawn(process.execPath, ['program.js'], { cwd: own, env: bare, stdio: ['ignore', 'pipe', 'inherit'] })
  let shown = ''
  child.stdout.on('data', (data) => {
    const first = shown === ''
    shown += data
    if (first) void grant(shown.trim())
  })
  const [status] = await once(child, 'close')
  expect(status === 0 && /"account":"acme"/.test(shown), 'the library gets a token set that the service accepts', shown)
}

/** As the first example of its README writes it. */
function variant(): string {
  const [, found = ''] = /variant: '(\w+)'/.exec(readFileSync(join(ROOT, 'sdk/README.md'), 'utf8')) ?? []
  return found
}

async function useCommandLine(own: string, { address, id, grant }: Served): Promise<void> {
  const latchkey = latchkeyOf(own)
  const { version } = JSON.parse(readFileSync(join(ROOT, 'cli/package.json'), 'utf8'))
  expect((await latchkey('--version')).stdout === `${version}\n`, 'latchkey --version prints the version')
  const begun = await latchkey('login', '--no-wait', '--json', '--server', address, '--app', id)
  expect(begun.status === 8, 'login --no-wait ends with status 8', begun)
  const { user_code, resume_token } = JSON.parse(begun.stdout)
  await grant(user_code)
  const ended = await latchkeyOf(own, {}, resume_token)('login', '--resume', '--json', '--no-wait')
  expect(ended.status === 0, 'login --resume collects the login', ended)
  const { logins } = JSON.parse((await latchkey('status', '--json')).stdout)
  expect(logins[0]?.account === 'acme', 'latchkey status names the account', logins)
}

try {
  const packed = await time('all three are packed', async () => {
    const [sdk, cli, server] = await Promise.all([pack('sdk'), pack('cli'), pack('server')])
    return { sdk, cli, server }
  })
  const folders = {
    sdk: await time('@latchkey/sdk is installed', () => install('sdk', packed)),
    cli: await time('@latchkey/cli is installed', () => install('cli', packed)),
    server: await time('@latchkey/server is installed', () => install('server', packed)),
  }
  const served = await time('@latchkey/server migrates, serves and is ready', () => serve(folders.server))
  await time('@latchkey/sdk completes a device flow there', () => useLibrary(folders.sdk, served))
  await time('@latchkey/cli prints its version and logs in without waiting', () => useCommandLine(folders.cli, served))
  for (const name of Object.keys(PACKAGES) as Name[]) {
    const { size, unpackedSize } = packed[name]
    const installed = sizeOf(join(folders[name], 'node_modules'))
    const sizes = `${kilobytes(size)} packed, ${kilobytes(unpackedSize)} unpacked, ${kilobytes(installed)} with all dependencies`
    console.log(`@latchkey/${name.padEnd(7)} ${sizes}`)
  }
  console.log('All three packages work where nothing else is installed.')
} finally {
  for (const child of running) {
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
  await database.drop()
  removeFolder(folder)
}
