/** `client.fetch` with real servers: which requests carry the credential. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import type { Client, Credentials } from '../../src/index.ts'
import { failure } from '../rig/failure.ts'
import { listen } from '../rig/listener.ts'
import { importSdk } from '../rig/packed.ts'

const { createClient, memoryStore } = await importSdk()

function tokens(number: number, age = 60_000): Credentials {
  const issuedAt = Date.now() - age
  const [accessToken, refreshToken] = [`lka_${number}`, `lkr_${number}`]
  return {
    variant: 'token_set',
    accessToken,
    refreshToken,
    issuedAt,
    expiresAt: issuedAt + 3_600_000,
    scope: [],
    state: '',
  }
}

/** A service that answers each refresh with the next number, and counts. */
async function holding(credentials: Credentials): Promise<{ readonly client: Client; refreshed: number }> {
  const held = { client: null as unknown as Client, refreshed: 0 }
  const baseUrl = await listen((request, response) => {
    request.resume().on('end', () => {
      held.refreshed += 1
      const number = held.refreshed + 1
      const fields = { access_token: `lka_${number}`, refresh_token: `lkr_${number}`, expires_in: 3600, scope: '' }
      response.setHeader('content-type', 'application/json').end(JSON.stringify(fields))
    })
  })
  held.client = createClient({ baseUrl, appId: 'app_one', appSecret: 'lks_one', store: memoryStore(credentials) })
  return held
}

type Seen = { readonly method: string; readonly authorization: string | undefined; readonly body: string }

/** An API that records requests, and answers as configured. */
async function api(answer: (seen: Seen, request: IncomingMessage, response: ServerResponse) => void) {
  const seen: Seen[] = []
  const address = await listen(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const one = { method: request.method ?? '', authorization: request.headers.authorization, body }
    seen.push(one)
    answer(one, request, response)
    response.end()
  })
  return { address, seen }
}

/** Accepts `lka_2` and later. */
const wantsNewer = ({ authorization }: Seen, _: IncomingMessage, response: ServerResponse) => {
  response.statusCode = authorization === 'Bearer lka_1' ? 401 : 200
}

describe('the credential', () => {
  test('is sent in the header, with everything else unchanged', async () => {
    const { client } = await holding(tokens(1))
    const { address, seen } = await api(() => {})
    await client.fetch(`${address}/orders`, { method: 'PUT', body: 'three', headers: { authorization: 'other' } })
    await client.fetch(new URL(address))
    await client.fetch(new Request(address, { method: 'POST', body: 'four' }))
    expect(seen).toEqual([
      { method: 'PUT', authorization: 'Bearer lka_1', body: 'three' },
      { method: 'GET', authorization: 'Bearer lka_1', body: '' },
      { method: 'POST', authorization: 'Bearer lka_1', body: 'four' },
    ])
  })

  test('is refreshed once when it is refused, and the request is sent again', async () => {
    const held = await holding(tokens(1))
    const { address, seen } = await api(wantsNewer)
    const response = await held.client.fetch(address, { method: 'POST', body: 'three' })
    expect(response.status).toBe(200)
    expect(seen.map(({ authorization, body }) => [authorization, body])).toEqual([
      ['Bearer lka_1', 'three'],
      ['Bearer lka_2', 'three'],
    ])
    expect(held.refreshed).toBe(1)
  })

  test('is refreshed once for several requests refused at the same time', async () => {
    const held = await holding(tokens(1))
    const { address } = await api(wantsNewer)
    const answers = await Promise.all(Array.from({ length: 20 }, () => held.client.fetch(address)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(held.refreshed).toBe(1)
  })

  test('is not refreshed repeatedly for an API that always refuses', async () => {
    const held = await holding(tokens(1))
    const { address, seen } = await api((_, __, response) => {
      response.statusCode = 401
    })
    for (let each = 0; each < 3; each += 1) expect((await held.client.fetch(address)).status).toBe(401)
    expect(held.refreshed).toBe(1)
    expect(seen).toHaveLength(4)
  })

  test('is not refreshed for an access key, or for a body that was read from a stream', async () => {
    const key = await holding({ variant: 'access_key', accessKey: 'lkk_1', scope: [], state: '' })
    const set = await holding(tokens(1))
    const { address, seen } = await api((_, __, response) => {
      response.statusCode = 401
    })
    expect((await key.client.fetch(address)).status).toBe(401)
    const body = new Blob(['three']).stream()
    expect((await set.client.fetch(address, { method: 'POST', body, duplex: 'half' } as RequestInit)).status).toBe(401)
    expect(seen.map(({ authorization }) => authorization)).toEqual(['Bearer lkk_1', 'Bearer lka_1'])
    expect([key.refreshed, set.refreshed]).toEqual([0, 0])
  })
})

describe('a redirect', () => {
  const to = (location: () => string, status = 302) =>
    api((_, request, response) => {
      if (request.url === '/there') return
      response.writeHead(status, { location: location() })
    })

  test('within the origin is followed, with the credential', async () => {
    const { client } = await holding(tokens(1))
    const { address, seen } = await to(() => '/there')
    expect((await client.fetch(`${address}/here`)).status).toBe(200)
    expect((await client.fetch(new Request(`${address}/here`))).status).toBe(200)
    expect(seen.map(({ authorization }) => authorization)).toEqual(Array(4).fill('Bearer lka_1'))
  })

  test.each([301, 302, 303, 307, 308])(
    '%d to another origin is not followed: nobody there gets the credential',
    async (status) => {
      const { client } = await holding(tokens(1))
      const evil = await api(() => {})
      const { address } = await to(() => `${evil.address}/there`, status)
      const error = await failure(client.fetch(`${address}/here`))
      expect(error).toMatchObject({ code: 'unexpected_answer', message: expect.stringContaining(evil.address) })
      expect(evil.seen).toEqual([])
    },
  )

  test('of a request that changes something is not followed', async () => {
    const { client } = await holding(tokens(1))
    const { address, seen } = await to(() => '/there', 307)
    expect(await failure(client.fetch(`${address}/here`, { method: 'POST', body: 'three' }))).toMatchObject({
      code: 'unexpected_answer',
    })
    expect(seen).toHaveLength(1)
  })

  test('loop is given up', async () => {
    const { client } = await holding(tokens(1))
    const { address, seen } = await to(() => '/here')
    expect(await failure(client.fetch(`${address}/here`))).toMatchObject({ code: 'unexpected_answer' })
    expect(seen).toHaveLength(11)
  })

  test('is left to the application if configured', async () => {
    const { client } = await holding(tokens(1))
    const { address } = await to(() => 'https://elsewhere.example')
    expect((await client.fetch(`${address}/here`, { redirect: 'manual' })).status).toBe(302)
    await expect(client.fetch(`${address}/here`, { redirect: 'error' })).rejects.toThrow()
  })
})

test('an address that cannot be reached is the platform’s own error, as with fetch', async () => {
  const { client } = await holding(tokens(1))
  expect(await failure(client.fetch('http://127.0.0.1:1/'))).toBeInstanceOf(TypeError)
})
