/** Responses over a real socket: an answer, a refusal or a fault. */
import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { failure } from '../rig/failure.ts'
import { listen, nowhere } from '../rig/listener.ts'
import { importSdk } from '../rig/packed.ts'
import { VirtualClock } from '../rig/virtual-clock.ts'

const { createClient } = await importSdk()

async function answered(answer: (response: ServerResponse) => void): Promise<unknown> {
  const baseUrl = await listen((request, response) => {
    request.resume().on('end', () => answer(response))
  })
  return failure(
    createClient({ baseUrl, appId: 'app_one', appSecret: 'lks_one' }).device.start({ variant: 'token_set' }),
  )
}

const html = '<!doctype html><title>Welcome</title>'

describe('it is unexpected_answer', () => {
  const answers: [string, (response: ServerResponse) => void][] = [
    ['when a page comes instead of JSON', (response) => response.setHeader('content-type', 'text/html').end(html)],
    ['when a page comes with a refusal’s status', (response) => response.writeHead(404).end(html)],
    ['when JSON of another kind comes', (response) => response.end('[1,2]')],
    ['when a refusal does not say which', (response) => response.writeHead(400).end('{"oops":true}')],
    ['when a refusal quotes strange things', (response) => response.writeHead(400).end('{"error":"lks_one failed!"}')],
    ['when fields are missing', (response) => response.end('{"state":"x"}')],
    ['when the answer redirects', (response) => response.writeHead(308, { location: 'http://127.0.0.1:1/' }).end()],
    ['when there is no body', (response) => response.writeHead(204).end()],
  ]
  test.each(answers)('%s', async (_, answer) => {
    expect(await answered(answer)).toMatchObject({ name: 'LatchkeyError', code: 'unexpected_answer' })
  })

  test('when it is endless: it is not read completely', async () => {
    let sent = 0
    const error = await answered((response) => {
      const chunk = Buffer.alloc(16_384, 32)
      const more = () => {
        while (!response.destroyed && sent < 100_000_000) {
          sent += chunk.length
          if (response.write(chunk)) continue
          response.once('drain', more)
          return
        }
      }
      more()
    })
    expect(error).toMatchObject({ code: 'unexpected_answer' })
    expect(sent).toBeLessThan(20_000_000)
  })
})

describe('it is network', () => {
  test('when nothing listens', async () => {
    const client = createClient({ baseUrl: await nowhere(), appId: 'app_one', appSecret: 'lks_one' })
    const error = await failure(client.device.start({ variant: 'token_set' }))
    // The reason, where the runtime has one of the usual codes: Deno and Bun have none.
    const reason = 'Deno' in globalThis || 'Bun' in globalThis ? 'could not be reached' : '(ECONNREFUSED)'
    expect(error).toMatchObject({ code: 'network', message: expect.stringContaining(reason) })
  })

  test.each([
    ['before an answer', (response: ServerResponse) => response.destroy()],
    [
      'within an answer',
      (response: ServerResponse) => {
        response.writeHead(200, { 'content-length': '500' })
        response.write('{"device_code":"lkd_', () => setTimeout(() => response.destroy(), 20))
      },
    ],
  ])('when the connection is closed %s', async (_, answer) => {
    expect(await answered(answer)).toMatchObject({ code: 'network' })
  })

  test('when there is no answer within the time limit, and the error names it', async () => {
    const clock = new VirtualClock()
    const baseUrl = await listen(() => {})
    const client = createClient({ baseUrl, appId: 'app_one', appSecret: 'lks_one', clock })
    const error = failure(client.device.start({ variant: 'token_set' }))
    await clock.pass(15_001)
    expect(await error).toMatchObject({ code: 'network', message: expect.stringContaining('no answer within 15 s') })
  })
})

test('it is aborted when the signal says so, before and during the request', async () => {
  const baseUrl = await listen(() => {})
  const client = createClient({ baseUrl, appId: 'app_one', appSecret: 'lks_one' })
  const before = client.device.start({ variant: 'token_set', signal: AbortSignal.abort('before') })
  expect(await failure(before)).toBe('before')
  const during = client.device.start({ variant: 'token_set', signal: AbortSignal.timeout(50) })
  expect(await failure(during)).toMatchObject({ name: 'TimeoutError' })
})

const inNinetySeconds = () => new Date(Date.now() + 90_000).toUTCString()

test.each([
  ['seconds', () => '7', 7],
  ['a date', inNinetySeconds, 90],
  ['anything else', () => 'soon', undefined],
])('Retry-After with %s is read', async (_, header, seconds) => {
  const error = (await answered((response) => response.writeHead(503, { 'retry-after': header() }).end())) as {
    retryAfter?: number
  }
  if (seconds === undefined) return expect(error.retryAfter).toBeUndefined()
  expect(Math.abs((error.retryAfter ?? 0) - seconds)).toBeLessThanOrEqual(2)
})

test.each([
  '',
  'service.example',
  'ftp://service.example',
  'https://a:b@service.example',
  'https://service.example/?a=b',
])('baseUrl cannot be "%s"', (baseUrl) => {
  expect(() => createClient({ baseUrl, appId: 'app_one' })).toThrow(
    expect.objectContaining({ code: 'invalid_request' }),
  )
})

test('baseUrl may have a path and a slash at its end', async () => {
  const paths: unknown[] = []
  const address = await listen((request, response) => {
    paths.push(request.url)
    response.end('{}')
  })
  const client = createClient({ baseUrl: `${address}/auth-server/`, appId: 'app_one', appSecret: 'lks_one' })
  await failure(client.device.start({ variant: 'access_key' }))
  expect(paths).toEqual(['/auth-server/auth/key/device/code'])
})
