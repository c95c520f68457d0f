/** Every `@example` in the comments of the library: its types hold, and it runs with the packed library and the real service. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { allow, makeDialogApplication } from '../../server/test/rig/dialog.ts'
import { CALLBACK, type MadeApplication, makeApplication } from '../../server/test/rig/make.ts'
import { startTestService, type TestService } from '../../server/test/rig/service.ts'
import { freePort } from '../../tools/free-port.ts'
import { removeFolder } from '../../tools/remove-folder.ts'
import { packedSdk } from './rig/packed.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const SOURCES = join(ROOT, 'sdk', 'src')

type Example = { readonly of: string; readonly code: string }

function readExamples(): readonly Example[] {
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  return files.sort().flatMap((name) => {
    const text = readFileSync(join(SOURCES, name), 'utf8')
    const blocks = text.matchAll(/^ \* @example .+\n \* ```ts\n([\s\S]*?)^ \* ```\n \*\/\nexport \w+ (\w+)/gm)
    return Array.from(blocks, ([, block = '', of = '']) => ({ of, code: block.replace(/^ \* ?/gm, '') }))
  })
}

const examples = readExamples()
/** What an example prints at its end. */
const PRINTS: Readonly<Record<string, RegExp>> = {
  createClient: /scope: 'orders:read'/,
  Device: /connected for orders:read/,
  Dialog: /connected for orders:read/,
  createGuard: /^401$/m,
  createVerifier: /^not allowed$/m,
  fileStore: /^true$/m,
  isLatchkeyError: /^Connect this device first\.$/m,
  createFakeService: /^orders:read$/m,
  requireAuth: /^401$/m,
}

const folder = mkdtempSync(join(tmpdir(), 'latchkey-examples-'))
let service: TestService
let resource: MadeApplication
/** With the dialog. */
let website: MadeApplication
beforeAll(async () => {
  service = await startTestService({ POLL_INTERVAL: '1' })
  const { context, config, account } = service
  resource = await makeApplication(context.db, config, account.slug, { deviceFlow: false, resourceServer: true })
  website = await makeDialogApplication(service)
  mkdirSync(join(folder, 'node_modules', '@latchkey'), { recursive: true })
  symlinkSync(join(await packedSdk(), 'node_modules/@latchkey/sdk'), join(folder, 'node_modules/@latchkey/sdk'))
  symlinkSync(join(ROOT, 'node_modules/@types'), join(folder, 'node_modules/@types'))
  symlinkSync(join(ROOT, 'node_modules/undici-types'), join(folder, 'node_modules/undici-types'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  for (const { of, code } of examples) writeFileSync(join(folder, `${of}.ts`), code)
})
afterAll(async () => {
  await service?.stop()
  removeFolder(folder)
})

test('there is an example for every main export', () => {
  expect(examples.map(({ of }) => of).sort()).toEqual(Object.keys(PRINTS).sort())
})

test('the types of all examples hold', async () => {
  const options = { module: 'nodenext', target: 'es2024', strict: true, noEmit: true, types: ['node'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, include: ['*.ts'] }))
  const tsc = promisify(execFile)(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder])
  const { stdout } = await tsc.catch((error: { stdout: string }) => error)
  expect(stdout).toBe('')
})

const applicationOf = (of: string) => (of === 'Dialog' ? website : service.application)

/** The example with the addresses and ids of this test. */
async function useOwn({ of, code }: Example): Promise<string> {
  return code
    .replaceAll('https://service.example', service.address)
    .replaceAll('app_n61zbfpywkrj', applicationOf(of).id)
    .replaceAll('app_k49jr2r5kvxb', resource.id)
    .replaceAll('3000', String(await freePort()))
}

/** What the page of an application posts after the user allowed the dialog; returns the server's answer. */
async function postDialogCode(port: string): Promise<string> {
  const { code, pkce } = await allow(service, { application: website })
  const body = JSON.stringify({ code, verifier: pkce.verifier, redirectUri: CALLBACK })
  return (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body })).text()
}

/** Grants every code that the example shows, and sends one to the server that it starts. */
async function run(file: string, of: string): Promise<string> {
  const secrets = { LATCHKEY_APP_SECRET: applicationOf(of).secret, LATCHKEY_RESOURCE_SECRET: resource.secret }
  const program: ChildProcess = spawn(process.execPath, [file], {
    env: { PATH: process.env.PATH, HOME: folder, ...secrets },
  })
  onTestFinished(() => void program.kill())
  let [text, granted] = ['', false]
  let answer: Promise<string> = Promise.resolve('')
  const listen = (chunk: Buffer) => {
    text += chunk
    const [, code] = /^Enter ((?:\d+ ?){3,5}) at/m.exec(text) ?? []
    const [, port] = /to port (\d+)/.exec(text) ?? []
    if ((code === undefined && port === undefined) || granted) return
    granted = true
    if (code !== undefined) void service.grant(code.replaceAll(' ', ''))
    if (port !== undefined) answer = postDialogCode(port)
  }
  program.stdout?.on('data', listen)
  program.stderr?.on('data', listen)
  const status = await new Promise((resolve) => program.on('close', resolve))
  expect(status, text).toBe(0)
  return text + (await answer)
}

test.each(examples)('the example of $of runs', async (example) => {
  const { of } = example
  const file = join(folder, `run-${of}.ts`)
  writeFileSync(file, await useOwn(example))
  expect(await run(file, of)).toMatch(PRINTS[of] ?? /^never$/)
})
