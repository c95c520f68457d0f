/**
 * A cell is killed: its servers, PostgreSQL and Redis. Polls in the other cells do not fail. It is started again, and
 * every grant, made before or after, in the cell of the code or in another one, is delivered exactly once.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../../rig/cells.ts'
import { Device } from '../../rig/device.ts'
import type { Measured, OpenLoad } from '../../scale/open-load.ts'
import { verifyAll } from './credentials.ts'
import { collectTwice, each, judgeDeliveries } from './deliveries.ts'
import { type Cell, cellOf, type Harness } from './harness.ts'
import { allow, bucketsOf, type Members, makeMembers, slugIn } from './people.ts'
import { describePolls, failuresOf, round, type WaitingCode } from './waiting-codes.ts'

/** p99 of the other cells while one is away, as a multiple of what it was before. */
const P99_FACTOR = 1.5

/** Shorter times are the resolution of timers and of the scheduler. */
const MIN_P99_MS = 5

/** With fewer polls in a window, a p99 is random: it is printed, and not judged. */
const MIN_POLLS = 2_000

/** PostgreSQL recovers, two servers start, HAProxy looks every two seconds. */
const RESTART_TIMEOUT_MS = 120_000

/** A user enters at most twenty codes in ten minutes. */
const CODES_PER_USER = 10

type Given = {
  readonly polls: OpenLoad
  readonly take: (cell: number) => WaitingCode
  readonly victim: number
  readonly seconds: number
  /** Codes that are allowed, before and after each. */
  readonly sample: number
}

export async function killCell(harness: Harness, given: Given) {
  const { polls, take, victim, seconds, sample } = given
  const { cells } = harness
  const dead = cellOf(cells, victim)
  const accounts = await makeAccounts(harness, 4 * sample)
  const early = await allowSome(accounts, take, sample)
  // Claimed in the cell that dies, polled in one that does not.
  const handed = early.filter(({ holder, code }) => holder === victim && code.issuer !== victim)
  const rowsBefore = await countCodes(cells)

  const tries = []
  for (let tried = 1; tried <= 2; tried += 1) {
    const before = await polls.run(seconds)
    await harness.kill(dead)
    const [during, wrong] = await Promise.all([polls.run(seconds), pollHanded(harness, handed, seconds)])
    const revivedAt = performance.now()
    const [returning] = await Promise.all([polls.run(Math.max(3, seconds / 3)), harness.revive(dead)])
    await answering(harness, take(victim))
    const recoveryMs = Math.round(performance.now() - revivedAt)
    const failed = [during, returning].flatMap((window) => others(window, victim)).map(failuresOf)
    const ratios = others(before, victim).map(({ name, p99Ms }) => {
      const now = during.find((measured) => measured.name === name)
      return Math.max(now?.p99Ms ?? 0, MIN_P99_MS) / Math.max(p99Ms, MIN_P99_MS)
    })
    const errors = failed.reduce((sum, count) => sum + count, 0)
    const p99 = Math.max(...ratios)
    const many = before.every(({ sent }) => sent >= MIN_POLLS)
    tries.push({
      before: describePolls(before),
      during: describePolls(during),
      errors,
      p99,
      late: many && p99 > P99_FACTOR,
      recoveryMs,
      wrong,
    })
    // The machine may have had other work: one more window.
    if (!many || p99 <= P99_FACTOR) break
  }
  const last = tries.at(-1)
  const rowsAfter = await countCodes(cells)
  const late = await allowSome(accounts, take, sample)
  const collected = await each([...early, ...late], ({ code }) => collectTwice(harness, code))
  const judged = await judgeDeliveries(harness, collected)
  const refused = await verifyAll(
    harness,
    collected.flatMap(({ credential }) => credential ?? []),
  )
  const errors = tries.reduce((sum, tried) => sum + tried.errors, 0)
  const wrong = tries.flatMap((tried) => tried.wrong)
  const misses: readonly (readonly [boolean, string])[] = [
    [errors > 0, `${errors} polls of the other cells failed`],
    [last?.late ?? false, `the p99 of another cell was ${round(last?.p99 ?? 0, 2)} times that of before`],
    [wrong.length > 0, 'a poll of a code that was handed to the dead cell was answered wrongly'],
    [rowsBefore !== rowsAfter, `codes before: ${rowsBefore}, after: ${rowsAfter}`],
    [judged.lost > 0, `${judged.lost} allowed codes were not delivered`],
    [judged.twice > 0, `${judged.twice} codes were delivered or granted twice`],
    [judged.problems.length > 0, 'a poll of an allowed code was answered wrongly'],
    [refused > 0, `${refused} credentials are refused`],
  ]
  return {
    step: 'killed cell',
    cell: victim,
    seconds,
    windows: tries.map(({ before, during }) => ({ before, during })),
    errors_in_others: errors,
    p99_by_before: tries.map(({ p99 }) => round(p99, 2)),
    recovery_ms: last?.recoveryMs,
    handed_to_it: handed.length,
    ...judged,
    in_other_cells: [...early, ...late].filter(({ code, holder }) => holder !== code.issuer).length,
    problems: [...judged.problems, ...wrong].slice(0, 10),
    missed: misses.filter(([missed]) => missed).map(([, words]) => words),
  }
}

