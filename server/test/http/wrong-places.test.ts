/** Requests that reach no endpoint say what would have been right: the method, the spelling of the path, or the host. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pathsOf } from '../../src/http/route.ts'
import { basePages, everyEndpoint } from '../../src/http/routes.ts'
import { pageRoutes } from '../../src/http/web/account-routes.ts'
import { post, type WireAnswer } from '../rig/device.ts'
import { readXml } from '../rig/dialects.ts'
import { startTestService, type TestService } from '../rig/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

const fieldsOf = ({ text }: WireAnswer): Record<string, string> => (text[0] === '<' ? readXml(text) : JSON.parse(text))

/** Code and message in any format. */
function told(answer: WireAnswer): unknown[] {
  const { error, message, error_description, detail } = fieldsOf(answer)
  return [answer.status, error, message ?? error_description ?? detail]
}

const paths = everyEndpoint.flatMap((route) => pathsOf(route).map((path) => ({ path, method: route.method })))
const fixed = paths.filter(({ path }) => !path.includes('{'))

describe('a method that is not allowed', () => {
  it.each([
    ['/auth/oauth/device/code', 'GET', 'Use POST.'],
    ['/1/auth/key/device/polling.xml', 'PUT', 'Use POST.'],
    ['/oauth/token', 'GET', 'Use POST.'],
    ['/me', 'POST', 'Use GET or HEAD.'],
    ['/manage/1/scopes', 'PUT', 'Use GET, HEAD or POST.'],
  ])('%s by %s: the message names the right one', async (path, method, named) => {
    const [status, , message] = told(await post(service.address, path, { method }))
    expect([status, message]).toEqual([405, `The method is not allowed for this path. ${named}`])
  })
})

describe('a path that does not exist', () => {
  it.each(['/auth/oauth/device/code', '/1/auth/key/device/polling.xml', '/oauth/token', '/me', '/activate'])(
    '%s: another spelling is answered with the right one',
    async (path) => {
      for (const wrong of [`${path}/`, path.toUpperCase(), `${path.toUpperCase()}/`]) {
        const [status, error, message] = told(await post(service.address, wrong, { form: {} }))
        const code = wrong.startsWith('/oauth/') ? 'invalid_request' : 'not_found'
        expect([status, error]).toEqual([404, code])
        expect(message).toBe(`Paths are case-sensitive and have no trailing slash. Use ${path}.`)
      }
    },
  )

  it.each(['/v1/auth', '/auth/oauth/device/code.json', '///', '/%61uth', '/{x}', '/oauth/', '/"><b>'])(
    '%s leads to the list of all paths, and is not repeated',
    async (path) => {
      const [status, , message] = told(await post(service.address, path, { method: 'GET' }))
      expect([status, message]).toEqual([404, 'There is no resource at this path. GET /reference lists all paths.'])
    },
  )

  it('/reference exists; it does not list the management API, so that one has a shorter message', async () => {
    expect((await post(service.address, '/reference', { method: 'GET' })).status).toBe(200)
    for (const path of ['/manage/1/nowhere', '/scim/2/Nowhere']) {
      const [status, , message] = told(await post(service.address, path, { method: 'GET' }))
      expect([status, message]).toEqual([404, 'There is no resource at this path.'])
    }
  })
})

describe('the API on the host of an account', () => {
  const hosts = () => {
    const base = new URL(service.config.publicUrl).host
    return [`${service.account.slug}.${base}`, `nobody.${base}`, `not--valid_.${base}`]
  }

  it(`is refused at each of the ${fixed.length} paths, in the format of the path, with the right address`, async () => {
    const message = `The API is served only at ${service.config.publicUrl}.`
    for (const host of hosts()) {
      for (const { path, method } of fixed) {
        const standard = path.startsWith('/oauth/') || path.startsWith('/.well-known/')
        const error = path.startsWith('/scim/') ? undefined : standard ? 'invalid_request' : 'misdirected'
        for (const each of new Set([method, 'POST'])) {
          const answer = await post(service.address, path, { method: each, headers: { host } })
          expect([path, ...told(answer)]).toEqual([path, 421, error, message])
        }
      }
    }
  })

  it('shadows no page of the account', () => {
    const served = new Set(paths.map(({ path }) => path))
    expect(pageRoutes.filter(({ path }) => served.has(path))).toEqual([])
  })

  it('leaves pages and paths that do not exist as they are: HTML', async () => {
    const [host = ''] = hosts()
    for (const path of ['/nowhere', '/auth', '/auth/nowhere', ...basePages.map(({ path }) => path)]) {
      const answer = await post(service.address, path, { method: 'GET', headers: { host } })
      expect([path, answer.headers['content-type'] ?? 'redirect']).toEqual([
        path,
        answer.status === 303 ? 'redirect' : 'text/html; charset=utf-8',
      ])
    }
  })

  it('tells nothing of the account, and of a credential nothing either', async () => {
    const [ours = '', nobody = ''] = hosts()
    const ask = async (host: string) => {
      const headers = { host, authorization: 'Bearer x', cookie: 'a=b' }
      return (await post(service.address, '/1/me', { method: 'GET', headers })).text
    }
    expect(await ask(ours)).toBe(await ask(nobody))
  })
})
