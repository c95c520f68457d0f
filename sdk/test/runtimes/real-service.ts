/**
 * The library on this runtime and the real server, over HTTP: from the code request to a credential that works. `SERVICE` is put
 * in when this is bundled; its user is asked to decide at an address of its own.
 */
import { expect, test, vi } from 'vitest'
import type { Client, Variant } from '../../src/index.ts'
import { failure } from '../rig/failure.ts'
import { importSdk } from '../rig/packed.ts'

export type Service = {
  readonly address: string
  readonly appId: string
  readonly appSecret: string
  /** Takes POST /grant/{user code} and POST /reject/{user code}. */
  readonly userAddress: string
}
declare const SERVICE: Service

const { createClient, memoryStore } = await importSdk()

function newClient(store = memoryStore()): Client {
  const { address, appId, appSecret } = SERVICE
  return createClient({ baseUrl: address, appId, appSecret, store })
}

async function decide(decision: 'grant' | 'reject', userCode: string): Promise<void> {
  const answer = await fetch(`${SERVICE.userAddress}/${decision}/${userCode}`, { method: 'POST' })
  expect(await answer.text()).toBe(decision === 'grant' ? 'granted' : 'rejected')
}

test.each<Variant>(['token_set', 'access_key'])(
  'a code that the user grants while the device polls becomes a credential that works: %s',
  async (variant) => {
    const client = newClient()
    const session = await client.device.start({ variant, scope: ['orders:read'], state: 'küche & "bad"' })
    const heard: string[] = []
    for await (const { type } of session) {
      heard.push(type)
      if (heard.length === 1) await decide('grant', session.userCode)
    }
    expect(heard).toEqual(['pending', 'accepted'])
    expect(await session.wait()).toMatchObject({ variant, scope: ['orders:read'], state: 'küche & "bad"' })
    const answer = await client.fetch(`${SERVICE.address}/me`)
    expect([answer.status, await answer.json()]).toEqual([200, expect.objectContaining({ user: expect.any(String) })])
  },
)

test('an expired token set is refreshed, is valid, and ends when it is revoked', async () => {
  const store = memoryStore()
  const client = newClient(store)
  const session = await client.device.start({ variant: 'token_set' })
  await decide('grant', session.userCode)
  const first = await session.wait()
  await store.write({ ...first, expiresAt: Date.now() })
  expect((await client.fetch(`${SERVICE.address}/me`)).status).toBe(200)
  const second = await client.credentials()
  expect(second).toMatchObject({ accessToken: expect.not.stringMatching(first.accessToken) })
  await client.revoke()
  expect(await client.credentials()).toBeNull()
  const headers = { authorization: `Bearer ${second?.variant === 'token_set' && second.accessToken}` }
  // Within two seconds: docs/interface/credentials.md, "Check a credential".
  await vi.waitFor(async () => expect((await fetch(`${SERVICE.address}/me`, { headers })).status).toBe(401), 10_000)
})

test('a code that the user rejects ends with auth_rejected', async () => {
  const session = await newClient().device.start({ variant: 'token_set' })
  await decide('reject', session.userCode)
  expect(await failure(session.wait())).toMatchObject({ code: 'auth_rejected' })
})
