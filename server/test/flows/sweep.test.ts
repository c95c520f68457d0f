/** What the sweep deletes, and what is kept until then. For device codes see store/device/codes.test.ts. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { confirmExchangeSent, exchangeCode } from '../../src/flows/dialog/exchange-code.ts'
import { sweep } from '../../src/flows/sweep.ts'
import type { Queryable } from '../../src/store/postgres/postgres.ts'
import { forgetAttempts } from '../../src/store/sign-in/attempts.ts'
import { createScene } from '../rig/scenes/scene.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { eventKinds } from '../rig/witness.ts'

const DAY = 24 * 3_600_000

let service: TestService
beforeAll(async () => {
  service = await startTestService({}, { clock: true, listen: false })
})
afterAll(() => service.stop())

const run = () => sweep(service.context.db, service.config)
const linksLeft = async () =>
  (await service.database.query<{ kind: string }>('select kind from links order by kind::text')).map(({ kind }) => kind)
const addLink = (kind: string) =>
  service.database.query<{ id: string }>(
    `insert into links (id, kind, account_id, user_id, created_at, expires_at)
     values (gen_random_uuid(), $1, $2, $3, test_clock.now(), test_clock.now() + interval '1 day') returning id`,
    [kind, service.account.id, service.user.id],
  )

it('a link is deleted 31 days after its expiry, and not while a mail refers to it', async () => {
  await addLink('setup')
  const [mailed] = await addLink('recovery')
  await service.database.advance(31 * DAY)
  await run()
  expect(await linksLeft()).toEqual(['recovery', 'setup'])

  await service.database.query(
    `insert into mails (kind, account_id, user_id, link_id, language, created_at, due_at)
     values ('recovery', $1, $2, $3, 'en', test_clock.now(), test_clock.now())`,
    [service.account.id, service.user.id, mailed?.id],
  )
  await service.database.advance(1.1 * DAY)
  await run()
  expect(await linksLeft()).toEqual(['recovery'])
  await service.database.advance(30 * DAY)
  await run()
  expect(await linksLeft()).toEqual([])
})

it('a dialog’s grant is revoked if its code was not exchanged in time, and no other grant', async () => {
  const halfMs = service.config.dialogCodeLifetimeMs / 2
  const [late, taken, held] = [await createScene(service), await createScene(service), await createScene(service)]
  for (const [scene, settle] of [
    [taken, confirmExchangeSent],
    [held, null],
  ] as const) {
    const by = { applicationId: scene.application.id, secret: scene.application.secret, idempotencyKey: null }
    const exchanged = await exchangeCode(service.context, { ...by, ...(await scene.allowedDialog()) })
    if (exchanged.outcome !== 'exchanged' || !exchanged.ticket) throw new Error(exchanged.outcome)
    // With a lease, as when a process died: the answer may have been received.
    await settle?.(service.context, exchanged.ticket)
  }
  await late.allowedDialog()
  const ended = async () => {
    const sql = 'select user_id, revocation_reason from grants where revoked_at is not null'
    return (await service.database.query<{ user_id: string; revocation_reason: string }>(sql)).map(Object.values)
  }
  await service.database.advance(halfMs)
  await run()
  expect(await ended()).toEqual([])
  const announced = () => service.database.query('select from grant_changes')
  const before = (await announced()).length
  await service.database.advance(halfMs)
  await run()
  expect(await ended()).toEqual([[late.user.id, 'never_collected']])
  expect(await eventKinds(service, { user: late.user })).toEqual(['grant.created', 'grant.revoked'])
  expect(await announced()).toHaveLength(before + 1)
})

it('no statement deletes more than ten thousand rows', async () => {
  await service.database.query(
    `insert into sign_in_failures (at, account_id, email)
     select now() - interval '2 days', $1, '\\x00' from generate_series(1, 25000)`,
    [service.account.id],
  )
  const deleted: (number | null)[] = []
  const { db } = service.context
  const counted: Queryable = {
    query: async (statement, values) => {
      const result = await db.query(statement, values)
      deleted.push(result.rowCount)
      return result as never
    },
  }
  await forgetAttempts(counted)
  expect(deleted).toEqual([10_000, 10_000, 5_000, 0])
  expect(await service.database.query('select from sign_in_failures')).toEqual([])
})

it('partitions are dropped even if something else cannot be deleted', async () => {
  await run()
  await service.database.advance(3 * DAY)
  await service.database.query('alter table sign_in_failures rename to elsewhere')
  const oldest = () =>
    service.database.query<{ name: string }>(
      "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'device_codes'::regclass order by 1 limit 1",
    )
  const before = await oldest()
  await expect(run()).rejects.toThrow('sign_in_failures')
  await service.database.query('alter table elsewhere rename to sign_in_failures')
  expect(await oldest()).not.toEqual(before)
})
