/** Buckets that move between cells: under load, killed at any statement, and those that do not move. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { grantDeviceCode } from '../../src/flows/device/decide.ts'
import { digestUserCode } from '../../src/secrets/user-code.ts'
import { MOVING, ofBucket } from '../../src/store/cells/moving-tables.ts'
import { startTestCells, type TestCells, until } from '../rig/cells.ts'
import { collect, post, type WireAnswer } from '../rig/device.ts'
import { type MadeUser, makeUser } from '../rig/make.ts'
import { A, B, cellOf, connectIn, factsOf, grantIn, HOME, moveIn, type Tokens, verifyIn } from './cells-scene.ts'

let all: TestCells
beforeAll(async () => {
  all = await startTestCells({ POLL_INTERVAL: '1' })
}, 300_000)
afterAll(() => all?.stop())

/** Each takes several seconds. `MOVE_KILLS=100` tries more. */
const KILLS = Number(process.env.MOVE_KILLS ?? 5)

type Member = Awaited<ReturnType<TestCells['makeMember']>>

const contextOf = (id: number) => cellOf(all, id).service.context

const move = (buckets: readonly number[], from: number, to: number) => moveIn(all, buckets, [from, to])

/** The cell that a process of cell `seen` says the bucket is in: where it would forward a request. */
const placeOf = (bucket: number, seen = A) => contextOf(seen).cells?.map().buckets.get(bucket) ?? -1

const connect = (user: Member, issuer: number, holder: number) => connectIn(all, user, issuer, holder)
const verify = (cell: number, token: string) => verifyIn(all, cell, token)

const refresh = (cell: number, token: string): Promise<WireAnswer> =>
  post(cellOf(all, cell).service.address, '/auth/oauth/refresh', {
    form: { ...all.device(cell).credentials, refresh_token: token },
  })

/** All rows of a bucket by table, as text. */
async function rowsOf(pool: pg.Pool, bucket: number): Promise<Readonly<Record<string, readonly string[]>>> {
  const found: Record<string, readonly string[]> = {}
  for (const table of MOVING) {
    const { rows } = await pool.query<{ row: string }>(
      `select (to_jsonb(t) - '{id,last_used_on,used_generation,last_used_at}'::text[])::text as row from ${table.name} t
       where ${ofBucket(table)} and ${table.only ?? 'true'} order by 1`,
      [bucket],
    )
    found[table.name] = rows.map(({ row }) => row)
  }
  return found
}

const countOf = (rows: Readonly<Record<string, readonly string[]>>) => Object.values(rows).flat().length

const kindsIn = async (id: number, kind: string, bucket: number): Promise<number> => {
  const { rows } = await cellOf(all, id).pool.query(
    "select from audit_events where kind = $1 and (detail ->> 'bucket')::int = $2",
    [kind, bucket],
  )
  return rows.length
}

