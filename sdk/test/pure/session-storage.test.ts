/** Credentials in a browser tab. Two tabs are two storages here, with Node's BroadcastChannel and locks between them. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { Store, TokenSet } from '../../src/index.ts'
import { importSdk } from '../rig/packed.ts'

const { sessionStorageStore } = await importSdk()

function openTab(copyOf = new Map<string, string>()): { readonly store: Store; readonly kept: Map<string, string> } {
  const kept = new Map(copyOf)
  const sessionStorage = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  }
  Object.defineProperty(globalThis, 'sessionStorage', { value: sessionStorage, configurable: true })
  onTestFinished(() => void Reflect.deleteProperty(globalThis, 'sessionStorage'))
  return { store: sessionStorageStore({ key: 'mine' }), kept }
}

const tokens = (number: number): TokenSet => ({
  variant: 'token_set',
  accessToken: `lka_${number}`,
  refreshToken: `lkr_${number}`,
  issuedAt: 1,
  expiresAt: 2,
  scope: ['a'],
  state: '',
})

test('what was written is read again after a reload, until it is cleared', async () => {
  const { store, kept } = openTab()
  expect(await store.read()).toBeNull()
  await store.write(tokens(1))
  expect(await openTab(kept).store.read()).toEqual(tokens(1))
  await store.clear()
  expect(kept.size).toBe(0)
})

test('a damaged entry can be replaced', async () => {
  const { store } = openTab(new Map([['mine', '{']]))
  await expect(store.read()).rejects.toMatchObject({ code: 'store' })
  await store.write(tokens(1))
  expect(await store.read()).toEqual(tokens(1))
})

test('a duplicated tab gets the refreshed set, and one with other credentials does not', async () => {
  const first = openTab()
  await first.store.write(tokens(1))
  const [copy, other] = [openTab(first.kept), openTab()]
  await other.store.write(tokens(7))
  await first.store.write(tokens(2))
  await expect.poll(() => copy.store.read()).toEqual(tokens(2))
  await sleep(20)
  expect(await other.store.read()).toEqual(tokens(7))
})

// Every browser has locks; Node 20 and Bun, which have no tabs either, do not.
test.runIf('navigator' in globalThis && 'locks' in navigator)('tabs exclude each other', async () => {
  const tabs = [openTab(), openTab()]
  let inside = 0
  const max = await Promise.all(
    [...tabs, ...tabs, ...tabs].map(({ store }) =>
      store.withLock(async () => {
        inside += 1
        await sleep(5)
        inside -= 1
        return inside
      }),
    ),
  )
  expect(max).toEqual([0, 0, 0, 0, 0, 0])
})

test('foreign content is not used', async () => {
  const { store, kept } = openTab()
  for (const text of ['{', '{"variant":"key"}']) {
    kept.set('mine', text)
    await expect(store.read()).rejects.toMatchObject({ code: 'store' })
  }
})

test('where there is no such storage, the error says so', () => {
  expect(() => sessionStorageStore()).toThrow(expect.objectContaining({ code: 'store' }))
})

test('where the browser blocks it, the error says so, and is one of ours', () => {
  const get = () => {
    throw new DOMException('denied', 'SecurityError')
  }
  Object.defineProperty(globalThis, 'sessionStorage', { get, configurable: true })
  onTestFinished(() => void Reflect.deleteProperty(globalThis, 'sessionStorage'))
  const refused = expect.objectContaining({ code: 'store', message: expect.stringContaining('does not let') })
  expect(() => sessionStorageStore()).toThrow(refused)
})
