/** The verifier of a resource server: its requests, its cache, and their lifetime. */
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { createClient, createVerifier, type VerifierOptions } from '../../src/index.ts'
import { createFakeService, type FakeService } from '../../src/testing.ts'

const failing = (code: string) => expect.objectContaining({ name: 'LatchkeyError', code })

async function connect(variant: 'token_set' | 'access_key' = 'token_set', options: Partial<VerifierOptions> = {}) {
  const service = createFakeService()
  const client = createClient(service.clientOptions)
  const session = await client.device.start({ variant })
  service.grant(session.userCode)
  await session.wait()
  const bearer = await client.bearer()
  return { service, bearer, verifier: createVerifier({ ...service.verifierOptions, ...options }) }
}

const asked = ({ requests }: FakeService) => requests.filter(({ path }) => path === '/oauth/introspect').length

/** A well-formed credential that was never issued. */
const madeUp = (number: number) => `lka_${String(number).padStart(56, 'x')}`

describe('a credential', () => {
  test.each(['token_set', 'access_key'] as const)(
    'of the variant %s is whose it is, and carries what was granted',
    async (variant) => {
      const { service, bearer, verifier } = await connect(variant)
      expect(await verifier.verify(bearer)).toEqual({
        account: 'acme',
        user: expect.stringMatching(/^usr_/),
        accountExternalId: null,
        userExternalId: null,
        application: service.application.id,
        grant: expect.stringMatching(/^grt_[0-9a-z]{20}$/),
        scope: ['orders:read', 'orders:write'],
        variant,
        expiresAt: variant === 'access_key' ? null : expect.any(Number),
      })
    },
  )

  test('that is malformed causes no request', async () => {
    const { service, verifier } = await connect()
    for (const text of ['', 'x', 'lks_0123456789012345678901234567890123456789012', `lkr_${'x'.repeat(50)}`, 'lka_ü']) {
      expect(await verifier.verify(text)).toBeNull()
    }
    expect(asked(service)).toBe(0)
  })
})

describe('an answer is cached', () => {
  test('for ten seconds, or as configured; a revocation is noticed after that', async () => {
    const { service, bearer, verifier } = await connect()
    await verifier.verify(bearer)
    service.removeAccess()
    await service.clock.advance(9_999)
    expect(await verifier.verify(bearer)).not.toBeNull()
    expect(asked(service)).toBe(1)
    await service.clock.advance(1)
    expect(await verifier.verify(bearer)).toBeNull()
    expect(asked(service)).toBe(2)
  })

  test('never for more than thirty seconds', async () => {
    const { service, bearer, verifier } = await connect('access_key', { cacheSeconds: 30 })
    await verifier.verify(bearer)
    await service.clock.advance(29_999)
    await verifier.verify(bearer)
    expect(asked(service)).toBe(1)
    await service.clock.advance(1)
    await verifier.verify(bearer)
    expect(asked(service)).toBe(2)
    for (const cacheSeconds of [31, -1, Number.NaN]) {
      expect(() => createVerifier({ ...service.verifierOptions, cacheSeconds })).toThrow('cacheSeconds')
    }
  })

  test('never beyond the expiry of the credential', async () => {
    const { service, bearer, verifier } = await connect('token_set', { cacheSeconds: 30 })
    await service.clock.advance(3_590_000)
    const verified = await verifier.verify(bearer)
    await service.clock.advance((verified?.expiresAt ?? 0) - service.clock.now())
    await service.clock.advance(1_000)
    expect(await verifier.verify(bearer)).toBeNull()
    expect(asked(service)).toBe(2)
  })

  test('not at all if configured so', async () => {
    const { service, bearer, verifier } = await connect('token_set', { cacheSeconds: 0 })
    await verifier.verify(bearer)
    await verifier.verify(bearer)
    expect(asked(service)).toBe(2)
    service.removeAccess()
    expect(await verifier.verify(bearer)).toBeNull()
  })

  test('for three seconds if it is inactive', async () => {
    const { service, verifier } = await connect()
    expect(await verifier.verify(madeUp(1))).toBeNull()
    expect(await verifier.verify(madeUp(1))).toBeNull()
    expect(asked(service)).toBe(1)
    await service.clock.advance(3_000)
    expect(await verifier.verify(madeUp(1))).toBeNull()
    expect(asked(service)).toBe(2)
  })

  test('although thousands of invalid credentials are tried; ten thousand valid ones at most', async () => {
    let asked = 0
    const yes = { active: true, account: 'acme', sub: 'usr_x', client_id: 'app_x', grant: 'grt_x', scope: '' }
    const fetch = async (_: unknown, init?: RequestInit) => {
      asked += 1
      return new Response(JSON.stringify(String(init?.body).includes('token=lkk_') ? yes : { active: false }))
    }
    const clock = { now: () => 0, sleep: () => new Promise<void>(() => {}) }
    const options = { baseUrl: 'https://x.test', resourceId: 'a', resourceSecret: 'b' }
    const verifier = createVerifier({ ...options, fetch, clock })
    const good = (number: number) => madeUp(number).replace('lka_', 'lkk_')
    await verifier.verify(good(0))
    for (let number = 0; number < 10_001; number += 1) await verifier.verify(madeUp(number))
    expect(asked).toBe(10_002)
    await verifier.verify(good(0))
    expect(asked).toBe(10_002)
    for (let number = 1; number < 10_001; number += 1) await verifier.verify(good(number))
    await verifier.verify(good(1))
    expect(asked).toBe(20_002)
    await verifier.verify(good(0))
    expect(asked).toBe(20_003)
  })
})

test('a hundred concurrent requests with one credential cause one request', async () => {
  const { service, bearer, verifier } = await connect()
  const answers = await Promise.all(Array.from({ length: 100 }, () => verifier.verify(bearer)))
  expect(new Set(answers).size).toBe(1)
  expect(asked(service)).toBe(1)
})

describe('if it cannot be verified, nobody is let in', () => {
  test.each([
    ['network', 'network'],
    ['unavailable', 'unavailable'],
  ] as const)('%s is thrown, and not remembered', async (fault, code) => {
    const { service, bearer, verifier } = await connect()
    service.fail(fault)
    await expect(verifier.verify(bearer)).rejects.toEqual(failing(code))
    expect(await verifier.verify(bearer)).not.toBeNull()
  })

  test('a wrong secret is a configuration error, and appears nowhere', async () => {
    const { service, bearer } = await connect()
    const resourceSecret = `lks_${'s'.repeat(43)}`
    const verifier = createVerifier({ ...service.verifierOptions, resourceSecret })
    const error = await verifier.verify(bearer).catch((caught: unknown) => caught)
    expect(error).toEqual(failing('invalid_application'))
    const shown = [
      inspect(error),
      JSON.stringify(error),
      String((error as Error).stack),
      inspect(verifier, { depth: 9 }),
    ]
    for (const text of shown) expect(text).not.toMatch(/lk[a-z]_/)
    expect((error as Error).message).toContain('resourceSecret')
  })

  test.each([
    [{ active: 'yes' }, 'unexpected_answer'],
    [{ active: true }, 'unexpected_answer'],
    [[], 'unexpected_answer'],
  ])('the answer %j is invalid', async (body, code) => {
    const fetch = async () => new Response(JSON.stringify(body))
    const verifier = createVerifier({ baseUrl: 'https://x.test', resourceId: 'a', resourceSecret: 'b', fetch })
    await expect(verifier.verify(madeUp(1))).rejects.toEqual(failing(code))
  })
})
