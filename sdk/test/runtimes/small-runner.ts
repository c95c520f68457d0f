/**
 * Replaces `vitest` where it does not run: Node 20, Deno, Bun, a page. The matchers are vitest's own; this file collects
 * the tests of the files that were bundled with it and runs them one after the other.
 */
import { chai, JestAsymmetricMatchers, JestChaiExpect } from '@vitest/expect'
import { fn } from '@vitest/spy'

type Work = () => unknown
type Suite = { readonly name: string; readonly parts: (Test | Suite)[]; readonly hooks: Hooks }
type Test = { readonly name: string; readonly work: Work; readonly timeLimitMs: number }
type Hooks = Record<'beforeAll' | 'afterAll' | 'beforeEach' | 'afterEach', Work[]>

export type Told = { readonly passed: number; readonly failures: readonly string[] }

const newSuite = (name: string): Suite => {
  return { name, parts: [], hooks: { beforeAll: [], afterAll: [], beforeEach: [], afterEach: [] } }
}

let suite = newSuite('')
let finishing: Work[] = []

/** One file after the other, as vitest does: what a file finds out while loading still holds when its tests run. */
export async function run(files: Readonly<Record<string, () => Promise<unknown>>>): Promise<Told> {
  const told = { passed: 0, failures: [] as string[] }
  for (const [name, load] of Object.entries(files)) {
    suite = newSuite(name)
    await load()
    await runSuite(suite, [], { beforeEach: [], afterEach: [] }, told)
  }
  return told
}

async function runSuite(
  { name, parts, hooks }: Suite,
  path: readonly string[],
  outer: Pick<Hooks, 'beforeEach' | 'afterEach'>,
  told: { passed: number; failures: string[] },
): Promise<void> {
  const here = [...path, name]
  const around = {
    beforeEach: [...outer.beforeEach, ...hooks.beforeEach],
    afterEach: [...hooks.afterEach, ...outer.afterEach],
  }
  for (const hook of hooks.beforeAll) await hook()
  for (const part of parts) {
    if ('parts' in part) {
      await runSuite(part, here, around, told)
      continue
    }
    finishing = []
    try {
      for (const hook of around.beforeEach) await hook()
      await within(part.timeLimitMs, part.work)
      told.passed += 1
    } catch (error) {
      told.failures.push(`${[...here, part.name].join(' > ')}\n${error instanceof Error ? error.stack : error}`)
    } finally {
      for (const hook of [...finishing.reverse(), ...around.afterEach]) await hook()
    }
  }
  for (const hook of hooks.afterAll) await hook()
}

// The real timers, before a test replaces them.
const { setTimeout, clearTimeout } = globalThis

async function within(ms: number, work: Work): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${ms} ms`)), ms)
  })
  try {
    await Promise.race([work(), late])
  } finally {
    clearTimeout(timer)
  }
}

/** Longer than vitest's: a page's timers take at least four milliseconds, and a fake clock needs hundreds of them. */
const DEFAULT_MS = 30_000
const add = (name: string, work: Work, timeLimitMs = DEFAULT_MS) => void suite.parts.push({ name, work, timeLimitMs })

// biome-ignore lint/suspicious/noExplicitAny: the rows of a table are whatever its tests take
type Row = any

const each =
  (take: (name: string, work: Work, ms?: number) => void) =>
  (rows: readonly Row[]) =>
  (name: string, work: (...row: Row[]) => unknown, ms?: number) => {
    for (const row of rows) {
      const cells = Array.isArray(row) ? row : [row]
      take(`${name} (${cells.filter((cell) => typeof cell === 'string').join(', ')})`, () => work(...cells), ms)
    }
  }

const runIf = (holds: unknown) => (holds ? add : () => undefined)
export const test = Object.assign(add, { each: each(add), runIf })

const addSuite = (name: string, work: Work) => {
  const before = suite
  suite = newSuite(name)
  before.parts.push(suite)
  work()
  suite = before
}
export const describe = Object.assign(addSuite, { each: each(addSuite) })

export const beforeAll = (work: Work) => void suite.hooks.beforeAll.push(work)
export const afterAll = (work: Work) => void suite.hooks.afterAll.push(work)
export const beforeEach = (work: Work) => void suite.hooks.beforeEach.push(work)
export const afterEach = (work: Work) => void suite.hooks.afterEach.push(work)
export const onTestFinished = (work: Work) => void finishing.push(work)

chai.use(JestChaiExpect)
chai.use(JestAsymmetricMatchers)

async function waitFor(check: Work, ms = 1_000): Promise<void> {
  const end = Date.now() + ms
  for (;;) {
    try {
      await check()
      return
    } catch (error) {
      if (Date.now() > end) throw error
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

const polled = (read: Work) => ({ toEqual: (what: unknown) => waitFor(async () => expect(await read()).toEqual(what)) })

// biome-ignore lint/suspicious/noExplicitAny: the tests are checked against vitest's own types
export const expect: any = Object.assign(chai.expect, { poll: polled })

const stubbed = new Map<string, PropertyDescriptor | undefined>()

function unstubAllGlobals(): void {
  for (const [name, was] of stubbed) {
    if (was) Object.defineProperty(globalThis, name, was)
    else Reflect.deleteProperty(globalThis, name)
  }
  stubbed.clear()
}

function stubGlobal(name: string, value: unknown): void {
  if (!stubbed.has(name)) stubbed.set(name, Object.getOwnPropertyDescriptor(globalThis, name))
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true, enumerable: true })
}

const TIMERS = ['setTimeout', 'setInterval', 'setImmediate']

export const vi = {
  fn,
  waitFor,
  stubGlobal,
  unstubAllGlobals,
  /** These never fire. */
  useFakeTimers: () => {
    for (const name of TIMERS) if (name in globalThis) stubGlobal(name, () => 0)
  },
  useRealTimers: unstubAllGlobals,
}