const others = (window: readonly Measured[], victim: number) => window.filter(({ name }) => name !== `cell ${victim}`)

/** One account in each cell. */
async function makeAccounts(harness: Harness, codes: number): Promise<readonly Members[]> {
  const users = Math.ceil(codes / harness.cells.length / CODES_PER_USER) + 1
  return Promise.all(
    harness.cells.map(async (cell) => makeMembers(harness, cell, slugIn(new Set(await bucketsOf(cell))), users)),
  )
}

type Allowed = { readonly code: WaitingCode; readonly holder: number }

/** Every third code is entered in the cell that issued it, the others in each of the other two. */
async function allowSome(
  accounts: readonly Members[],
  take: Given['take'],
  sample: number,
): Promise<readonly Allowed[]> {
  const wanted = Array.from({ length: sample }, (_, index) => {
    const issuer = index % accounts.length
    const holder = (issuer + Math.floor(index / accounts.length)) % accounts.length
    return { code: take(issuer), holder }
  })
  await each(
    wanted,
    async ({ code, holder }) => {
      const account = accounts[holder]
      if (account) await allow(account.next(), code)
    },
    accounts.length,
  )
  return wanted
}

/** A code that another cell has is pending while that cell is away, though it is allowed. */
async function pollHanded({ address, application }: Harness, handed: readonly Allowed[], seconds: number) {
  const device = new Device(address, application)
  const end = performance.now() + seconds * 1000
  const wrong: string[] = []
  while (performance.now() < end) {
    for (const { code } of handed) {
      const { status, body, text } = await device.poll(code.deviceCode)
      if (status !== 400 || !['auth_pending', 'slow_down'].includes(body.error))
        wrong.push(`a code of the dead cell was answered ${status} ${text.slice(0, 100)}`)
    }
    await sleep(1_000)
  }
  return wrong
}

/** Waits until HAProxy leads to the cell again. */
async function answering({ address, application }: Harness, { deviceCode }: WaitingCode): Promise<void> {
  const device = new Device(address, application)
  await until(async () => (await device.poll(deviceCode)).status === 400, RESTART_TIMEOUT_MS)
}

async function countCodes(cells: readonly Cell[]): Promise<string> {
  const counts = cells.map(async ({ pool }) => {
    const { rows } = await pool.query<{ counts: string }>(
      `select count(*) || ' codes, ' || count(*) filter (where status = 'pending') || ' pending, '
         || count(*) filter (where handed_to is null) || ' here' as counts from device_codes`,
    )
    return rows[0]?.counts
  })
  return (await Promise.all(counts)).join('; ')
}
