/** The lifetime of a token set, on a virtual clock. docs/interface/credentials.md, "Refresh". */
import { describe, expect, test } from 'vitest'
import type { Credentials, Store, TokenSet } from '../../src/index.ts'
import { failure } from '../rig/failure.ts'
import { importSdk } from '../rig/packed.ts'
import { ACCESS, json, KEY, lost, REFRESH, refusal, type Scripted, scripted, tokenSet } from '../rig/scripted.ts'

const { memoryStore } = await importSdk()

const HOUR = 3_600_000
const numbered = (n: number) => tokenSet({ access_token: `${ACCESS}${n}`, refresh_token: `${REFRESH}${n}` })

/** A client that holds a token set of an hour. */
async function holding(
  given: { store?: Store } = {},
): Promise<Scripted & { readonly store: Store; readonly held: TokenSet }> {
  const store = given.store ?? memoryStore()
  const service = scripted({ store })
  const now = service.clock.now()
  const held: TokenSet = {
    variant: 'token_set',
    accessToken: ACCESS,
    refreshToken: REFRESH,
    issuedAt: now,
    expiresAt: now + HOUR,
    scope: ['orders:read'],
    state: 'mine',
  }
  await store.write(held)
  return { ...service, store, held }
}

test('without credentials there is nothing to send', async () => {
  const { client } = scripted()
  expect(await client.credentials()).toBeNull()
  expect(await failure(client.bearer())).toMatchObject({ code: 'not_authorized' })
  expect(await client.hasGranted('orders:read')).toBe(false)
})

test('the granted scopes can be read', async () => {
  const { client } = await holding()
  expect(await client.hasGranted('orders:read')).toBe(true)
  expect(await client.hasGranted(['orders:read', 'orders:write'])).toBe(false)
})

describe('a token', () => {
  test('is used for most of its lifetime, and refreshed before it expires', async () => {
    const { asked, client, clock, next, store } = await holding()
    next(numbered(2))
    await clock.pass(HOUR - 6.5 * 60_000)
    expect(await client.bearer()).toBe(ACCESS)
    expect(asked).toHaveLength(0)
    await clock.pass(3 * 60_000)
    expect(await client.bearer()).toBe(`${ACCESS}2`)
    expect(asked).toMatchObject([
      {
        url: 'https://service.example/auth/oauth/refresh',
        form: { refresh_token: REFRESH, SVCsecret: expect.any(String) },
      },
    ])
    expect(await store.read()).toMatchObject({ refreshToken: `${REFRESH}2`, state: 'mine' })
  })

  test('with a short lifetime is refreshed in its last tenth', async () => {
    const { client, clock, next, store, held } = await holding()
    await store.write({ ...held, expiresAt: held.issuedAt + 60_000 })
    next(numbered(2))
    await clock.pass(52_000)
    expect(await client.bearer()).toBe(ACCESS)
    await clock.pass(4_000)
    expect(await client.bearer()).toBe(`${ACCESS}2`)
  })

  test('is refreshed once for many requests at the same time', async () => {
    const { asked, client, clock, next } = await holding()
    next(async () => {
      await clock.sleep(500)
      return numbered(2)
    })
    await clock.pass(HOUR)
    const bearers = await clock.during(Promise.all(Array.from({ length: 50 }, () => client.bearer())))
    expect(new Set(bearers)).toEqual(new Set([`${ACCESS}2`]))
    expect(asked).toHaveLength(1)
  })

  test('is refreshed once also if the store has no lock', async () => {
    const store: Store = { ...memoryStore(), withLock: (work) => work() }
    const { asked, client, clock, next } = await holding({ store })
    next(async () => {
      await clock.sleep(500)
      return numbered(2)
    })
    await clock.pass(HOUR)
    await clock.during(Promise.all(Array.from({ length: 50 }, () => client.bearer())))
    expect(asked).toHaveLength(1)
  })

  test('is refreshed once by two clients that share a store', async () => {
    const { client, clock, next, store, asked } = await holding()
    const other = scripted({ store, clock })
    next(numbered(2))
    other.next(numbered(3))
    await clock.pass(HOUR)
    expect(await clock.during(Promise.all([client.bearer(), other.client.bearer()]))).toEqual([
      `${ACCESS}2`,
      `${ACCESS}2`,
    ])
    expect(asked.length + other.asked.length).toBe(1)
  })

  test('is stored before it is used', async () => {
    const memory = memoryStore()
    const order: string[] = []
    const store: Store = {
      ...memory,
      write: async (credentials: Credentials) => {
        await memory.write(credentials)
        order.push('written')
      },
    }
    const { client, clock, next } = await holding({ store })
    client.on('tokens', () => order.push('told'))
    next(numbered(2), () => {
      order.push('used')
      return json(200, {})
    })
    await clock.pass(HOUR)
    await client.fetch('https://api.example/orders')
    expect(order).toEqual(['written', 'written', 'told', 'used'])
  })
})

