/** `npm run example television`: runs one of examples/, with the applications that `npm run dev` registered for them. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const ENVIRONMENT = join(ROOT, '.engines', 'examples.env')

const EXAMPLES: Readonly<Record<string, readonly [program: string, file: string]>> = {
  television: [process.execPath, 'examples/television/server.ts'],
  kiosk: [process.execPath, 'examples/kiosk/kiosk.ts'],
  'command-line': [process.execPath, 'examples/command-line/orders.ts'],
  'web-app': [process.execPath, 'examples/web-app/server.ts'],
  api: [process.execPath, 'examples/api/server.ts'],
  'own-users': [process.execPath, 'examples/own-users/server.ts'],
  shell: ['bash', 'examples/shell/device-flow.sh'],
  python: ['python3', 'examples/python/device_flow.py'],
}

const [name = '', ...rest] = process.argv.slice(2)
const example = EXAMPLES[name]
if (!example) fail(`npm run example ${Object.keys(EXAMPLES).join(' | ')}`)
// Variables of this terminal take precedence.
if (existsSync(ENVIRONMENT)) process.loadEnvFile(ENVIRONMENT)
else if (!process.env.LATCHKEY_BASE_URL)
  fail('There is no service to try it with. First, in another terminal: npm run dev')

const [program, file] = example
if (program === process.execPath) {
  // The examples use the built library, like an application.
  const { status } = spawnSync('npm', ['run', '-s', 'build', '--workspace', 'sdk'], { cwd: ROOT, stdio: 'inherit' })
  if (status !== 0) fail('The client library does not build.')
}
const child = spawn(program, [join(ROOT, file), ...rest], { stdio: 'inherit' })
// Ctrl-C reaches both processes; a signal to this process is forwarded to the example.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
child.once('exit', (code, signal) => {
  process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1)
})

function fail(message: string): never {
  console.error(message)
  process.exit(1)
}
