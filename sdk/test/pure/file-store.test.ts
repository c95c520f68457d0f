/** Credentials in a file: readable by the owner only, written atomically, and by one process at a time. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Credentials } from '../../src/index.ts'
import { failure } from '../rig/failure.ts'
import { entryOf, importNode } from '../rig/packed.ts'

const { fileStore } = await importNode()

const key = (number: number): Credentials => ({
  variant: 'access_key',
  accessKey: `lkk_${number}`,
  scope: ['a'],
  state: 'ü',
})

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'latchkey-store-'))
  onTestFinished(() => rm(made, { recursive: true, force: true }))
  return made
}

/** How this runtime is started with a program. */
const EVALUATE = 'Deno' in globalThis ? ['eval'] : 'Bun' in globalThis ? ['-e'] : ['--input-type=module', '-e']

/** A separate process that uses the store. */
async function program(path: string, code: string): Promise<ChildProcess> {
  const start = `import { fileStore } from ${JSON.stringify(await entryOf('./node'))}
    const store = fileStore({ path: ${JSON.stringify(path)} })
    const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
    ${code}`
  const child = spawn(process.execPath, [...EVALUATE, start], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

test('what was written is read again, by another store of the same file, until it is cleared', async () => {
  const path = join(await folder(), 'a', 'b', 'credentials.json')
  expect(await fileStore({ path }).read()).toBeNull()
  await fileStore({ path }).write(key(1))
  await fileStore({ path }).write(key(2))
  expect(await fileStore({ path }).read()).toEqual(key(2))
  await fileStore({ path }).clear()
  await fileStore({ path }).clear()
  expect(await fileStore({ path }).read()).toBeNull()
})

test('only the owner can read the file and the created folder', async () => {
  const made = join(await folder(), 'mine')
  const path = join(made, 'credentials.json')
  await fileStore({ path }).write(key(1))
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect((await stat(made)).mode & 0o777).toBe(0o700)
  await chmod(path, 0o644)
  await fileStore({ path }).write(key(2))
  expect((await stat(path)).mode & 0o777).toBe(0o600)
})

test('a foreign file is not overwritten silently: reading it fails', async () => {
  const path = join(await folder(), 'credentials.json')
  for (const text of ['not json', '{"variant":"oauth"}', '[]', '"lka_1"']) {
    await writeFile(path, text)
    expect(await failure(fileStore({ path }).read())).toMatchObject({ code: 'store' })
  }
})

test('a writer that is killed leaves the old file or the new one, never a partial one', async () => {
  const path = join(await folder(), 'credentials.json')
  await fileStore({ path }).write(key(0))
  for (let round = 0; round < 8; round += 1) {
    const child = await program(
      path,
      `for (let n = 0; ; n += 1) {
        await store.write({ variant: 'access_key', accessKey: 'lkk_' + 'x'.repeat(200_000), scope: [], state: String(n) })
        if (n === 0) console.log('writing')
      }`,
    )
    if (child.stdout) await once(child.stdout, 'data')
    await new Promise((resolve) => setTimeout(resolve, 7 * round))
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(await fileStore({ path }).read()).toMatchObject({ accessKey: expect.stringMatching(/^lkk_x{200000}$/) })
  }
})

describe('the lock', () => {
  test('is held by one process at a time, and leaves no file', async () => {
    const made = await folder()
    const path = join(made, 'credentials.json')
    await fileStore({ path }).write(key(0))
    const count = `for (let n = 0; n < 25; n += 1) await store.withLock(async () => {
        const kept = await store.read()
        await sleep(1)
        await store.write({ ...kept, accessKey: 'lkk_' + (Number(kept.accessKey.slice(4)) + 1) })
      })`
    const children = await Promise.all(Array.from({ length: 4 }, () => program(path, count)))
    await Promise.all(children.map((child) => once(child, 'exit')))
    expect(await fileStore({ path }).read()).toMatchObject({ accessKey: 'lkk_100' })
    expect(await readdir(made)).toEqual(['credentials.json'])
  })

  test('of a process that died is taken over at once', async () => {
    const path = join(await folder(), 'credentials.json')
    const child = await program(path, `await store.withLock(() => { console.log('held'); return sleep(60_000) })`)
    if (child.stdout) await once(child.stdout, 'data')
    const waiting = fileStore({ path }).withLock(async () => 'mine')
    expect(await Promise.race([waiting, new Promise((resolve) => setTimeout(resolve, 300, 'theirs'))])).toBe('theirs')
    child.kill('SIGKILL')
    const long = new Promise((resolve) => setTimeout(resolve, 15_000, 'nobody’s'))
    expect(await Promise.race([waiting, long])).toBe('mine')
  })

  test('of another machine is taken over half a minute after its last update', async () => {
    const path = join(await folder(), 'credentials.json')
    const lock = `${path}.lock`
    await writeFile(lock, `${process.pid} another-${hostname()} 7`)
    const waiting = fileStore({ path }).withLock(async () => 'mine')
    expect(await Promise.race([waiting, new Promise((resolve) => setTimeout(resolve, 300, 'theirs'))])).toBe('theirs')
    const before = new Date(Date.now() - 31_000)
    await utimes(lock, before, before)
    expect(await waiting).toBe('mine')
  })

  test('that was taken over is not removed by its previous holder', async () => {
    const path = join(await folder(), 'credentials.json')
    await fileStore({ path }).withLock(() => writeFile(`${path}.lock`, 'somebody else'))
    expect(await readFile(`${path}.lock`, 'utf8')).toBe('somebody else')
  })

  test('is released when the work fails', async () => {
    const path = join(await folder(), 'credentials.json')
    const store = fileStore({ path })
    expect(await failure(store.withLock(() => Promise.reject(new Error('no'))))).toMatchObject({ message: 'no' })
    expect(await store.withLock(async () => 'mine')).toBe('mine')
  })
})
