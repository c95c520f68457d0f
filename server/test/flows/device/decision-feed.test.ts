/** flows/device/decision-feed.ts: every process drops the hint of a decided code, and the feed survives failures. */
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { createDecisionFeed, type DecisionFeed } from '../../../src/flows/device/decision-feed.ts'
import { enterUserCode } from '../../../src/flows/device/enter-code.ts'
import { openPostgres, type Queryable } from '../../../src/store/postgres/postgres.ts'
import { startOwnPostgres } from '../../rig/engines/own-postgres.ts'
import { makeAccount, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

let dropped: string[] = []
let woken: string[] = []
let forgotten: string[] = []
let feed: DecisionFeed
const createFeed = (db: Queryable) =>
  createDecisionFeed(
    db,
    { drop: async (id) => void dropped.push(id), forgetHints: () => void forgotten.push('hints') },
    { decided: (id) => void woken.push(id), readAll: () => void forgotten.push('rows') },
  )

/** Device code ids announced by a pull. */
async function pull(): Promise<readonly string[]> {
  dropped = []
  woken = []
  forgotten = []
  await feed.pull()
  expect(woken, 'their held polls read the row').toEqual(dropped)
  return dropped
}

beforeEach(async () => {
  feed = createFeed(service.context.db)
  await feed.pull()
})

async function newCode(): Promise<{ id: string; userCode: string }> {
  const { user_code: userCode, device_code } = await service.device().code()
  return { id: service.context.verifyDeviceCode(device_code, service.application.id)?.id ?? '', userCode }
}

it('a grant and a rejection are announced, once each, to a process that did not make them', async () => {
  const [yes, no, open] = [await newCode(), await newCode(), await newCode()]
  expect(await pull()).toEqual([])
  expect(await service.grant(yes.userCode)).toBe('granted')
  expect(await service.reject(no.userCode)).toBe('rejected')
  const announced = await pull()
  expect(new Set(announced)).toEqual(new Set([yes.id, no.id]))
  expect(announced).not.toContain(open.id)
  expect(await pull()).toEqual([])
})

it('wakes held polls although Redis has not answered', async () => {
  const calls: string[] = []
  const redis = Promise.withResolvers<void>()
  feed = createDecisionFeed(
    service.context.db,
    { drop: (id) => redis.promise.then(() => void calls.push(`dropped ${id}`)), forgetHints: () => {} },
    { decided: (id) => void calls.push(`woken ${id}`), readAll: () => {} },
  )
  await feed.pull()
  const code = await newCode()
  await service.grant(code.userCode)
  const pulling = feed.pull()
  await expect.poll(() => calls).toContain(`woken ${code.id}`)
  expect(calls).not.toContain(`dropped ${code.id}`)
  redis.resolve()
  await pulling
  expect(calls).toContain(`dropped ${code.id}`)
})

it('a code that a second account closed is announced; one that was only entered is not', async () => {
  const { context, user } = service
  const other = await makeUser(context.db, (await makeAccount(context.db)).slug)
  const code = await newCode()
  await enterUserCode(context, user.id, code.userCode)
  expect(await pull()).not.toContain(code.id)
  await enterUserCode(context, other.id, code.userCode)
  expect(await pull()).toContain(code.id)
})

it('a decision that began before a pull and was committed after it is announced, although others overtook it', async () => {
  const [slow, quick] = [await newCode(), await newCode()]
  const first = await decisionUnderWay(slow.id)
  const second = await decisionUnderWay(quick.id)
  await second.commit()
  expect(await pull()).toContain(quick.id)
  expect(await pull()).not.toContain(slow.id)
  await first.commit()
  expect(await pull()).toContain(slow.id)
  expect(await pull()).toEqual([])
})

it('announces a decision once while another transaction stays open, and that one whenever it is committed', async () => {
  const open = await decisionUnderWay('00000000-0000-4000-8000-000000000001')
  const code = await newCode()
  await service.grant(code.userCode)
  expect(await pull()).toContain(code.id)
  for (let each = 1; each <= 3; each += 1) expect(await pull()).toEqual([])
  await open.commit()
  expect(await pull()).toEqual(['00000000-0000-4000-8000-000000000001'])
  expect(await pull()).toEqual([])
})

it('leaves out events of a restored dump, which have transaction ids of another server', async () => {
  const id = '00000000-0000-4000-8000-000000000003'
  await service.database.query(
    `insert into audit_events (at, kind, actor_kind, actor_id, via, device_code_id, xid)
     values (now(), 'code.rejected', 'service', 'test', 'job', $1, (pg_snapshot_xmax(pg_current_snapshot())::text::numeric + 1000000)::text::xid8)`,
    [id],
  )
  expect(await pull()).not.toContain(id)
})

it('continues on a promoted PostgreSQL that lacks the last transactions', async () => {
  const promoted = await startOwnPostgres()
  const db = openPostgres(promoted.url, 2)
  try {
    const [there] = (await db.query<{ next: string }>('select pg_current_xact_id()::text as next')).rows
    await service.database.query(`do $$ begin for each in 1..${there?.next} loop
      perform pg_current_xact_id(); commit; end loop; end $$`)
    let current: Queryable = service.context.db
    feed = createFeed({ query: (statement, values) => current.query(statement, values) })
    await feed.pull()
    expect([await pull(), forgotten]).toEqual([[], []])
    current = db
    expect([await pull(), forgotten], 'what is known from the old one').toEqual([[], ['hints', 'rows']])
    expect([await pull(), forgotten]).toEqual([[], []])
    const id = '00000000-0000-4000-8000-000000000002'
    await db.query(
      "insert into audit_events (at, kind, actor_kind, actor_id, via, device_code_id) values (now(), 'code.rejected', 'service', 'test', 'job', $1)",
      [id],
    )
    expect(await pull()).toEqual([id])
  } finally {
    await db.close()
    promoted.remove()
  }
})

/** An open transaction that has recorded the decision. */
async function decisionUnderWay(id: string): Promise<{ commit(): Promise<void> }> {
  const client = new pg.Client({ connectionString: service.database.url })
  await client.connect()
  await client.query('begin')
  await client.query(
    "insert into audit_events (at, kind, actor_kind, actor_id, via, device_code_id) values (now(), 'code.rejected', 'service', 'test', 'job', $1)",
    [id],
  )
  return {
    commit: async () => {
      await client.query('commit')
      await client.end()
    },
  }
}
