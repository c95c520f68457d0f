/** RFC 6750, section 3: what a challenge tells, wherever a credential or a management key is presented. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { connect } from '../rig/connect.ts'
import { post } from '../rig/device.ts'
import { makeManagementKey } from '../rig/manage.ts'
import { startTestService, type TestService } from '../rig/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

async function challenge(path: string, presented: string | null): Promise<[number, unknown]> {
  const headers = presented === null ? {} : { authorization: presented }
  const answer = await post(service.address, path, { method: 'GET', headers })
  return [answer.status, answer.headers['www-authenticate']]
}

const PATHS = [
  '/me',
  '/1/me.xml',
  '/auth/verify',
  '/1/auth/verify?scope=orders:read',
  '/manage/1/scopes',
  '/scim/2/Users',
]
const NO_CREDENTIAL = [null, '', 'Bearer', 'Basic eDp5', 'DPoP x']
const BAD = ['Bearer x', 'bearer lka_', 'Bearer two words', 'Bearer "', `Bearer lkm_${'A'.repeat(43)}`]

it.each(PATHS)('%s: without a credential the challenge names no error, with a bad one invalid_token', async (path) => {
  for (const presented of NO_CREDENTIAL) {
    expect([presented, await challenge(path, presented)]).toEqual([presented, [401, 'Bearer']])
  }
  for (const presented of BAD) {
    expect([presented, await challenge(path, presented)]).toEqual([presented, [401, 'Bearer error="invalid_token"']])
  }
})

it('a credential or a key with too little learns which scope is required', async () => {
  const { credential } = await connect(service, { scope: 'orders:read' })
  const { key } = await makeManagementKey(service, { scopes: ['users:read'] })
  const lacks = (scope: string) => [403, `Bearer error="insufficient_scope", scope="${scope}"`]
  const verify = (scope: string) => challenge(`/auth/verify?scope=${encodeURIComponent(scope)}`, `Bearer ${credential}`)
  expect(await verify('orders:write,orders:read')).toEqual(lacks('orders:write orders:read'))
  expect(await verify('x" , error="y,orders:write')).toEqual(lacks('orders:write'))
  expect(await verify('"\r\n"')).toEqual([403, 'Bearer error="insufficient_scope"'])
  expect(await challenge('/manage/1/scopes', `Bearer ${key}`)).toEqual(lacks('scopes:read'))
})