describe('a corrected wall clock', () => {
  test('by years back does not extend a token by years', async () => {
    const { asked, client, clock, next, store, held } = await holding()
    await store.write({ ...held, issuedAt: held.issuedAt + 1e11, expiresAt: held.expiresAt + 1e11 })
    next(numbered(2))
    expect(await client.bearer()).toBe(`${ACCESS}2`)
    expect(asked).toHaveLength(1)
    expect(await store.read()).toMatchObject({ issuedAt: clock.now() })
  })

  test('by a few seconds, as between two machines, changes nothing', async () => {
    const { asked, client, store, held } = await holding()
    await store.write({ ...held, issuedAt: held.issuedAt + 30_000, expiresAt: held.expiresAt + 30_000 })
    expect(await client.bearer()).toBe(ACCESS)
    expect(asked).toHaveLength(0)
  })
})

describe('while the service cannot be reached', () => {
  test('a valid token is used, and no request waits longer than two seconds for a refresh', async () => {
    const { client, clock, next } = await holding()
    next(() => new Promise(() => {}))
    await clock.pass(HOUR - 60_000)
    const began = clock.now()
    expect(await clock.during(client.bearer())).toBe(ACCESS)
    expect(clock.now() - began).toBe(2_000)
  })

  test('a failed refresh is not retried with every request', async () => {
    const { asked, client, clock, next } = await holding()
    next(refusal('invalid_application', {}, 401))
    await clock.pass(HOUR - 60_000)
    for (let each = 0; each < 5; each += 1) expect(await clock.during(client.bearer())).toBe(ACCESS)
    expect(asked).toHaveLength(1)
    await clock.pass(11_000)
    await clock.during(client.bearer())
    expect(asked).toHaveLength(2)
  })

  test('a lost answer is requested again at once, within the grace period', async () => {
    const { asked, client, clock, next } = await holding()
    next(lost(), lost(), numbered(2))
    await clock.pass(HOUR)
    expect(await clock.during(client.bearer())).toBe(`${ACCESS}2`)
    expect(new Set(asked.map(({ form }) => form.refresh_token))).toEqual(new Set([REFRESH]))
  })

  test('is retried for half a minute, and then by the next call', async () => {
    const { asked, client, clock, next } = await holding()
    next(lost())
    await clock.pass(HOUR)
    expect(await failure(clock.during(client.bearer()))).toMatchObject({ code: 'network' })
    expect((asked.at(-1)?.at ?? 0) - (asked[0]?.at ?? 0)).toBeLessThan(25_000)
    expect(asked.length).toBeGreaterThan(4)
  })

  test('an aborted request does not abort the refresh that others wait for', async () => {
    const { client, clock, next } = await holding()
    next(
      async () => {
        await clock.sleep(1_000)
        return numbered(2)
      },
      json(200, {}),
    )
    await clock.pass(HOUR)
    const impatient = new AbortController()
    const gone = failure(client.fetch('https://api.example/orders', { signal: impatient.signal }))
    const patient = client.bearer()
    impatient.abort()
    expect(await gone).toMatchObject({ name: 'AbortError' })
    expect(await clock.during(patient)).toBe(`${ACCESS}2`)
  })
})

describe('a store that another process has written', () => {
  test('is read again under the lock: its newer token set is used, and nothing is sent', async () => {
    const store = memoryStore()
    const { asked, client, held } = await holding({
      store: {
        ...store,
        withLock: (work) =>
          store.withLock(async () => {
            await store.write({ ...held, accessToken: `${ACCESS}9`, refreshToken: `${REFRESH}9` })
            return work()
          }),
      },
    })
    expect(await client.refresh()).toMatchObject({ accessToken: `${ACCESS}9` })
    expect(asked).toEqual([])
  })

  test('is read again after the answer: a process that was frozen does not overwrite a newer token set', async () => {
    const { client, next, store, held } = await holding()
    next(async () => {
      await store.write({ ...held, accessToken: `${ACCESS}9`, refreshToken: `${REFRESH}9` })
      return numbered(2)
    })
    expect(await client.refresh()).toMatchObject({ accessToken: `${ACCESS}9` })
    expect(await store.read()).toMatchObject({ refreshToken: `${REFRESH}9` })
  })

  test('is read again before every attempt: a process that was frozen does not send an old refresh token', async () => {
    const { asked, client, clock, next, store, held } = await holding()
    next(async () => {
      await store.write({ ...held, accessToken: `${ACCESS}9`, refreshToken: `${REFRESH}9` })
      return lost()
    })
    expect(await clock.during(client.refresh())).toMatchObject({ accessToken: `${ACCESS}9` })
    expect(asked).toHaveLength(1)
  })
})

