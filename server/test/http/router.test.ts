/** One router for the API, the base host and the account hosts: the same HEAD, 405 and form reader everywhere. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRouter } from '../../src/http/router.ts'
import { post } from '../rig/device.ts'
import { startTestService, type TestService } from '../rig/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

const account = () => service.web().host
const base = () => new URL(service.config.publicUrl).host

it('a route is found under each of its paths, and a HEAD finds the route for GET', () => {
  const read = { method: 'GET', path: '/a' } as const
  const write = { method: 'POST', path: '/a' } as const
  const router = createRouter([read, write], ({ path }) => [path, `/1${path}`])
  for (const path of ['/a', '/1/a']) {
    expect(router.get(path)?.path).toBe('/a')
    expect(Object.fromEntries(router.get(path)?.byMethod ?? [])).toEqual({ GET: read, HEAD: read, POST: write })
  }
  expect(router.get('/%61')).toBeUndefined()
})

describe('a method that a path does not have is a 405, and Allow names those that it has', () => {
  it.each([
    ['an endpoint', '/auth/verify', base, 'GET, HEAD'],
    ['an endpoint for forms', '/auth/report', base, 'POST'],
    ['a page of the base host', '/activate', base, 'GET, HEAD, POST'],
    ['a page of an account', '/sign-in', account, 'GET, HEAD, POST'],
    ['a form of an account', '/sign-out', account, 'POST'],
  ])('%s', async (_, path, host, allow) => {
    const answer = await post(service.address, path, { method: 'PUT', headers: { host: host() } })
    expect([answer.status, answer.headers.allow]).toEqual([405, allow])
  })
})

describe('a form with a file', () => {
  const send = async (part: Buffer | string) => {
    const head = '--x\r\ncontent-disposition: form-data; name='
    const raw = Buffer.concat([Buffer.from(head), Buffer.from(part), Buffer.from('\r\n--x--\r\n')])
    const headers = {
      host: account(),
      'sec-fetch-site': 'same-origin',
      'content-type': 'multipart/form-data; boundary=x',
    }
    return (await post(service.address, '/account/branding', { raw, headers })).status
  }

  it('is read as every other form is: what is not UTF-8, and a file in another field, is refused', async () => {
    // A form that can be read leads to signing in.
    expect(await send('"logo"; filename="a.png"\r\n\r\n\u0001')).toBe(303)
    expect(await send('"colour"\r\n\r\nblue')).toBe(303)
    expect(await send(Buffer.concat([Buffer.from('"colour"\r\n\r\n'), Buffer.from([0xff])]))).toBe(400)
    expect(await send('"colour"; filename="a.png"\r\n\r\n\u0001')).toBe(400)
  })
})
