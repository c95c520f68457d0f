/** `requireAuth` in front of a route: who is let through, and the errors (RFC 6750). */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import createExpress, { type Response as ExpressResponse } from 'express'
import createFastify from 'fastify'
import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient, createVerifier, LatchkeyError, type Verifier } from '../../src/index.ts'
import * as expressGuard from '../../src/middleware/express.ts'
import * as fastifyGuard from '../../src/middleware/fastify.ts'
import * as honoGuard from '../../src/middleware/hono.ts'
import { createFakeService } from '../../src/testing.ts'

type Options = { readonly scope?: string | readonly string[] }
/** One request with this header to a route behind `requireAuth`, which answers with the user. */
type Ask = (verifier: Verifier, options: Options, authorization?: string) => Promise<Response>

const users = new Map<string, Ask>()

users.set('express', async (verifier, options, authorization) => {
  const application = createExpress()
  application.get('/', expressGuard.requireAuth(verifier, options), (request, response) => {
    response.send(expressGuard.credentialOf(request).user)
  })
  // Express recognises an error handler by its four parameters.
  application.use((error: LatchkeyError, _: unknown, response: ExpressResponse, __: unknown) => {
    response.status(500).send(error.code)
  })
  const server = application.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const { port } = server.address() as AddressInfo
    return await fetch(`http://127.0.0.1:${port}/`, { headers: authorization ? { authorization } : {} })
  } finally {
    server.closeAllConnections()
    server.close()
  }
})

users.set('fastify', async (verifier, options, authorization) => {
  const application = createFastify()
  application.setErrorHandler((error: LatchkeyError, _, reply) => reply.code(500).send(error.code))
  application.get('/', { onRequest: fastifyGuard.requireAuth(verifier, options) }, async (request) => {
    return fastifyGuard.credentialOf(request).user
  })
  const { statusCode, headers, body } = await application.inject({
    url: '/',
    headers: authorization ? { authorization } : {},
  })
  const plain = Object.entries(headers).map(([name, value]) => [name, `${value}`] as [string, string])
  return new Response(body, { status: statusCode, headers: plain })
})

users.set('hono', async (verifier, options, authorization) => {
  const application = new Hono()
  application.onError((error, context) => context.text((error as LatchkeyError).code, 500))
  application.use(honoGuard.requireAuth(verifier, options))
  application.get('/', (context) => context.text(honoGuard.credentialOf(context).user))
  return application.request('/', { headers: authorization ? { authorization } : {} })
})

describe.each([...users])('%s', (_, ask) => {
  const service = createFakeService()
  const verifier = createVerifier(service.verifierOptions)
  let bearer: string

  beforeAll(async () => {
    const client = createClient(service.clientOptions)
    const session = await client.device.start({ variant: 'access_key', scope: 'orders:read' })
    service.grant(session.userCode)
    bearer = (await session.wait()).accessKey
  })
  afterAll(() => service.removeAccess())

  test('lets a valid credential through, with its user', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER ']) {
      const response = await ask(verifier, { scope: 'orders:read' }, `${scheme} ${bearer}`)
      expect([response.status, await response.text()]).toEqual([200, expect.stringMatching(/^usr_/)])
    }
  })

  test('answers a request without one with a challenge, without an error', async () => {
    const response = await ask(verifier, {})
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
    expect(await response.json()).toEqual({ error: 'invalid_credential', message: expect.stringContaining('Bearer') })
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(response.headers.get('cache-control')).toBe('no-store')
  })

  test.each([
    ['an unknown one', `Bearer lka_${'x'.repeat(56)}`],
    ['a refresh token', `Bearer lkr_${'x'.repeat(50)}`],
    ['another scheme', 'Basic eDp5'],
    ['two at once', 'Bearer a b'],
    ['nothing', 'Bearer '],
  ])('refuses %s with invalid_token', async (_, authorization) => {
    const response = await ask(verifier, {}, authorization)
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer error="invalid_token"'])
    expect(await response.json()).toMatchObject({ error: 'invalid_credential' })
  })

  test('names the required and the lacking scope', async () => {
    const response = await ask(verifier, { scope: ['orders:read', 'orders:write'] }, `Bearer ${bearer}`)
    expect(response.status).toBe(403)
    expect(response.headers.get('www-authenticate')).toBe(
      'Bearer error="insufficient_scope", scope="orders:read orders:write"',
    )
    expect(await response.json()).toEqual({
      error: 'insufficient_scope',
      message: 'The credential lacks orders:write.',
    })
  })

  test('answers 503 with Retry-After while the service is unreachable', async () => {
    const away = createFakeService()
    away.fail('network')
    const response = await ask(createVerifier(away.verifierOptions), {}, `Bearer ${bearer}`)
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '2'])
    expect(await response.json()).toMatchObject({ error: 'unavailable' })
  })

  test('passes configuration errors to the framework', async () => {
    const wrong = createVerifier({ ...service.verifierOptions, resourceSecret: 'wrong' })
    const response = await ask(wrong, {}, `Bearer lka_${'y'.repeat(56)}`)
    expect([response.status, await response.text()]).toEqual([500, 'invalid_application'])
  })
})

test('a scope that could break a header is refused before any request', () => {
  const verifier: Verifier = { verify: async () => null }
  for (const scope of ['a"b', 'Ä', ['a b'], ['a\r\nset-cookie:x']]) {
    expect(() => expressGuard.requireAuth(verifier, { scope })).toThrow(LatchkeyError)
  }
})

test('without requireAuth in front, there is no user', () => {
  expect(() => expressGuard.credentialOf({})).toThrow('requireAuth does not stand in front of this route.')
})
