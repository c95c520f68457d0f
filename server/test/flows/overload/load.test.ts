/** Load of a process: who waits, what is shed, and what is recorded. docs/interface/limits.md, "Overload". */
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createLoad, type Load } from '../../../src/flows/overload/load.ts'
import { openPostgres, type Postgres, Unavailable } from '../../../src/store/postgres/postgres.ts'
import { createTestDatabase, type TestDatabase } from '../../rig/engines/database.ts'

let database: TestDatabase
let db: Postgres
beforeAll(async () => {
  database = await createTestDatabase()
  db = openPostgres(database.url, 2)
})
afterAll(async () => {
  await db.close()
  await database.drop()
})
beforeEach(async () => {
  await database.query('delete from overloads')
})

const told: number[] = []
function makeLoad(given: { connections?: number; delayMs?: () => number; db?: Postgres } = {}): Load {
  const config = { databaseConnections: given.connections ?? 10, overloadDelayMs: 50 }
  const events = { shedding: (requests: number) => void told.push(requests) }
  return createLoad({ config, db: given.db ?? db, events }, { ms: given.delayMs ?? (() => 0), close: () => {} })
}

/** Work that ends when the test says so. */
function held(load: Load, applicationId = 'a', network = 'x') {
  let finish = () => {}
  let begun = false
  const done = new Promise<void>((resolve) => {
    finish = resolve
  })
  const outcome = load.enqueue({ applicationId, network }, async () => {
    begun = true
    await done
    return 'done'
  })
  return { finish: () => finish(), outcome, begun: () => begun }
}

const total = async () =>
  (await db.query<{ total: number }>('select coalesce(sum(shed), 0)::int as total from overloads')).rows[0]?.total

describe('new codes and dialogs', () => {
  it.each([
    [10, 5],
    [3, 1],
    [1, 1],
  ])('with %d connections, %d run at a time', async (connections, concurrent) => {
    const load = makeLoad({ connections })
    const all = Array.from({ length: 8 }, () => held(load))
    await turn()
    expect(all.filter(({ begun }) => begun())).toHaveLength(concurrent)
    for (const each of all) each.finish()
    expect(await Promise.all(all.map(({ outcome }) => outcome))).toEqual(all.map(() => 'done'))
  })

  it('another application is next when one is done, however many the first one has queued', async () => {
    const load = makeLoad({ connections: 2 })
    const crowd = Array.from({ length: 50 }, () => held(load, 'loud'))
    const quiet = held(load, 'quiet')
    await turn()
    expect(quiet.begun()).toBe(false)
    crowd[0]?.finish()
    await turn()
    crowd[1]?.finish()
    await turn()
    expect([quiet.begun(), crowd[2]?.begun()]).toEqual([true, false])
    quiet.finish()
    for (const each of crowd) each.finish()
    await Promise.all(crowd.map(({ outcome }) => outcome))
  })

  it('with several applications, none has more than half of the slots; a single one has all', async () => {
    const load = makeLoad({ connections: 8 })
    const crowd = Array.from({ length: 8 }, () => held(load, 'loud'))
    await turn()
    expect(crowd.filter(({ begun }) => begun())).toHaveLength(4)
    const quiet = held(load, 'quiet')
    for (const each of crowd.slice(0, 3)) each.finish()
    await Promise.all(crowd.slice(0, 3).map(({ outcome }) => outcome))
    await turn()
    expect([quiet.begun(), crowd.filter(({ begun }) => begun()).length], 'three are done, two at work').toEqual([
      true,
      5,
    ])
    const another = held(load, 'quiet')
    await turn()
    expect(another.begun(), 'a place is free at once').toBe(true)
    for (const each of [...crowd, quiet, another]) each.finish()
    await Promise.all([...crowd, quiet, another].map(({ outcome }) => outcome))
  })

  it('one that fails frees its slot, and the error reaches its caller', async () => {
    const load = makeLoad({ connections: 1 })
    const failing = load.enqueue({ applicationId: 'a', network: 'x' }, async () => {
      throw new Error('no')
    })
    const next = held(load)
    next.finish()
    await expect(failing).rejects.toThrow('no')
    expect(await next.outcome).toBe('done')
    const after = held(load)
    after.finish()
    expect(await after.outcome).toBe('done')
  })

  it('one that has waited for two seconds is shed and counted', async () => {
    const load = makeLoad({ connections: 1 })
    const working = held(load)
    const begun = performance.now()
    expect(await held(load).outcome).toBe('shed')
    expect(performance.now() - begun).toBeGreaterThan(1_900)
    expect(load.overloaded()).toBe(true)
    working.finish()
    await working.outcome
    await load.save()
    expect(await total()).toBe(1)
  })

  it('beyond a thousand, the largest application is shed at once, and a small one still gets its turn', async () => {
    const load = makeLoad({ connections: 1 })
    const working = held(load, 'loud')
    const crowd = Array.from({ length: 1_000 }, () => held(load, 'loud'))
    const quiet = held(load, 'quiet')
    expect(await crowd.at(-1)?.outcome).toBe('shed')
    expect(await held(load, 'loud').outcome).toBe('shed')
    quiet.finish()
    for (const each of crowd) each.finish()
    working.finish()
    expect(await quiet.outcome).toBe('done')
    await Promise.all(crowd.map(({ outcome }) => outcome))
    await load.save()
    expect(await total()).toBe(2)
  })
})

