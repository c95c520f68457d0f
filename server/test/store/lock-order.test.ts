/** ARCHITECTURE.md, "Lock order": the document, the watcher, and the one case in which many rows are locked at once. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BY_COMMAND_LINE } from '../../src/core/audit/actor.ts'
import { revokeGrants } from '../../src/store/grants/grants.ts'
import { lockByName } from '../../src/store/postgres/advisory-locks.ts'
import { openPostgres, type Transaction } from '../../src/store/postgres/postgres.ts'
import { GUARDED_BY, LOCK_ORDER, locksOf, takeProblems } from '../rig/engines/lock-order.ts'
import { startTestService, type TestService } from '../rig/service.ts'

const page = readFileSync(new URL('../../../ARCHITECTURE.md', import.meta.url), 'utf8')
const section = /^## Lock order\n(.*?)^## /ms.exec(page)?.[1] ?? ''
const nameOf = (lock: string) => lock.replace('@', '')

it('ARCHITECTURE.md lists the locks in the order that the watcher checks', () => {
  const lines = Array.from(section.matchAll(/^\| +(\d+) \| (.*?) \|/gm), ([, rank, locks = '']) => {
    return { rank: Number(rank), locks: Array.from(locks.matchAll(/`([a-z_]+:?)/g), ([, lock = '']) => lock) }
  })
  const byRank = LOCK_ORDER.map((_, at) => lines.filter(({ rank }) => rank === at + 1).flatMap(({ locks }) => locks))
  expect(byRank).toEqual(LOCK_ORDER.map((locks) => locks.map(nameOf)))
  for (const [table, guard] of Object.entries(GUARDED_BY))
    expect(section).toMatch(new RegExp(`\`${table}\`[^.]*\`${nameOf(guard)}`))
})

it('every advisory lock is in the order', () => {
  const source = readFileSync(new URL('../../src/store/postgres/advisory-locks.ts', import.meta.url), 'utf8')
  const names = Array.from(source.matchAll(/^ {2}\| ['`]([a-z_]+:?)/gm), ([, name]) => `@${name}`)
  expect(names.sort()).toEqual(
    LOCK_ORDER.flat()
      .filter((lock) => lock.startsWith('@'))
      .sort(),
  )
})

it('locks are parsed from statements: of a table, of an alias, with skip locked', () => {
  expect(locksOf('select 1 from users u join sessions s on true for no key update of u for share of s')).toEqual([
    { lock: 'users', waits: true },
    { lock: 'sessions', waits: true },
  ])
  expect(locksOf('delete from mails where id = (select id from mails\n for update skip locked)')).toEqual([
    { lock: 'mails', waits: true },
    { lock: 'mails', waits: false },
  ])
  expect(locksOf('insert into t values (1) on conflict do update set a = 1')).toEqual([])
  expect(locksOf('select pg_try_advisory_xact_lock(hashtextextended($1, 0))', ['crowd:acc:app'])).toEqual([
    { lock: '@crowd:', waits: false },
  ])
})

describe('on a database', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startTestService({}, { listen: false })
  })
  afterAll(() => service.stop())

  const after = async (work: (tx: Transaction) => Promise<unknown>) => {
    await service.context.db.transaction(work)
    return takeProblems()
  }

  it('a transaction that takes locks in another order is reported', async () => {
    const wrong = await after(async (tx) => {
      await tx.query("update grants set scopes = '{}' where false")
      await lockByName(tx, 'application_changes')
    })
    expect(wrong).toEqual(['@application_changes after grants: grants → @application_changes'])
    expect(await after((tx) => tx.query("update reviews set reason = 'polling' where false"))).toHaveLength(1)
    const beside = await after(async (tx) => {
      await tx.query('delete from sessions where false')
      await tx.query('delete from links where false')
    })
    expect(beside).toEqual(['links beside sessions: sessions → links'])
  })

  it('the grants of an application and of a user can be revoked at the same moment, also if they overlap', async () => {
    const { account, user, application, database } = service
    // Updated in another order than created, so that the indexes of the two conditions return them in different orders.
    await database.query(
      `insert into grants (id, secret, account_id, user_id, application_id, variant, scopes, device_code_id, key_id, created_at)
       select 'grt_' || left(md5(n::text), 20), gen_random_uuid(), $1, $2, $3, 'token_set', '{}', gen_random_uuid(), 1, now() - random() * interval '1 day'
       from generate_series(1, 1000) n`,
      [account.id, user.id, application.id],
    )
    // As on a large table, where the planner prefers indexes.
    const name = new URL(database.url).pathname.slice(1)
    for (const scan of ['seqscan', 'bitmapscan'])
      await database.query(`alter database ${name} set enable_${scan} = off`)
    await database.query('analyze grants')
    const db = openPostgres(database.url, 2)
    const whose = [{ applicationId: application.id }, { tokenSetsOf: user.id }]
    const revoked = await Promise.all(
      whose.map((each) => db.transaction((tx) => revokeGrants(tx, BY_COMMAND_LINE, each, 'user_reset'))),
    )
    await db.close()
    expect(revoked.reduce((sum, each) => sum + each, 0)).toBe(1000)
  })
})
