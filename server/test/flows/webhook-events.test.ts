/** Webhook events: every committed event is queued, and no other. docs/interface/webhooks.md. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { byOperator } from '../../src/core/audit/actor.ts'
import { sendPersonLink } from '../../src/flows/accounts/people.ts'
import { restoreApplication, suspendApplication } from '../../src/flows/applications/manage.ts'
import { removeGrant } from '../../src/flows/grants/connected-applications.ts'
import { reportCredential, revokeCredential } from '../../src/flows/grants/revoke-credential.ts'
import { sweep } from '../../src/flows/sweep.ts'
import { removeEndpoint } from '../../src/flows/webhooks/manage.ts'
import { recordEvent } from '../../src/store/audit/events.ts'
import { connect, grant } from '../rig/connect.ts'
import { post } from '../rig/device.ts'
import { type MadeUser, makeApplication, makeUser } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { switchTestModeOff, switchTestModeOn } from '../rig/test-mode.ts'
import { deliveriesOf, type MadeEndpoint, makeEndpoint } from '../rig/webhooks.ts'

const DAY = 24 * 3_600_000

let service: TestService
let user: MadeUser
let endpoint: MadeEndpoint
beforeAll(async () => {
  // No receiver listens, so deliveries stay queued until they were tried.
  service = await startTestService({ OUTBOUND_PRIVATE: 'true' }, { clock: true })
})
afterAll(() => service.stop())
beforeEach(async () => {
  await service.database.query("update webhook_endpoints set disabled_at = now(), disabled_reason = 'removed'")
  user = await makeUser(service.context.db, service.account.slug, { holds: ['orders:read', 'orders:write'] })
  endpoint = await makeEndpoint(service, 'http://127.0.0.1:9009/hooks')
})

const heard = async () => (await deliveriesOf(service, endpoint.id)).map(({ kind, data }) => ({ kind, data }))
const about = (grantId: string, given: object = {}) => ({
  application: service.application.id,
  account: service.account.slug,
  user: user.id,
  grant: grantId,
  scope: 'orders:read,orders:write',
  variant: 'token_set',
  test: false,
  ...given,
})
const created = (grantId: string, given: object = {}) => ({ kind: 'grant.created', data: about(grantId, given) })
const revoked = (grantId: string, reason: string, given: object = {}) => ({
  kind: 'grant.revoked',
  data: about(grantId, { reason, ...given }),
})

describe('a grant', () => {
  it.each([
    ['oauth', 'token_set'],
    ['key', 'access_key'],
  ] as const)('that is made is told of, with what was granted: %s', async (variant, named) => {
    const { grantId } = await connect(service, { user, variant })
    expect(await heard()).toEqual([created(grantId, { variant: named })])
  })

  it('made in test mode is marked as a test, also when it ends with test mode', async () => {
    const test_secret = await switchTestModeOn(service, service.application)
    const device = service.device()
    const code = await device.code({ scope: 'orders:read' })
    const decided = { ...device.credentials, test_secret, user_code: code.user_code, decision: 'grant' }
    expect((await post(service.address, '/auth/test/decision', { form: decided })).status).toBe(200)
    const [row] = await service.database.query<{ id: string }>('select id from grants where test_ends_at is not null')
    await switchTestModeOff(service, service.application)
    const told = { user: service.user.id, scope: 'orders:read', test: true }
    expect(await heard()).toEqual([created(row?.id ?? '', told), revoked(row?.id ?? '', 'test_mode_ended', told)])
  })

  it.each([
    ['removed_by_user', false],
    ['removed_by_administrator', true],
  ])('that users remove causes an event: %s', async (reason, asAdministrator) => {
    const { grantId } = await connect(service, { user })
    const by = asAdministrator ? service.user.id : user.id
    await removeGrant(service.context, { by, grantId, asAdministrator, reported: false })
    expect(await heard()).toEqual([created(grantId), revoked(grantId, reason)])
  })

  it('that its application revokes causes an event', async () => {
    const { grantId, credential } = await connect(service, { user })
    const { id: applicationId, secret } = service.application
    await revokeCredential(service.context, { applicationId, secret, credential, variant: null })
    expect(await heard()).toEqual([created(grantId), revoked(grantId, 'revoked_by_application')])
  })

  it('whose credential is reported causes two events: the revocation and the report', async () => {
    const { grantId, refreshToken } = await connect(service, { user })
    expect(await reportCredential(service.context, refreshToken)).toBe(true)
    expect(await heard()).toEqual([
      created(grantId),
      revoked(grantId, 'credential_reported'),
      { kind: 'credential.reported', data: about(grantId, { credential: 'refresh_token' }) },
    ])
  })

  it('revoked with many others at once causes its own event', async () => {
    const grants = [await connect(service, { user }), await connect(service, { user })]
    const key = await connect(service, { user, variant: 'key' })
    await sendPersonLink(service.context, service.user.id, user.id, 'en')
    const told = await heard()
    expect(told.slice(3)).toEqual(expect.arrayContaining(grants.map(({ grantId }) => revoked(grantId, 'user_reset'))))
    expect(told).toHaveLength(5)
    expect(told.filter(({ data }) => data.grant === key.grantId)).toHaveLength(1)
  })

  it('that was not collected causes an event when it is swept', async () => {
    const { grantId } = await grant(service, { user })
    await service.database.advance(3 * DAY)
    await sweep(service.context.db, service.config)
    expect(await heard()).toEqual([created(grantId), revoked(grantId, 'never_collected')])
  })
})

describe('an application', () => {
  it('that is suspended, revoked and restored is notified, with reasons', async () => {
    const application = await makeApplication(service.context.db, service.config, service.account.slug)
    await service.context.applications.refresh()
    endpoint = await makeEndpoint(service, 'http://127.0.0.1:9009/suspended', { application })
    const { grantId } = await connect(service, { user, application })
    await suspendApplication(service.context.db, application.id, 'ignores slow_down', true)
    await restoreApplication(service.context.db, application.id, 'firmware fixed')
    const data = { application: application.id }
    expect(await heard()).toEqual([
      created(grantId, data),
      { kind: 'application.suspended', data: { ...data, reason: 'by_operator', message: 'ignores slow_down' } },
      revoked(grantId, 'application_suspended', data),
      { kind: 'application.restored', data: { ...data, reason: 'by_operator', message: 'firmware fixed' } },
    ])
  })

  it('that is warned is notified, without the operator', async () => {
    const { context, application, account } = service
    const detail = { reason: 'polls_too_fast', review: 'rev_000000000001' }
    const event = {
      kind: 'application.warned',
      actor: byOperator(service.user.id),
      accountId: account.id,
      detail,
    } as const
    await context.db.transaction((tx) => recordEvent(tx, { ...event, applicationId: application.id }))
    expect(await heard()).toEqual([
      { kind: 'application.warned', data: { application: application.id, reason: 'polls_too_fast' } },
    ])
  })

  it('is not notified of other applications, of other kinds, or after its endpoint was removed', async () => {
    const other = await makeApplication(service.context.db, service.config, service.account.slug)
    await service.context.applications.refresh()
    await connect(service, { user, application: other })
    await service.reject((await service.device().code()).user_code, user)
    await removeEndpoint(service.context, service.user.id, service.application.id, endpoint.id)
    await connect(service, { user })
    expect(await heard()).toEqual([])
  })
})

describe('an event', () => {
  it('has one id for all endpoints', async () => {
    const second = await makeEndpoint(service, 'http://127.0.0.1:9009/second')
    await connect(service, { user })
    await connect(service, { user })
    const [here, there] = [await deliveriesOf(service, endpoint.id), await deliveriesOf(service, second.id)]
    const ids = here.map(({ event_id }) => event_id)
    expect(there.map(({ event_id }) => event_id)).toEqual(ids)
    expect(new Set(ids).size).toBe(2)
  })

  it('that was not committed is not queued', async () => {
    const { context, application } = service
    const failing = context.db.transaction(async (tx) => {
      await recordEvent(tx, {
        kind: 'application.warned',
        actor: byOperator(service.user.id),
        applicationId: application.id,
      })
      throw new Error('after all, no')
    })
    await expect(failing).rejects.toThrow('after all, no')
    expect(await heard()).toEqual([])
  })

  it('contains ids and facts: no secret, no credential, no code, no name, no e-mail address', async () => {
    const connected = await connect(service, { user })
    await reportCredential(service.context, connected.credential)
    const told = JSON.stringify(await heard())
    const { credential, refreshToken, deviceCode, userCode } = connected
    for (const hidden of [credential, refreshToken, deviceCode, userCode, service.application.secret, user.email]) {
      expect(told).not.toContain(hidden)
    }
    expect(told).not.toMatch(/@|lk[a-z]_|whsec_/)
  })
})

it('is queued for each of ten thousand grants revoked at once, each with its own id', async () => {
  const application = await makeApplication(service.context.db, service.config, service.account.slug)
  endpoint = await makeEndpoint(service, 'http://127.0.0.1:9009/many', { application })
  await service.database.query(
    `insert into grants (id, secret, account_id, user_id, application_id, variant, scopes, key_id, device_code_id, created_at)
     select 'grt_' || left(md5('g' || n), 20), gen_random_uuid(), $1, $2, $3, 'token_set', '{orders:read}', 1, md5('c' || n)::uuid, now()
     from generate_series(1, 10000) n`,
    [service.account.id, user.id, application.id],
  )
  const suspended = await suspendApplication(service.context.db, application.id, 'for a look', true)
  expect(suspended).toMatchObject({ value: { revoked: 10_000 } })
  const [counted] = await service.database.query<{ told: number; ids: number }>(
    `select count(*)::int as told, count(distinct event_id)::int as ids from webhook_deliveries
     where endpoint_id = $1 and kind = 'grant.revoked'`,
    [endpoint.id],
  )
  expect(counted).toEqual({ told: 10_000, ids: 10_000 })
})
