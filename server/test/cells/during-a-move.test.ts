/** What else may happen while a bucket moves: another move, a revocation, a mail, a registration; and accounts that stay. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { BY_COMMAND_LINE } from '../../src/core/audit/actor.ts'
import { eraseClosedAccounts } from '../../src/flows/accounts/close.ts'
import { recordRefusals } from '../../src/flows/sign-in/refusals.ts'
import { sweep } from '../../src/flows/sweep.ts'
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

/** Past the trigger, as a move does. */
const writeInA = (statement: string) =>
  cellOf(all, A).pool.query(`begin; set local latchkey.moving = 'on'; ${statement}; commit`)

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

test('a sweep purges what is past retention also while the rows of an account that has moved are still there', async () => {
  const [moved, staying] = [await all.makeMember(A), await all.makeMember(A)]
  const { pool } = cellOf(all, A)
  const old = "now() - interval '3 years'"
  for (const user of [moved, staying]) {
    // Three grants: ended long ago, with an address, and of a dialog whose code was never exchanged.
    for (let grant = 1; grant <= 3; grant += 1) await connectIn(all, user, A, A)
    // A grant is kept as long as the link in its mail.
    await pool.query('delete from mails where user_id = $1', [user.id])
    await pool.query('delete from links where user_id = $1', [user.id])
    const { rows } = await pool.query<{ id: string }>('select id from grants where user_id = $1', [user.id])
    const [ended, asked, unexchanged] = rows.map(({ id }) => id)
    await pool.query(
      `update grants set created_at = ${old}, revoked_at = ${old}, revocation_reason = 'removed_by_user' where id = $1`,
      [ended],
    )
    await pool.query(
      `update grants set created_at = now() - interval '100 days', requested_from = '192.0.2.1' where id = $1`,
      [asked],
    )
    await pool.query(
      `insert into dialogs (id, created_at, expires_at, application_id, redirect_uri, scopes, decided_at, user_id, grant_id)
       values (gen_random_uuid(), now(), now(), $1, 'https://a.example', '{}', now() - interval '1 hour', $2, $3)`,
      [all.application.id, user.id, unexchanged],
    )
    await pool.query(
      `insert into mails (kind, account_id, user_id, language, created_at, due_at, sent_at)
       select 'password_changed', u.account_id, u.id, 'en', ${old}, ${old}, ${old} from users u where u.id = $1`,
      [user.id],
    )
  }
  await markAsMoved(moved)
  for (const { id } of [moved, staying])
    await writeInA(`insert into refusal_counts (kind, hour, account_id, subject, reason, count)
      select 'page.refused', date_trunc('hour', ${old}, 'UTC'), account_id, id, 'forbidden', 1 from users where id = '${id}'`)
  const { db, config } = contextOf(A)
  await sweep(db, config)
  await recordRefusals(db)
  const left = async ({ id }: Member) => {
    const { rows } = await pool.query(
      `select (select count(*)::int from grants where user_id = $1) as grants,
         (select count(*)::int from grants where user_id = $1 and requested_from = '192.0.2.1') as addresses,
         (select count(*)::int from grants where user_id = $1 and revocation_reason = 'never_collected') as unexchanged,
         (select count(*)::int from mails where user_id = $1 and sent_at is not null) as mails,
         (select count(*)::int from refusal_counts where subject = $1) as refusals`,
      [id],
    )
    return rows[0]
  }
  expect(await left(staying)).toEqual({ grants: 2, addresses: 0, unexchanged: 1, mails: 0, refusals: 0 })
  expect(await left(moved)).toEqual({ grants: 3, addresses: 1, unexchanged: 0, mails: 1, refusals: 1 })
}, 60_000)

test('closed accounts are erased also while the rows of one that has moved are still there', async () => {
  const [moved, staying] = [await all.makeMember(A), await all.makeMember(A)]
  await markAsMoved(moved)
  await writeInA(`update accounts set closed_at = now() - interval '2 hours' where slug = '${moved.slug}'`)
  await writeInA(`update accounts set closed_at = now() - interval '1 hour' where slug = '${staying.slug}'`)
  await eraseClosedAccounts(contextOf(A).db)
  const { rows } = await cellOf(all, A).pool.query<{ id: string }>('select id from users where id = any($1)', [
    [moved.id, staying.id],
  ])
  expect(rows.map(({ id }) => id)).toEqual([moved.id])
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