describe('when the event loop is delayed', () => {
  it.each([
    [199, []],
    [201, ['code']],
    [401, ['code', 'dialog']],
    [801, ['code', 'dialog', 'page']],
  ] as const)('for %d ms, these are turned away: %j', async (delayMs, away) => {
    const load = makeLoad({ delayMs: () => delayMs })
    expect((['code', 'dialog', 'page'] as const).filter((what) => load.sheds(what))).toEqual(away)
    await load.save()
    expect(await total()).toBe(away.length)
  })

  it('too long, one request per application is queued, others are shed, and throughput stays the same', async () => {
    let delayMs = 49
    const load = makeLoad({ connections: 2, delayMs: () => delayMs })
    expect(load.overloaded()).toBe(false)
    const working = held(load, 'loud')
    delayMs = 51
    expect([load.sheds('code'), load.overloaded()]).toEqual([false, true])
    const [waiting, quiet] = [held(load, 'loud'), held(load, 'quiet')]
    expect(await held(load, 'loud').outcome).toBe('shed')
    for (const each of [working, waiting, quiet]) each.finish()
    expect(await Promise.all([working, waiting, quiet].map(({ outcome }) => outcome))).toEqual(['done', 'done', 'done'])
    const next = held(load)
    next.finish()
    expect(await next.outcome).toBe('done')
    await load.save()
    expect(await total()).toBe(1)
  })

  it('an operator can switch shedding off', () => {
    const config = { databaseConnections: 10, overloadDelayMs: 0 }
    const load = createLoad({ config, db, events: { shedding: () => {} } }, { ms: () => 10_000, close: () => {} })
    expect([load.sheds('code'), load.overloaded()]).toEqual([false, false])
  })

  it('one pause is no overload; two bad seconds are, and it ends soon after them', async () => {
    const config = { databaseConnections: 10, overloadDelayMs: 50 }
    const load = createLoad({ config, db, events: { shedding: () => {} } })
    const block = async (rounds: number, ms: number) => {
      for (let round = 0; round < rounds; round += 1) {
        for (const until = performance.now() + ms; performance.now() < until; );
        await sleep(1)
      }
    }
    await sleep(2_100)
    await block(1, 600)
    await sleep(500)
    expect(load.overloaded(), 'after one pause').toBe(false)
    await block(25, 200)
    expect(load.overloaded(), 'after five seconds of pauses').toBe(true)
    await sleep(4_000)
    expect(load.overloaded(), 'four seconds later').toBe(false)
    load.close()
  })
})

describe('the number of shed requests', () => {
  it('is saved per minute, as the sum of all processes', async () => {
    const [one, other] = [makeLoad({ delayMs: () => 201 }), makeLoad({ delayMs: () => 201 })]
    for (let time = 0; time < 5; time += 1) one.sheds('code')
    for (let time = 0; time < 7; time += 1) other.sheds('code')
    await Promise.all([one.save(), other.save()])
    one.sheds('code')
    await one.save()
    expect(await total()).toBe(13)
    const rows = await database.query('select from overloads where minute <> date_trunc($$minute$$, minute)')
    expect(rows).toEqual([])
  })

  it('is not saved when zero: no row, no statement', async () => {
    const load = makeLoad({ db: { ...db, query: () => Promise.reject(new Error('asked')) } })
    load.sheds('code')
    await expect(load.save()).resolves.toBeUndefined()
    expect(await total()).toBe(0)
  })

  it('is saved later when PostgreSQL is down', async () => {
    let away = true
    const sometimes: Postgres = {
      ...db,
      query: (...given) => (away ? Promise.reject(new Unavailable('away')) : db.query(...given)),
    }
    const load = makeLoad({ db: sometimes, delayMs: () => 201 })
    load.sheds('code')
    await expect(load.save()).rejects.toThrow(Unavailable)
    load.sheds('code')
    away = false
    await load.save()
    expect(await total()).toBe(2)
  })

  it('is logged when shedding begins and ends, and not in between', async () => {
    told.length = 0
    let delayMs = 201
    const load = makeLoad({ delayMs: () => delayMs })
    for (let second = 0; second < 3; second += 1) {
      load.sheds('code')
      await load.save()
    }
    delayMs = 0
    load.sheds('code')
    await load.save()
    await load.save()
    expect(told).toEqual([1, 0])
  })
})