test('a bucket moves under load: no poll or verification fails, and every credential stays valid', async () => {
  const user = await all.makeMember(A)
  const people = await Promise.all(Array.from({ length: 40 }, () => makeUser(contextOf(A).db, user.slug)))
  let turns = 0
  const held = await Promise.all(Array.from({ length: 6 }, () => connect(user, A, A)))
  const failures: string[] = []
  const [latest, decided] = [held.map((each) => ({ ...each })), new Set<string>()]
  let stop = false
  const addFailure = (what: string, answer: WireAnswer) => failures.push(`${what}: ${answer.status} ${answer.text}`)
  const isLater = (answer: WireAnswer) => answer.status === 503 && answer.headers['retry-after'] !== undefined

  const verifications = async () => {
    for (let turn = 0; !stop; turn += 1) {
      const { access_token } = latest[turn % latest.length] as Tokens
      const answer = await verify(placeOf(user.bucket), access_token)
      if (answer.status !== 200) addFailure('verify', answer)
      await sleep(5)
    }
  }
  const refreshes = async () => {
    for (let turn = 0; !stop; turn += 1) {
      const at = turn % latest.length
      const answer = await refresh(placeOf(user.bucket), latest[at]?.refresh_token ?? '')
      if (answer.status === 200) latest[at] = answer.body
      else if (!isLater(answer)) addFailure('refresh', answer)
      await sleep(20)
    }
  }
  /** A device in any cell, and a user who tries again when told so. */
  const devices = async (issuer: number) => {
    while (!stop) {
      turns += 1
      const person = people[turns % people.length] as MadeUser
      const code = await all.device(issuer).code()
      for (let open = true; open && failures.length === 0; ) {
        const place = placeOf(user.bucket)
        const outcome = await grantIn(all, place, person, code.user_code).catch((error: Error) => error.name)
        open = outcome !== 'granted'
        if (open && outcome !== 'Unavailable') failures.push(`decision: ${outcome}`)
        await sleep(20)
      }
      if (failures.length > 0) return
      const answer = await collect(all.device(issuer), code.device_code)
      if (answer.status !== 200) addFailure('poll', answer)
      else decided.add(answer.body.access_token)
    }
  }
  const load = [verifications(), verifications(), refreshes(), devices(A), devices(B), devices(HOME)]
  await sleep(1_000)
  const result = await move([user.bucket], A, B)
  await sleep(1_000)
  stop = true
  await Promise.all(load)
  expect(failures).toEqual([])
  // Less than a second on a machine that does nothing else.
  expect(result.outcome === 'done' && result.value.map(({ frozenMs }) => frozenMs < 5_000)).toEqual([true])
  for (const token of [...decided, ...latest.map(({ access_token }) => access_token)]) {
    expect((await verify(B, token)).status).toBe(200)
  }
  expect(countOf(await rowsOf(cellOf(all, A).pool, user.bucket))).toBe(0)
  const { rows } = await cellOf(all, B).pool.query(
    'select from grants where account_id = (select id from accounts where slug = $1) and revoked_at is null',
    [user.slug],
  )
  expect(rows.length).toBe(decided.size + held.length)
  expect(await kindsIn(HOME, 'bucket.moving', user.bucket)).toBe(1)
  expect(await kindsIn(HOME, 'bucket.moved', user.bucket)).toBe(1)
  expect(await kindsIn(A, 'account.moved', user.bucket)).toBe(1)
  expect(await kindsIn(B, 'account.moved', user.bucket)).toBe(1)
}, 120_000)

test('codes that were claimed or decided before the move are decided and delivered after it, once', async () => {
  const user = await all.makeMember(A)
  for (const issuer of [A, B, HOME]) {
    const [pending, granted] = [await all.device(issuer).code(), await all.device(issuer).code()]
    const claimed = await all.enter(A, user, pending.user_code)
    expect(await grantIn(all, A, user, granted.user_code)).toBe('granted')
    expect((await move([user.bucket], A, B)).outcome).toBe('done')
    expect((await all.device(issuer).poll(pending.device_code)).body.error).toBe('auth_pending')
    if (claimed.outcome !== 'claimed') throw new Error(claimed.outcome)
    expect((await grantDeviceCode(contextOf(B), user.id, claimed.code)).outcome).toBe('granted')
    for (const code of [pending, granted]) {
      const answer = await collect(all.device(issuer), code.device_code)
      expect(answer.status).toBe(200)
      expect((await verify(B, answer.body.access_token)).status).toBe(200)
      await until(async () => (await all.device(issuer).poll(code.device_code)).body.error === 'invalid')
      expect(await factsOf(all, code)).toEqual({ holders: [B], grants: 1, statuses: ['used'] })
    }
    expect((await move([user.bucket], B, A)).outcome).toBe('done')
  }
}, 120_000)

test.each([
  ['the cell that issued it', HOME],
  ['the cell that it left', A],
])(
  'a user of another account in %s does not get a code that moved with its claimant',
  async (_where, cell) => {
    const [user, other] = [await all.makeMember(A), await all.makeMember(cell)]
    const code = await all.device(HOME).code()
    expect((await all.enter(A, user, code.user_code)).outcome).toBe('claimed')
    await move([user.bucket], A, B)
    expect((await all.enter(cell, other, code.user_code)).outcome).not.toBe('claimed')
    expect((await factsOf(all, code)).holders).toEqual([B])
  },
  120_000,
)

