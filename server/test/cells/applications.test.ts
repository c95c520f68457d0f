/** What its owner or an operator does to an application in the home cell reaches its codes and grants in every cell. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { byOperator } from '../../src/core/audit/actor.ts'
import { restoreApplication, rotateSecret, suspendApplication } from '../../src/flows/applications/manage.ts'
import { deleteOwnApplication, revokeOwnSecret } from '../../src/flows/applications/own.ts'
import { moveBuckets } from '../../src/flows/cells/move.ts'
import { restoreGrantsOfApplication, revokeGrantsOfApplication } from '../../src/flows/grants/revoke-of-application.ts'
import { markApplicationChanged } from '../../src/store/applications/applications.ts'
import { PUBLISHER, startTestCells, type TestCells, until } from '../rig/cells.ts'
import { Device } from '../rig/device.ts'
import { type MadeApplication, type MadeUser, makeApplication, makeUser } from '../rig/make.ts'
import { A, B, cellOf, connectIn, HOME, moveIn, type Tokens, verifyIn } from './cells-scene.ts'

let all: TestCells
let owner: MadeUser
beforeAll(async () => {
  all = await startTestCells({ POLL_INTERVAL: '1' })
  owner = await makeUser(contextOf(HOME).db, PUBLISHER)
}, 300_000)
afterAll(() => all?.stop())

const EVERYWHERE = [HOME, A, B]

/** What the documents promise, and what a busy machine adds. */
const SOON_MS = 2_000 + 3_000

const contextOf = (id: number) => cellOf(all, id).service.context
const soon = (check: () => Promise<boolean>) => until(check, SOON_MS)
const deviceAt = (cell: number, application: MadeApplication) =>
  new Device(cellOf(all, cell).service.address, application)

async function makeKnownApplication(): Promise<MadeApplication> {
  const application = await makeApplication(contextOf(HOME).db, contextOf(HOME).config, PUBLISHER)
  for (const cell of EVERYWHERE) await until(async () => (await deviceAt(cell, application).request()).status === 200)
  return application
}

/** A grant in each cell; its code was requested in the next one. */
async function connectEverywhere(application: MadeApplication): Promise<readonly Tokens[]> {
  const grants: Tokens[] = []
  for (const cell of EVERYWHERE)
    grants.push(await connectIn(all, await all.makeMember(cell), (cell + 1) % 3, cell, application))
  return grants
}

/** Statuses of one verification in each cell. */
const verifyAll = (grants: readonly Tokens[]) =>
  Promise.all(grants.map(async ({ access_token }, cell) => (await verifyIn(all, cell, access_token)).status))

const areAll = (status: number, grants: readonly Tokens[]) => async () =>
  (await verifyAll(grants)).every((each) => each === status)

/** Kinds and reasons of the events about grants of an application, in every cell. */
const eventsOf = (application: MadeApplication) =>
  all.query<{ kind: string; reason: string | null; actor: string }>(
    `select kind, detail ->> 'reason' as reason, actor_id as actor from audit_events
     where application_id = $1 and kind in ('grant.revoked', 'grant.restored') order by id`,
    [application.id],
  )

const suspend = async (application: MadeApplication, revoking: boolean) => {
  const result = await suspendApplication(contextOf(HOME).db, application.id, 'why', revoking)
  expect(result.outcome).toBe('done')
}

test('a suspended application gets no codes in any cell, and codes again when it is restored', async () => {
  const application = await makeKnownApplication()
  const answersAre = (status: number) => async () => {
    const answers = await Promise.all(EVERYWHERE.map((cell) => deviceAt(cell, application).request()))
    return answers.every((answer) => answer.status === status)
  }
  const grants = await connectEverywhere(application)
  await suspend(application, false)
  await soon(answersAre(403))
  expect(await verifyAll(grants)).toEqual([200, 200, 200])
  await restoreApplication(contextOf(HOME).db, application.id, 'why')
  await soon(answersAre(200))
})