describe('when the grant has ended', () => {
  test('the application is notified once, and nothing more is sent', async () => {
    const { asked, client, clock, next, store, held } = await holding()
    const told: unknown[] = []
    client.on('reauthorize', (error) => told.push(error.code))
    next(refusal('invalid_grant', { 'x-request-id': 'req-3' }))
    await clock.pass(HOUR)
    for (let each = 0; each < 3; each += 1) {
      expect(await failure(client.bearer())).toMatchObject({ code: 'reauthorize', requestId: 'req-3' })
    }
    expect(told).toEqual(['reauthorize'])
    expect(asked).toHaveLength(1)
    await store.write({ ...held, refreshToken: `${REFRESH}new`, expiresAt: clock.now() + HOUR })
    expect(await client.bearer()).toBe(ACCESS)
  })

  test('it has not, if another process refreshed it meanwhile', async () => {
    const { client, clock, next, store, held } = await holding()
    next(async () => {
      await store.write({
        ...held,
        accessToken: 'lka_theirs',
        refreshToken: 'lkr_theirs',
        expiresAt: clock.now() + HOUR,
      })
      return refusal('invalid_grant')
    })
    await clock.pass(HOUR)
    expect(await client.bearer()).toBe('lka_theirs')
  })
})

describe('a store that fails', () => {
  const failing = (times: number): Store => {
    const memory = memoryStore()
    let left = -1
    return {
      ...memory,
      write: async (credentials) => {
        left = left === -1 ? times : left
        // The first write is the test's own.
        if ((await memory.read()) !== null && left > 0) {
          left -= 1
          throw Object.assign(new Error(`no space for ${JSON.stringify(credentials)}`), { code: 'ENOSPC' })
        }
        await memory.write(credentials)
      },
    }
  }

  test('has its own error, and the new set is not lost: it is written again', async () => {
    const { asked, client, clock, next, store } = await holding({ store: failing(1) })
    next(numbered(2))
    await clock.pass(HOUR)
    const error = await failure(client.bearer())
    expect(error).toMatchObject({ code: 'store', message: 'The store could not be read or written (ENOSPC).' })
    expect(await client.bearer()).toBe(`${ACCESS}2`)
    expect(asked).toHaveLength(1)
    expect(await store.read()).toMatchObject({ refreshToken: `${REFRESH}2` })
  })

  test('and one with foreign content is not used', async () => {
    const { client, store } = await holding()
    await store.write({ variant: 'token_set', accessToken: 7 } as never)
    expect(await failure(client.bearer())).toMatchObject({ code: 'store' })
  })
})

describe('an access key', () => {
  const key: Credentials = { variant: 'access_key', accessKey: KEY, scope: ['orders:read'], state: 'mine' }

  test('is rotated, and the new one is stored', async () => {
    const store = memoryStore(key)
    const { asked, client, clock, next } = scripted({ store })
    next(lost(), json(200, { access_key: `${KEY}2`, scope: 'orders:read', overlap: 86400 }))
    const rotated = await clock.during(client.rotateKey())
    expect(rotated).toEqual({ ...key, accessKey: `${KEY}2` })
    expect(await store.read()).toEqual(rotated)
    expect(asked).toMatchObject(
      [1, 2].map(() => ({ url: 'https://service.example/auth/key/rotate', form: { access_key: KEY } })),
    )
  })

  test('that is no longer valid has to be requested again, and a token set has none', async () => {
    const { client, next } = scripted({ store: memoryStore(key) })
    next(refusal('invalid_grant'))
    expect(await failure(client.rotateKey())).toMatchObject({ code: 'reauthorize' })
    expect(await failure((await holding()).client.rotateKey())).toMatchObject({ code: 'not_authorized' })
  })
})

describe('revoking', () => {
  test('revokes at the service and clears the store', async () => {
    const { asked, client, next, store } = await holding()
    next(json(200, {}))
    await client.revoke()
    expect(asked).toMatchObject([{ url: 'https://service.example/auth/oauth/revoke', form: { token: REFRESH } }])
    expect(await store.read()).toBeNull()
    await client.revoke()
    expect(asked).toHaveLength(1)
  })

  test('does the same for an access key', async () => {
    const { asked, client, next, store } = await holding()
    await store.write({ variant: 'access_key', accessKey: KEY, scope: [], state: '' })
    expect(await client.bearer()).toBe(KEY)
    next(json(200, {}))
    await client.revoke()
    expect(asked).toMatchObject([{ url: 'https://service.example/auth/key/revoke', form: { access_key: KEY } }])
    expect(await store.read()).toBeNull()
  })

  test('clears nothing that the service did not revoke', async () => {
    const { client, clock, next, store } = await holding()
    next(refusal('unavailable', {}, 503))
    expect(await failure(clock.during(client.revoke()))).toMatchObject({ code: 'unavailable' })
    expect(await store.read()).not.toBeNull()
  })
})

// Unhandled rejections are reported where Node, Deno and Bun report them.
test.runIf('process' in globalThis)('a failing listener loses no token set', async () => {
  const { client, clock, next } = await holding()
  const seen: unknown[] = []
  const note = (error: unknown) => seen.push(error)
  process.on('uncaughtException', note)
  const stop = client.on('tokens', () => {
    throw new Error('a bug of the application')
  })
  next(numbered(2), numbered(3))
  await clock.pass(HOUR)
  expect(await client.bearer()).toBe(`${ACCESS}2`)
  stop()
  await clock.pass(HOUR)
  expect(await client.bearer()).toBe(`${ACCESS}3`)
  process.off('uncaughtException', note)
  expect(seen).toHaveLength(1)
})