test('a delivery of a code that two cells say the other one has, after a killed move, is confirmed when one has it again', async () => {
  const user = await all.makeMember(A)
  const code = await all.device(HOME).code()
  expect(await grantIn(all, A, user, code.user_code)).toBe('granted')
  expect((await move([user.bucket], A, B)).outcome).toBe('done')
  const handIn = (cell: number, to: number | null, by: number) =>
    cellOf(all, cell).pool.query(
      'update device_codes set handed_to = $1, handovers = handovers + $3 where user_code_digest = any($2)',
      [to, digestUserCode(contextOf(cell).config.keys, code.user_code), by],
    )
  // As a move back leaves it that is killed before the target has received the codes.
  cellOf(all, A).proxy.pauseNext('look', 'answered', () => handIn(B, A, 1))
  const settlesAsked = () =>
    [A, B].flatMap((id) => cellOf(all, id).proxy.asked).filter((each) => each === 'settle').length
  const before = settlesAsked()
  expect((await collect(all.device(HOME), code.device_code)).status).toBe(200)
  await sleep(2_000)
  expect((await factsOf(all, code)).holders).toEqual([])
  // Two for each attempt, two attempts per second.
  expect(settlesAsked() - before).toBeLessThan(15)
  expect(settlesAsked() - before).toBeGreaterThan(2)
  await handIn(B, null, 1)
  await expect
    .poll(() => factsOf(all, code), { timeout: 20_000 })
    .toEqual({ holders: [B], grants: 1, statuses: ['used'] })
}, 120_000)

async function moveAndDie(bucket: number, from: number, to: number, dieAfter: number): Promise<string> {
  const script = fileURLToPath(new URL('./move-and-die.ts', import.meta.url))
  const urls = [HOME, from, to].map((id) => cellOf(all, id).url)
  const child = spawn(process.execPath, [script, ...urls, String(bucket), String(to), String(dieAfter)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  child.stdout.on('data', (chunk) => {
    printed += chunk
  })
  const [, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  return signal ?? printed
}

test('a command that is killed at any statement and run again loses and doubles nothing', async () => {
  const user = await all.makeMember(A)
  const { access_token } = await connect(user, A, A)
  const code = await all.device(HOME).code()
  expect((await all.enter(A, user, code.user_code)).outcome).toBe('claimed')
  const before = await rowsOf(cellOf(all, A).pool, user.bucket)
  const statements = Number(await moveAndDie(user.bucket, A, B, 0))
  expect(statements).toBeGreaterThan(100)
  let [from, to] = [B, A]
  const points = Array.from({ length: KILLS }, (_, at) => Math.ceil(((at + 1) * statements) / (KILLS + 1)))
  for (const point of points) {
    expect(await moveAndDie(user.bucket, from, to, point)).toBe('SIGKILL')
    const valid = await Promise.all([from, to].map((cell) => verify(cell, access_token)))
    expect(valid.some(({ status }) => status === 200)).toBe(true)
    expect((await all.device(HOME).poll(code.device_code)).body.error).toMatch(/auth_pending|slow_down/)
    expect((await move([user.bucket], from, to)).outcome).toBe('done')
    expect(await rowsOf(cellOf(all, to).pool, user.bucket)).toEqual(before)
    expect(countOf(await rowsOf(cellOf(all, from).pool, user.bucket))).toBe(0)
    expect((await factsOf(all, code)).holders).toEqual([to])
    expect((await verify(to, access_token)).status).toBe(200)
    for (const { pool } of all.cells) expect((await pool.query('select from bucket_moves')).rows).toEqual([])
    ;[from, to] = [to, from]
  }
}, 300_000)

test('a bucket that is there already stays as it is, and one of a publisher is refused', async () => {
  const user = await all.makeMember(B)
  expect(await move([user.bucket], B, B)).toEqual({ outcome: 'done', value: [] })
  const { rows } = await cellOf(all, HOME).pool.query<{ bucket: number }>(
    "select bucket from accounts where slug = 'publisher'",
  )
  expect(await move([rows[0]?.bucket ?? -1], HOME, B)).toMatchObject({
    outcome: 'refused',
    reason: expect.stringContaining('"publisher", which has operators or registered an application'),
  })
})

test('a hundred buckets move in one command', async () => {
  const buckets = [...(contextOf(A).cells?.map().buckets ?? [])].filter(([, cell]) => cell === A).slice(0, 100)
  const result = await move(
    buckets.map(([bucket]) => bucket),
    A,
    B,
  )
  expect(result.outcome === 'done' && result.value.length).toBe(100)
  await until(async () => buckets.every(([bucket]) => placeOf(bucket, B) === B && placeOf(bucket) === B))
}, 120_000)
