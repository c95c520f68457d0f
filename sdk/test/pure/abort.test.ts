/** Every method takes a signal, and rejects with its reason. */
import { describe, expect, test } from 'vitest'
import type { CallOptions, Client } from '../../src/index.ts'
import { failure } from '../rig/failure.ts'
import { importSdk } from '../rig/packed.ts'
import { ACCESS, json, KEY, REFRESH, scripted, tokenSet } from '../rig/scripted.ts'

const { createVerifier, memoryStore } = await importSdk()

const code = { code: 'lkc_x', verifier: 'x'.repeat(43), redirectUri: 'https://app.example/' }
const CALLS: [string, (client: Client, options: CallOptions) => Promise<unknown>][] = [
  ['credentials', (client, options) => client.credentials(options)],
  ['hasGranted', (client, options) => client.hasGranted('orders:read', options)],
  ['bearer', (client, options) => client.bearer(options)],
  ['refresh', (client, options) => client.refresh(options)],
  ['revoke', (client, options) => client.revoke(options)],
  ['fetch', (client, { signal }) => client.fetch('https://api.example/', signal ? { signal } : {})],
  ['device.start', (client, options) => client.device.start({ variant: 'token_set', ...options })],
  ['dialog.exchange', (client, options) => client.dialog.exchange(code, options)],
  ['dialog.complete', (client, options) => client.dialog.complete(options)],
  ['dialog.resumeAfterRedirect', (client, options) => client.dialog.resumeAfterRedirect(options)],
]

async function holding(variant: 'token_set' | 'access_key' = 'token_set') {
  const store = memoryStore()
  const service = scripted({ store })
  const now = service.clock.now()
  await store.write(
    variant === 'access_key'
      ? { variant, accessKey: KEY, scope: [], state: '' }
      : { variant, accessToken: ACCESS, refreshToken: REFRESH, issuedAt: now, expiresAt: now, scope: [], state: '' },
  )
  return { ...service, store }
}

test.each(CALLS)(
  '%s with a signal that has aborted sends nothing, and rejects with the reason',
  async (_name, call) => {
    const { asked, client } = await holding()
    expect(await failure(call(client, { signal: AbortSignal.abort('why') }))).toBe('why')
    expect(asked).toEqual([])
  },
)

test('rotateKey does, too', async () => {
  const { asked, client } = await holding('access_key')
  expect(await failure(client.rotateKey({ signal: AbortSignal.abort('why') }))).toBe('why')
  expect(asked).toEqual([])
})

test('verify does, too', async () => {
  const asked: unknown[] = []
  const verifier = createVerifier({
    baseUrl: 'https://service.example',
    resourceId: 'app_r',
    resourceSecret: 'lks_r',
    fetch: async (input) => {
      asked.push(input)
      return json(200, { active: false })
    },
  })
  expect(await failure(verifier.verify(ACCESS, { signal: AbortSignal.abort('why') }))).toBe('why')
  expect(asked).toEqual([])
  const over = new AbortController()
  const verifying = failure(verifier.verify(ACCESS, { signal: over.signal }))
  over.abort('why')
  expect(await verifying).toBe('why')
  expect(await verifier.verify(ACCESS)).toBeNull()
  expect(asked).toHaveLength(1)
})

describe('a signal that aborts while a refresh is under way', () => {
  test('rejects the call at once, and the new token set is stored nevertheless', async () => {
    const { asked, client, clock, next, store } = await holding()
    next(async () => {
      await clock.sleep(1_000)
      return tokenSet({ access_token: `${ACCESS}2`, refresh_token: `${REFRESH}2` })
    })
    const over = new AbortController()
    const refreshing = failure(client.refresh({ signal: over.signal }))
    await clock.pass(500)
    over.abort('why')
    expect(await refreshing).toBe('why')
    await clock.pass(1_000)
    expect(await store.read()).toMatchObject({ refreshToken: `${REFRESH}2` })
    expect(asked).toHaveLength(1)
  })
})
