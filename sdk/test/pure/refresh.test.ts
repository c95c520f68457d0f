/** `client.refresh()`, on a virtual clock. */
import { describe, expect, test } from 'vitest'
import { failure } from '../rig/failure.ts'
import { importSdk } from '../rig/packed.ts'
import { ACCESS, KEY, REFRESH, refusal, scripted, tokenSet } from '../rig/scripted.ts'

const { memoryStore } = await importSdk()

async function holding() {
  const store = memoryStore()
  const service = scripted({ store })
  const lifetime = { issuedAt: service.clock.now(), expiresAt: service.clock.now() + 3_600_000 }
  const tokens = { accessToken: ACCESS, refreshToken: REFRESH }
  await store.write({ variant: 'token_set', ...tokens, ...lifetime, scope: ['orders:read'], state: 'mine' })
  return { ...service, store }
}

describe('refresh()', () => {
  test('renews at once, once for all callers, although the token has not expired', async () => {
    const { asked, client, next, store } = await holding()
    next(tokenSet({ access_token: `${ACCESS}2`, refresh_token: `${REFRESH}2` }))
    const sets = await Promise.all([client.refresh(), client.refresh()])
    expect(sets.map(({ accessToken }) => accessToken)).toEqual([`${ACCESS}2`, `${ACCESS}2`])
    expect(await store.read()).toEqual(sets[0])
    expect(asked).toHaveLength(1)
  })

  test('needs a token set', async () => {
    const { client } = scripted()
    expect(await failure(client.refresh())).toMatchObject({ code: 'not_authorized' })
    const store = memoryStore()
    await store.write({ variant: 'access_key', accessKey: KEY, scope: [], state: '' })
    const key = scripted({ store })
    expect(await failure(key.client.refresh())).toMatchObject({ code: 'not_authorized' })
    expect(key.asked).toEqual([])
  })

  test('rejects with reauthorize when the access has ended, and asks once', async () => {
    const { asked, client, next } = await holding()
    next(refusal('invalid_grant'))
    for (let each = 0; each < 2; each += 1) {
      expect(await failure(client.refresh())).toMatchObject({ code: 'reauthorize' })
    }
    expect(asked).toHaveLength(1)
  })
})
