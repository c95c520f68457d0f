/** One router for the API, the base host and the account hosts: the same HEAD, 405 and form reader everywhere. */
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRouter } from '../../src/http/router.ts'
import { SESSION } from '../../src/http/web/cookies.ts'
import { post } from '../rig/device.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { makeSignedInUser, signInAs } from '../rig/signed-in.ts'

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
    ['an endpoint', '/me', base, 'GET, HEAD'],
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
  let cookie: string
  beforeAll(async () => {
    cookie = `${SESSION}=${(await signInAs(service, service.user)).cookies.get(SESSION)}`
  })

  const raw = (part: Buffer | string) => {
    const head = '--x\r\ncontent-disposition: form-data; name='
    return Buffer.concat([Buffer.from(head), Buffer.from(part), Buffer.from('\r\n--x--\r\n')])
  }
  const send = async (body: Buffer, headers: Record<string, string> = { cookie }, path = '/account/branding') => {
    const fixed = {
      host: account(),
      'sec-fetch-site': 'same-origin',
      'content-type': 'multipart/form-data; boundary=x',
    }
    return (await post(service.address, path, { raw: body, headers: { ...fixed, ...headers } })).status
  }

  it('is read as every other form is: what is not UTF-8, and a file in another field, is refused', async () => {
    // A form that can be read lacks its signature.
    expect(await send(raw('"logo"; filename="a.png"\r\n\r\n\u0001'))).toBe(403)
    expect(await send(raw('"colour"\r\n\r\nblue'))).toBe(403)
    expect(await send(raw(Buffer.concat([Buffer.from('"colour"\r\n\r\n'), Buffer.from([0xff])])))).toBe(400)
    expect(await send(raw('"colour"; filename="a.png"\r\n\r\n\u0001'))).toBe(400)
  })

  it.each([
    ['nobody who is signed in', () => ({}), 303],
    [
      'a user who is not an administrator',
      async () => {
        const { web } = await makeSignedInUser(service)
        return { cookie: `${SESSION}=${web.cookies.get(SESSION)}` }
      },
      403,
    ],
  ])('of %s is answered without being read', async (_, headers, status) => {
    expect(await send(Buffer.from('unreadable'), await headers())).toBe(status)
  })

  it('is read one at a time in each session', async () => {
    const head = [
      'POST /account/branding HTTP/1.1',
      `host: ${account()}`,
      'sec-fetch-site: same-origin',
      `cookie: ${cookie}`,
      'content-type: multipart/form-data; boundary=x',
      'content-length: 100',
      '',
      '--x',
    ]
    const { hostname, port } = new URL(service.address)
    // It is answered only if another form of the session is being read at that moment: then it is sent again.
    const sendSlowly = (): Socket => {
      const socket = connect(Number(port), hostname, () => socket.write(head.join('\r\n')))
      return socket.once('data', () => {
        slow = sendSlowly()
      })
    }
    let slow = sendSlowly()
    await expect.poll(() => send(raw('"colour"\r\n\r\nblue')), { timeout: 20_000 }).toBe(503)
    const { cookies } = await signInAs(service, service.user)
    const elsewhere = { cookie: `${SESSION}=${cookies.get(SESSION)}` }
    expect(await send(raw('"colour"\r\n\r\nblue'), elsewhere), 'another session').toBe(403)
    slow.destroy()
    await expect.poll(() => send(raw('"colour"\r\n\r\nblue')), { timeout: 20_000 }).toBe(403)
  })

  it('is not accepted where no file is expected', async () => {
    expect(await send(raw('"email"\r\n\r\nann@acme.example'), {}, '/recover')).toBe(400)
    expect(await send(raw('"account"\r\n\r\nacme'), { host: base() }, '/activate')).toBe(400)
  })
})
