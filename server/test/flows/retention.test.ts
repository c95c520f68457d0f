/** Retention of grants and of the addresses in them. docs/operations/backup.md, "Data retention". */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sweep } from '../../src/flows/sweep.ts'
import { lockGrant } from '../../src/store/grants/grants.ts'
import { listGrants } from '../../src/store/grants/listed.ts'
import { tryLockByName } from '../../src/store/postgres/advisory-locks.ts'
import type { Postgres } from '../../src/store/postgres/postgres.ts'
import { forgetEndedGrants } from '../../src/store/postgres/retention.ts'
import { askMe, type Connected, connect } from '../rig/connect.ts'
import { postNative } from '../rig/credentials.ts'
import { refresh } from '../rig/dialog.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { signInAs } from '../rig/signed-in.ts'
import { textOf } from '../rig/web.ts'

const DAY = 24 * 3_600_000

/** More than a sweep deleted when it was limited by number. */
const BACKLOG = 50_700

let service: TestService
beforeAll(async () => {
  service = await startTestService({}, { clock: true })
})
afterAll(() => service.stop())

const run = (given = {}) => sweep(service.context.db, { ...service.config, ...given })
/** Moves the clock, and lets each process pull it. */
const pass = async (days: number) => {
  await service.database.advance(days * DAY)
  await service.context.applications.refresh()
  await service.context.grantCache.pull()
}
const revoke = ({ grantId }: Connected) =>
  service.database.query(
    "update grants set revoked_at = test_clock.now(), revocation_reason = 'removed_by_user' where id = $1",
    [grantId],
  )
const isThere = async ({ grantId }: Connected) =>
  (await service.database.query('select from grants where id = $1', [grantId])).length === 1
const addressOf = async ({ grantId }: Connected) =>
  (
    await service.database.query<{ at: string | null }>('select host(requested_from) as at from grants where id = $1', [
      grantId,
    ])
  )[0]?.at

it('a revoked grant is deleted after a year, and a younger one stays', async () => {
  const [older, younger, key] = [
    await connect(service),
    await connect(service),
    await connect(service, { variant: 'key' }),
  ]
  await revoke(older)
  await pass(2)
  await revoke(younger)
  await pass(362)
  await run()
  expect([await isThere(older), await isThere(younger)]).toEqual([true, true])
  await pass(2)
  await run()
  expect([await isThere(older), await isThere(younger), await isThere(key)]).toEqual([false, true, true])
  expect((await askMe(service, key.credential)).status).toBe(200)
})

it('an expired token set counts as ended, an access key never expires', async () => {
  const [token, key] = [await connect(service), await connect(service, { variant: 'key' })]
  await pass(365 + 364)
  await run()
  expect(await isThere(token)).toBe(true)
  await pass(2)
  await run()
  expect([await isThere(token), await isThere(key)]).toEqual([false, true])
  expect((await askMe(service, key.credential)).status).toBe(200)
})

it('a backlog of ended grants is deleted in one sweep', async () => {
  const { grantId } = await connect(service)
  const columns = (
    await service.database.query<{ name: string }>(
      `select column_name as name from information_schema.columns
     where table_name = 'grants' and is_generated = 'NEVER' and column_name not in ('id', 'secret', 'device_code_id', 'dialog_id', 'revoked_at', 'revocation_reason')`,
    )
  ).map(({ name }) => name)
  await service.database.query(
    `insert into grants (id, secret, device_code_id, dialog_id, revoked_at, revocation_reason, ${columns.join(', ')})
     select 'grt_' || lpad(n::text, 20, '0'), gen_random_uuid(), null, gen_random_uuid(), test_clock.now() - interval '2 years', 'removed_by_user', ${columns.join(', ')}
     from grants, generate_series(1, ${BACKLOG}) n where id = $1`,
    [grantId],
  )
  const began = performance.now()
  await run()
  console.log(`retention: ${Math.round(BACKLOG / ((performance.now() - began) / 1_000))} ended grants a second`)
  const [left] = await service.database.query<{ count: number }>(
    "select count(*)::integer as count from grants where id like 'grt_00000000%'",
  )
  expect(left).toEqual({ count: 0 })
})

it('an address is deleted after ninety days while its grant lives, and a younger one stays', async () => {
  const key = await connect(service, { variant: 'key' })
  await pass(2)
  const younger = await connect(service, { variant: 'key' })
  await service.database.query("update grants set requested_from = '192.0.2.7' where id = any($1)", [
    [key.grantId, younger.grantId],
  ])
  await pass(87)
  await run()
  expect([await addressOf(key), await addressOf(younger)]).toEqual(['192.0.2.7', '192.0.2.7'])
  await pass(2)
  await run()
  expect([await addressOf(key), await addressOf(younger)]).toEqual([null, '192.0.2.7'])
  expect((await askMe(service, key.credential)).status).toBe(200)
  const web = await signInAs(service, service.user)
  const page = await web.get('/applications')
  expect(page.status).toBe(200)
  expect(page.text).toContain(key.grantId)
})