test('a new secret is accepted in every cell, and a revoked one in none', async () => {
  const application = await makeKnownApplication()
  const rotated = await rotateSecret(contextOf(HOME).db, contextOf(HOME).config.keys, application.id)
  if (rotated.outcome === 'refused') throw new Error(rotated.reason)
  const answersAre = (secret: string, status: number) => async () => {
    const answers = EVERYWHERE.map((cell) => deviceAt(cell, { ...application, secret }).request())
    return (await Promise.all(answers)).every((answer) => answer.status === status)
  }
  await soon(answersAre(rotated.value.secret, 200))
  const [old] = await all.query<{ id: string }>(
    'select id from application_secrets where application_id = $1 order by created_at limit 1',
    [application.id],
  )
  expect(await revokeOwnSecret(contextOf(HOME), owner.id, application.id, old?.id ?? '')).toEqual({
    outcome: 'revoked',
  })
  await soon(answersAre(application.secret, 401))
  expect(await answersAre(rotated.value.secret, 200)()).toBe(true)
})

test('a suspension with revocation ends the grants in every cell once, and none that was made later', async () => {
  const application = await makeKnownApplication()
  const grants = await connectEverywhere(application)
  expect(await verifyAll(grants)).toEqual([200, 200, 200])
  await suspend(application, true)
  await soon(areAll(401, grants))
  const revoked = { kind: 'grant.revoked', reason: 'application_suspended', actor: 'cli' }
  expect(await eventsOf(application)).toEqual([revoked, revoked, revoked])
  await restoreApplication(contextOf(HOME).db, application.id, 'why')
  for (const cell of EVERYWHERE) await until(async () => (await deviceAt(cell, application).request()).status === 200)
  const later = await connectEverywhere(application)
  await all.restart(A)
  await sleep(1_500)
  expect(await verifyAll(later)).toEqual([200, 200, 200])
  expect(await eventsOf(application)).toHaveLength(3)
})

/** Decisions are in the home cell only. */
async function insertDecision({ id }: MadeApplication): Promise<string> {
  const { db } = contextOf(HOME)
  await db.query(
    `insert into reviews (id, application_id, opened_at, reason, verdict, harm, evidence, judged_at, rule_version, dry_run, last_escalated_at)
     values ('rev_000000000001', $1, now(), 'operator', 'review', 0, '{}', now(), 1, false, now())`,
    [id],
  )
  const { rows } = await db.query<{ id: string }>(
    `insert into review_decisions (id, review_id, decided_at, decided_by, decision, reason, words, needs_second, seen, operators)
     values ('dec_000000000001', 'rev_000000000001', now(), $1, 'keep_and_revoke', 'phishing', 'words', false, '', array[$1]) returning id`,
    [owner.id],
  )
  return rows[0]?.id ?? ''
}

test('what a review revoked in every cell is restored in every cell when the decision is undone', async () => {
  const application = await makeKnownApplication()
  const grants = await connectEverywhere(application)
  const { db } = contextOf(HOME)
  const [decision, operator] = [await insertDecision(application), byOperator(owner.id)]
  await db.transaction(async (tx) => {
    await markApplicationChanged(tx, application.id)
    expect(await revokeGrantsOfApplication(tx, operator, application.id, 'revoked_by_review', decision)).toBe(1)
  })
  await soon(areAll(401, grants))
  await db.transaction(async (tx) => {
    await markApplicationChanged(tx, application.id)
    expect(await restoreGrantsOfApplication(tx, operator, application.id, decision)).toBe(1)
  })
  await soon(areAll(200, grants))
  expect((await eventsOf(application)).map(({ kind, actor }) => `${kind} by ${actor}`).toSorted()).toEqual([
    ...Array.from({ length: 3 }, () => `grant.restored by ${owner.id}`),
    ...Array.from({ length: 3 }, () => `grant.revoked by ${owner.id}`),
  ])
})

test('a deleted application has no live grant in any cell, and gets no codes', async () => {
  const application = await makeKnownApplication()
  const grants = await connectEverywhere(application)
  expect(await deleteOwnApplication(contextOf(HOME), owner.id, application.id)).toEqual({ outcome: 'deleted' })
  await soon(areAll(401, grants))
  for (const cell of EVERYWHERE) await soon(async () => (await deviceAt(cell, application).request()).status === 401)
  const live = () => all.query('select from grants where application_id = $1 and revoked_at is null', [application.id])
  await soon(async () => (await live()).length === 0)
})

