/** What makes the service log an event that operators have alerts for. The lines themselves: server/test/events.test.ts. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { connect } from '../rig/connect.ts'
import { post } from '../rig/device.ts'
import { allow, allSettled, exchange, makeDialogApplication, openQuestion, refresh } from '../rig/dialog.ts'
import { createTestDatabase } from '../rig/engines/database.ts'
import { startOwnRedis, startRedisAt } from '../rig/engines/own-redis.ts'
import { makeHost, signInAtHost } from '../rig/host-service.ts'
import { connectProvider, PROVIDER_ENVIRONMENT, signInAtProvider, startProvider } from '../rig/identity-provider.ts'
import type { MadeApplication } from '../rig/make.ts'
import { startServerProcess } from '../rig/process/server-process.ts'
import { startTestService, type TestService } from '../rig/service.ts'

let service: TestService
let application: MadeApplication
beforeAll(async () => {
  service = await startTestService(PROVIDER_ENVIRONMENT)
  application = await makeDialogApplication(service, { deviceFlow: true })
})
afterAll(() => service.stop())

/** Calls of the event by this service, from here on. */
function watch(
  event: 'grantRevoked' | 'codeRejected' | 'dialogDenied' | 'providerFailed' | 'statementRefused',
  of = service,
) {
  return vi.spyOn(of.context.events, event).mock.calls
}
it('grant_revoked: a refresh token is used after its successor', async () => {
  const { refreshToken, grantId } = await connect(service, { application })
  const logged = watch('grantRevoked')
  const second = (await refresh(service, application, refreshToken)).body.refresh_token ?? ''
  await refresh(service, application, second)
  expect(logged).toEqual([])
  expect((await refresh(service, application, refreshToken)).body.error).toBe('invalid_grant')
  expect(logged).toEqual([[grantId, 'refresh_token_reused']])
  // The grant has ended, so there is nothing to tell the second time.
  await refresh(service, application, refreshToken)
  expect(logged).toHaveLength(1)
})

it('grant_revoked: a code of the dialog is exchanged twice, or a credential is reported', async () => {
  const logged = watch('grantRevoked')
  const allowed = await allow(service, { application })
  expect((await exchange(service, application, allowed)).status).toBe(200)
  await allSettled(service)
  expect((await exchange(service, application, allowed)).body.error).toBe('invalid_grant')
  expect(logged).toEqual([[expect.stringMatching(/^grt_/), 'authorization_code_reused']])
  const { credential, grantId } = await connect(service, { application })
  await post(service.address, '/auth/report', { form: { credential } })
  expect(logged.slice(1)).toEqual([[grantId, 'credential_reported']])
})

it('code_rejected and dialog_denied: a user rejects an application', async () => {
  const [codes, dialogs] = [watch('codeRejected'), watch('dialogDenied')]
  const { user_code } = await service.device('oauth', application).code()
  expect(await service.reject(user_code)).toBe('rejected')
  const { window } = await openQuestion(service, { application })
  await window.submit(window.account, '/dialog/decision', { decision: 'cancel' })
  expect([codes, dialogs]).toEqual([[[application.id, service.account.id]], [[application.id, service.account.id]]])
})

it('provider_failed: an answer of an identity provider is not accepted', async () => {
  const logged = watch('providerFailed')
  const provider = await startProvider()
  await connectProvider(service, provider)
  const web = service.web()
  expect((await signInAtProvider(provider, web, { nonce: 'another' })).status).toBe(403)
  expect(logged).toEqual([[service.account.slug, expect.stringContaining('nonce')]])
  await provider.stop()
})

it('statement_refused: a statement of the host service is not accepted', async () => {
  const host = await makeHost()
  const own = await startTestService(host.environment)
  const logged = watch('statementRefused', own)
  expect((await signInAtHost(own, host, own.web(), { claims: { aud: 'https://elsewhere.example' } })).status).toBe(403)
  expect(logged).toEqual([[own.account.slug, expect.stringContaining('aud')]])
  await own.stop()
  host.remove()
})

it('mail_off and gate_not_shared: several processes start without SMTP_URL and REDIS_URL', async () => {
  const database = await createTestDatabase()
  const server = await startServerProcess({ DATABASE_URL: database.url }, { processes: 2 })
  await server.kill('SIGTERM')
  const times = (event: string) => server.log().split(`"event":"${event}"`).length - 1
  expect([times('mail_off'), times('gate_not_shared')]).toEqual([2, 1])
  await database.drop()
})

it('engine_away and engine_back: Redis stops and starts again', async () => {
  const [database, redis] = [await createTestDatabase(), await startOwnRedis()]
  const server = await startServerProcess({ DATABASE_URL: database.url, REDIS_URL: redis.url })
  const logs = (event: string) =>
    vi.waitFor(() => expect(server.log()).toContain(`"event":"${event}","engine":"redis"`), { timeout: 20_000 })
  await redis.stop()
  await logs('engine_away')
  expect(server.log()).not.toContain('engine_back')
  const again = await startRedisAt(redis.port)
  await logs('engine_back')
  await server.kill('SIGTERM')
  await again.stop()
  await database.drop()
})