it('credentials of a deleted grant are invalid, and every page and list works without it', async () => {
  const gone = await connect(service)
  const web = await signInAs(service, service.user)
  await web.get(`/applications/remove?grant=${gone.grantId}`)
  await web.submit('/applications/remove')
  await pass(366)
  await run()
  expect(await isThere(gone)).toBe(false)

  expect((await askMe(service, gone.credential)).status).toBe(401)
  const refreshed = await refresh(service, service.application, gone.refreshToken)
  expect(refreshed.body.error).toBe('invalid_grant')
  const given = { token: gone.refreshToken }
  expect((await postNative(service, service.application, '/auth/oauth/revoke', given)).status).toBe(200)
  const later = await signInAs(service, service.user)
  expect((await later.get('/applications')).status).toBe(200)
  expect((await later.get('/account/applications')).status).toBe(200)
  expect((await later.get(`/applications/remove?grant=${gone.grantId}`)).status).toBe(404)
  const audit = await later.get('/account/audit')
  expect(audit.status).toBe(200)
  expect(textOf(audit.text)).toContain('removed')
  const events = 'select kind from audit_events where grant_id = $1 order by id'
  expect((await service.database.query(events, [gone.grantId])).length).toBeGreaterThan(2)
  const limits = { unusedMs: DAY, maxMs: DAY, accessTokenMs: DAY }
  const page = await listGrants(
    service.context.db,
    { userId: service.user.id },
    { search: '', sort: 'connected', descending: true, after: gone.grantId },
    limits,
  )
  expect(page.lines).toEqual([])
})

it('a grant is kept as long as a mail links to it', async () => {
  const early = await connect(service)
  await revoke(early)
  const links = () => service.database.query('select from links where grant_id = $1', [early.grantId])
  await pass(8)
  await run({ grantRetentionMs: 7 * DAY })
  expect([await isThere(early), (await links()).length]).toEqual([true, 1])
  await pass(54)
  await run({ grantRetentionMs: 7 * DAY })
  expect([await isThere(early), (await links()).length]).toEqual([false, 0])
})

it('a locked grant is skipped, and the next sweep deletes it', async () => {
  const [busy, idle] = [await connect(service, { variant: 'key' }), await connect(service, { variant: 'key' })]
  const ended = await connect(service)
  await revoke(ended)
  await service.database.query("update grants set requested_from = '192.0.2.7' where id = any($1)", [
    [busy.grantId, idle.grantId],
  ])
  await pass(366)
  await service.context.db.transaction(async (tx) => {
    await lockGrant(tx, busy.grantId)
    await lockGrant(tx, ended.grantId)
    await run()
  })
  expect([await addressOf(busy), await addressOf(idle), await isThere(ended)]).toEqual(['192.0.2.7', null, true])
  await run()
  expect([await addressOf(busy), await isThere(ended)]).toEqual([null, false])
})

it('the sweep runs in one process at a time, five hundred grants per statement', async () => {
  const ended = await connect(service)
  await revoke(ended)
  await service.database.query(
    `insert into grants (id, secret, account_id, user_id, application_id, variant, scopes, device_code_id, key_id, created_at, revoked_at,
       revocation_reason)
     select 'grt_' || left(md5(n::text), 20), gen_random_uuid(), account_id, user_id, application_id, variant, scopes, gen_random_uuid(), key_id, created_at, revoked_at,
       revocation_reason
     from grants, generate_series(1, 1199) n where id = $1`,
    [ended.grantId],
  )
  await pass(366)
  await run({ grantRetentionMs: 3_650 * DAY })
  const written: (number | null)[] = []
  const { db } = service.context
  const counted: Postgres = {
    ...db,
    transaction: (work) =>
      db.transaction((tx) => {
        const query: typeof tx.query = async (statement, values) => {
          const result = await tx.query(statement, values)
          if (String(statement).startsWith('delete')) written.push(result.rowCount)
          return result as never
        }
        return work({ ...tx, query })
      }),
  }
  const limits = { keptMs: service.config.grantRetentionMs, maxMs: service.config.grantLifetimeMs }
  await db.transaction(async (tx) => {
    expect(await tryLockByName(tx, 'forgetting_grants')).toBe(true)
    await forgetEndedGrants(counted, limits)
    expect(written).toEqual([])
  })
  await forgetEndedGrants(counted, limits)
  expect(written.slice(0, 3)).toEqual([500, 500, expect.any(Number)])
  expect(await service.database.query('select from grants where revoked_at is not null')).toEqual([])
})
