/** docs/interface/credentials.md, "Access keys": an application rotates its key. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { askMe, connect } from '../../rig/connect.ts'
import { grantEvents, grantLine, postNative } from '../../rig/credentials.ts'
import { makeApplication } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

const rotate = (access_key: string, by = service.application) =>
  postNative(service, by, '/auth/key/rotate', { access_key })

it('each rotation is recorded once, and a repeated request is no rotation', async () => {
  const { credential, grantId } = await connect(service, { variant: 'key' })
  const first = await rotate(credential)
  expect((await rotate(credential)).body.access_key).toBe(first.body.access_key)
  expect(await grantEvents(service, grantId)).toEqual([{ kind: 'grant.key_rotated', detail: {} }])
  await rotate(first.body.access_key)
  expect((await grantEvents(service, grantId)).map((event) => Object.values(event)[0])).toEqual([
    'grant.key_rotated',
    'grant.key_rotated',
  ])
})

it('another application rotates nothing, and gets the same answer as for an unknown key', async () => {
  const thief = await makeApplication(service.context.db, service.config, service.account.slug)
  await service.context.applications.refresh()
  const { credential, grantId } = await connect(service, { variant: 'key' })
  const [stolen, made] = [await rotate(credential, thief), await rotate('lkk_made-up', thief)]
  expect([stolen.status, stolen.body.error]).toEqual([400, 'invalid_grant'])
  expect(stolen.text).toBe(made.text)
  expect(await grantLine(service, grantId)).toEqual({ generation: 1, key: 1, revocation_reason: null })
  expect((await askMe(service, credential)).status).toBe(200)
})
