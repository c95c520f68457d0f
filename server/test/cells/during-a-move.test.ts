/** What else may happen while a bucket moves: another move, a revocation, a mail, a registration; and accounts that stay. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { BY_COMMAND_LINE } from '../../src/core/audit/actor.ts'
import { deleteMove, insertMove } from '../../src/store/cells/moves.ts'
import { revokeGrants } from '../../src/store/grants/grants.ts'
import { takeDueMail } from '../../src/store/mails.ts'
import { Unavailable } from '../../src/store/postgres/postgres.ts'
import { startTestCells, type TestCells } from '../rig/cells.ts'
import { makeApplication } from '../rig/make.ts'
import { A, B, cellOf, connectIn, HOME, moveIn, verifyIn } from './cells-scene.ts'

let all: TestCells
beforeAll(async () => {
  all = await startTestCells()
}, 300_000)
afterAll(() => all?.stop())

type Member = Awaited<ReturnType<TestCells['makeMember']>>

const contextOf = (id: number) => cellOf(all, id).service.context

const move = (buckets: readonly number[], from: number, to: number) => moveIn(all, buckets, [from, to], 1_000)

/** As a move out of A leaves it between marking the bucket and deleting its rows. */
async function markAsMoved({ bucket }: Member): Promise<void> {
  const { db } = contextOf(A)
  // Makes the triggers.
  const another = await all.makeMember(A)
  expect((await move([another.bucket], A, B)).outcome).toBe('done')
  await insertMove(db, { bucket, source: A, target: B })
  await db.query('update bucket_moves set moved = true where bucket = $1', [bucket])
  onTestFinished(() => deleteMove(db, bucket))
}

test('one command at a time moves buckets out of a cell', async () => {
  const user = await all.makeMember(A)
  const { access_token } = await connectIn(all, user, A, A)
  const other = await cellOf(all, A).pool.connect()
  await other.query("select pg_advisory_lock(hashtextextended('moving buckets', 0))")
  expect(await move([user.bucket], A, B)).toMatchObject({
    outcome: 'refused',
    reason: expect.stringContaining('Another "latchkey cell move"'),
  })
  other.release(true)
  const both = await Promise.all([move([user.bucket], A, B), move([user.bucket], A, B)])
  expect(both.some(({ outcome }) => outcome === 'done')).toBe(true)
  expect((await verifyIn(all, B, access_token)).status).toBe(200)
}, 60_000)

test('the grants of an application are revoked also while the rows of an account that has moved are still there', async () => {
  const [moved, staying] = [await all.makeMember(A), await all.makeMember(A)]
  await connectIn(all, moved, A, A)
  await connectIn(all, staying, A, A)
  await markAsMoved(moved)
  const { db } = contextOf(A)
  const which = { applicationId: all.application.id }
  await db.transaction((tx) => revokeGrants(tx, BY_COMMAND_LINE, which, 'application_suspended'))
  const { rows } = await cellOf(all, A).pool.query<{ user: string }>(
    'select user_id as user from grants where application_id = $1 and revoked_at is null',
    [all.application.id],
  )
  expect(rows.map(({ user }) => user)).toEqual([moved.id])
}, 60_000)

test('a mail of an account that has moved does not keep back the mails of others', async () => {
  const [moved, staying] = [await all.makeMember(A), await all.makeMember(A)]
  await cellOf(all, A).pool.query('delete from mails')
  for (const [user, minutes] of [
    [moved, 2],
    [staying, 1],
  ] as const) {
    await cellOf(all, A).pool.query(
      `insert into mails (kind, account_id, user_id, language, created_at, due_at)
       select 'password_changed', u.account_id, u.id, 'en', now(), now() - $2 * interval '1 minute' from users u where u.id = $1`,
      [user.id, minutes],
    )
  }
  await markAsMoved(moved)
  const { db } = contextOf(A)
  expect(await takeDueMail(db)).toMatchObject({ userId: staying.id })
  expect(await takeDueMail(db)).toBeNull()
}, 60_000)

test('an account that is being copied registers no first application', async () => {
  const user = await all.makeMember(HOME)
  const { db, config } = contextOf(HOME)
  await insertMove(db, { bucket: user.bucket, source: HOME, target: B })
  await expect(makeApplication(db, config, user.slug)).rejects.toThrow(Unavailable)
  await deleteMove(db, user.bucket)
  expect((await makeApplication(db, config, user.slug)).id).toMatch(/^app_/)
}, 60_000)

test('an account of former operators stays: what they decided refers to them', async () => {
  const user = await all.makeMember(A)
  await cellOf(all, A).pool.query(
    `insert into operator_changes (id, account_id, change, user_id, email, language, proposed_by, proposed_at, operators, expires_at)
     select 'opc_0123456789ab', account_id, 'reset', id, email, 'en', id, now(), '{}', now() from users where id = $1`,
    [user.id],
  )
  expect(await move([user.bucket], A, B)).toMatchObject({ outcome: 'refused' })
}, 60_000)

test('sessions that end while their account is copied have ended in the target, too', async () => {
  const user = await all.makeMember(A)
  const { pool } = cellOf(all, A)
  await pool.query(
    `insert into sessions (id, account_id, user_id, key_id, created_at, authenticated_at, last_used_at, expires_at)
     select gen_random_uuid(), account_id, id, 1, now(), now(), now(), now() + interval '1 hour'
     from users, generate_series(1, 5000) where id = $1`,
    [user.id],
  )
  const sessionsIn = async (cell: number) => {
    const { rows } = await cellOf(all, cell).pool.query<{ id: string }>(
      'select id from sessions where user_id = $1 order by id',
      [user.id],
    )
    return rows.map(({ id }) => id)
  }
  const live = await sessionsIn(A)
  let frozen = false
  const endSessions = async () => {
    while (!frozen && live.length > 1_000) {
      await pool.query('delete from sessions where id = $1', [live[0]]).then(
        () => live.shift(),
        () => {
          frozen = true
        },
      )
    }
  }
  const [moved] = await Promise.all([move([user.bucket], A, B), endSessions()])
  expect(moved.outcome).toBe('done')
  expect(frozen).toBe(true)
  expect(await sessionsIn(B)).toEqual(live)
}, 60_000)