test('a cell that was away revokes when it is back', async () => {
  const application = await makeKnownApplication()
  const grants = await connectEverywhere(application)
  await cellOf(all, A).service.stop()
  await suspend(application, true)
  const others = grants.filter((_, cell) => cell !== A)
  await soon(async () =>
    (await Promise.all(others.map(({ access_token }, at) => verifyIn(all, at === 0 ? HOME : B, access_token)))).every(
      ({ status }) => status === 401,
    ),
  )
  await all.start(A)
  await soon(areAll(401, grants))
})

test('grants that a source has not revoked yet do not move to a target that has', async () => {
  const application = await makeKnownApplication()
  const member = await all.makeMember(A)
  const { access_token } = await connectIn(all, member, B, A, application)
  await cellOf(all, A).service.stop()
  await suspend(application, true)
  const applied = async (cell: number) =>
    (await cellOf(all, cell).pool.query('select revocations_applied as id from this_cell')).rows[0].id
  const [last] = await all.query<{ id: string }>('select max(id) as id from application_revocations')
  await until(async () => (await applied(B)) === last?.id)
  const moving = moveBuckets(contextOf(HOME).db, {
    buckets: [member.bucket],
    to: B,
    sourceUrl: cellOf(all, A).url,
    targetUrl: cellOf(all, B).url,
    dialogCodeLifetimeMs: 60_000,
  })
  await sleep(3_000)
  await all.start(A)
  expect((await moving).outcome).toBe('done')
  expect((await verifyIn(all, B, access_token)).status).toBe(401)
})

const lockOf = (bucket: number) => `hashtextextended('bucket:' || ${bucket}, 0)`

test('a cell revokes its own grants also while it has copies of others, which arrive revoked', async () => {
  const application = await makeKnownApplication()
  const [moving, staying] = [await all.makeMember(A), await all.makeMember(B)]
  const inBucket = await connectIn(all, moving, A, A, application)
  const own = await connectIn(all, staying, B, B, application)
  // A transaction changes the bucket, so that the move gives up.
  const busy = await cellOf(all, A).pool.connect()
  await busy.query(`begin; select pg_advisory_xact_lock_shared(${lockOf(moving.bucket)})`)
  await expect(moveIn(all, [moving.bucket], [A, B], 1)).rejects.toThrow('always has open')
  await busy.query('rollback')
  busy.release()
  const copies = await cellOf(all, B).pool.query('select from grants where user_id = $1', [moving.id])
  expect(copies.rows).toHaveLength(1)
  await suspend(application, true)
  await soon(async () => (await verifyIn(all, B, own.access_token)).status === 401)
  await soon(async () => (await verifyIn(all, A, inBucket.access_token)).status === 401)
  expect((await moveIn(all, [moving.bucket], [A, B])).outcome).toBe('done')
  expect((await verifyIn(all, B, inBucket.access_token)).status).toBe(401)
  expect(await eventsOf(application)).toHaveLength(2)
}, 60_000)

test('grants that are revoked between the mark in the source and the flip of the map are revoked in the target', async () => {
  const application = await makeKnownApplication()
  const member = await all.makeMember(A)
  const { access_token } = await connectIn(all, member, B, A, application)
  const [home, source] = [await cellOf(all, HOME).pool.connect(), await cellOf(all, A).pool.connect()]
  // The move begins, and waits before its end until the map is locked.
  await source.query(`begin; select pg_advisory_xact_lock_shared(${lockOf(member.bucket)})`)
  const move = moveIn(all, [member.bucket], [A, B])
  const moves = (cell: number) => cellOf(all, cell).pool.query<{ moved: boolean }>('select moved from bucket_moves')
  await until(async () => (await moves(B)).rows.length === 1)
  await home.query('begin; select from cell_map for update')
  await source.query('rollback')
  await until(async () => (await moves(A)).rows[0]?.moved ?? false)
  await suspend(application, true)
  await sleep(2_000)
  await home.query('rollback')
  for (const client of [home, source]) client.release()
  expect((await move).outcome).toBe('done')
  await soon(async () => (await verifyIn(all, B, access_token)).status === 401)
  expect(await eventsOf(application)).toHaveLength(1)
}, 60_000)
