/** FD-68 to FD-70: statements of another type, sessions that outlive their user, and users without a second factor. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { SESSION } from '../../../src/http/web/cookies.ts'
import {
  claimsFor,
  makeHost,
  readSignInRequest,
  returnPath,
  STATEMENT_TYPE,
  signInAtHost,
  signStatement,
  type TestHost,
} from '../../rig/host-service.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { textOf, type Web } from '../../rig/web.ts'

let host: TestHost
let service: TestService
beforeAll(async () => {
  host = await makeHost()
  service = await startTestService({ ...host.environment, SIGN_IN_CREATES: 'users' })
})
afterAll(async () => {
  await service.stop()
  host.remove()
})

describe('FD-70: without a second factor at the host service', () => {
  const ADMINISTRATION = ['/account/policy', '/developer', '/account/people']
  const enter = async (claims: Record<string, unknown>, at = service) => {
    const web = at.web()
    await signInAtHost(at, host, web, { claims })
    return web
  }
  const statuses = (web: Web, paths: readonly string[]) =>
    Promise.all(paths.map(async (path) => (await web.send('GET', path)).status))

  it.each([
    ['a password', { amr: ['pwd'] }, 403],
    ['nothing that is said', { amr: undefined }, 403],
    ['a class that means nothing', { amr: [], acr: '1' }, 403],
    ['a one-time password', { amr: ['pwd', 'otp'] }, 200],
    ['a hardware key', { amr: ['hwk'] }, 200],
    ['a class of phishing-resistant methods', { amr: [], acr: 'phr' }, 200],
  ])('FD-70: an administrator with %s', async (_, claims, status) => {
    const web = await enter(claims)
    expect(await statuses(web, ADMINISTRATION)).toEqual(ADMINISTRATION.map(() => status))
    expect(await statuses(web, ['/applications', '/connect/code']), 'their own pages').toEqual([200, 200])
  })

  it('FD-70: a form is refused as well, the page says what to do, and the user can sign out', async () => {
    const web = await enter({ amr: ['pwd'] })
    const page = await web.send('POST', '/account/policy', {})
    expect([page.status, textOf(page.text)]).toEqual([403, expect.stringContaining('sign in again with one')])
    await web.get('/')
    expect((await web.submit('/sign-out')).status).toBe(200)
  })

  it('FD-70: the operator may trust services that do not say how users signed in', async () => {
    const own = await startTestService({
      ...host.environment,
      SIGN_IN_CREATES: 'users',
      SECOND_FACTOR_ELSEWHERE: 'trusted',
    })
    onTestFinished(() => own.stop())
    expect(await statuses(await enter({ amr: ['pwd'] }, own), ADMINISTRATION)).toEqual(ADMINISTRATION.map(() => 200))
  })
})

it('FD-68: a session of a user who was removed at the host service ends after twelve hours', async () => {
  const web = service.web()
  await signInAtHost(service, host, web)
  const sessions = await service.database.query(
    'select extract(epoch from expires_at - created_at)::int / 3600 as hours from sessions order by created_at desc limit 1',
  )
  expect(sessions).toEqual([{ hours: 12 }])
})

it('FD-69: another JWT that the host service signs with the same key is no statement', async () => {
  const web = service.web()
  const request = readSignInRequest((await web.send('GET', '/sign-in')).location)
  const claims = await claimsFor(service, request)
  const bring = async (typ: string) => {
    const { status } = await web.send('GET', returnPath(request, await signStatement(host.key, claims, typ)))
    return [status, web.cookies.has(SESSION)]
  }
  for (const typ of ['', 'JWT', 'at+jwt', 'logout+jwt', `${STATEMENT_TYPE}x`]) {
    expect([typ, ...(await bring(typ))]).toEqual([typ, 403, false])
  }
  expect(await bring(`application/${STATEMENT_TYPE}`)).toEqual([303, true])
})
