/**
 * A bucket with many grants moves while devices poll, credentials of its accounts are verified and its users allow access. Then many
 * buckets move in one command.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { makeConfig } from '../../rig/make.ts'
import { addGrants, type HeldKey, type HeldTokenSet } from '../../scale/key-population.ts'
import type { OpenLoad } from '../../scale/open-load.ts'
import { VERIFIED, verify, verifyAll } from './credentials.ts'
import { collectTwice, each, judgeDeliveries } from './deliveries.ts'
import { type Cell, cellOf, type Harness, waitForSameMap } from './harness.ts'
import { allow, bucketsOf, type Members, makeMembers, slugIn } from './people.ts'
import { round, underPolls, type WaitingCode } from './waiting-codes.ts'

/** Users of the moving account who decide, one after the other in each lane. */
const LANES = 6
const USERS = 240
const DECISION_PAUSE_MS = 150
const VERIFICATION_PAUSE_MS = 20

/** Decisions of another account in the target before the move, whose processes would not have served a page otherwise. */
const OTHER_USERS = 6
const OTHER_DECISIONS = 40

const [SOURCE, TARGET] = [1, 2]
const SLUG = 'large'

type Given = {
  readonly polls: OpenLoad
  readonly take: (cell: number) => WaitingCode
  readonly grants: number
  /** Before the move, and after it. */
  readonly normalMs: number
  /** The longest time without a decision, in addition to the longest one while nothing moved. */
  readonly maxGapMs: number
}

export async function moveLargeBucket(harness: Harness, given: Given) {
  const { polls, take, grants, normalMs, maxGapMs } = given
  const { cells } = harness
  await harness.run('cell', 'reserve', SLUG, '--cell', String(SOURCE))
  await waitForSameMap(cells)
  const source = cellOf(cells, SOURCE)
  const members = await makeMembers(harness, source, SLUG, USERS)
  const credentials = await makeGrants(harness, source, members, grants)
  await decideInTarget(harness, take)
  const before = await verifyAll(harness, credentials)
  const tries = []
  const isLong = (tried: { gapMs: number; normalGapMs: number }) => tried.gapMs > maxGapMs + tried.normalGapMs
  let [from, to] = [SOURCE, TARGET]
  for (let tried = 1; tried <= 2; tried += 1) {
    const [at, goal] = [from, to]
    const { done, failed } = await underPolls(polls, () =>
      moveUnderLoad(harness, members, take, credentials, {
        from: cellOf(cells, at),
        to: cellOf(cells, goal),
        normalMs,
      }),
    )
    tries.push({ ...done, failed })
    // The machine may have had other work: once more, back.
    if (!isLong(done)) break
    ;[from, to] = [to, from]
  }
  const after = await verifyAll(harness, credentials)
  const deliveries = tries.flatMap(({ deliveries }) => deliveries)
  const judged = await judgeDeliveries(harness, deliveries)
  const failedPolls = tries.flatMap(({ failed }) => failed)
  const problems = tries.flatMap((tried) => tried.problems)
  const last = tries.at(-1)
  const misses: readonly (readonly [boolean, string])[] = [
    [failedPolls.length > 0, 'a poll failed while the bucket moved'],
    [problems.length > 0, 'a decision or a verification failed while the bucket moved'],
    [last !== undefined && isLong(last), `no decision for ${last?.gapMs} ms`],
    [before + after > 0, `${before} credentials were refused before the move, ${after} after it`],
    [judged.lost + judged.twice + judged.problems.length > 0, 'a decision was not delivered exactly once'],
    [tries.some(({ verifications }) => verifications === 0), 'nothing was verified during the move'],
  ]
  return {
    step: 'moved bucket',
    grants,
    moves: tries.map(({ seconds, rows, frozenMs, gapMs, normalGapMs, decisions, refusals, verifications }) => ({
      ...{ seconds, rows, frozen_ms: frozenMs, longest_gap_ms: gapMs, normal_gap_ms: normalGapMs },
      ...{ decisions, told_to_try_again: refusals, verifications },
    })),
    refused_before: before,
    refused_after: after,
    ...judged,
    problems: [...new Set([...failedPolls, ...problems, ...judged.problems])].slice(0, 10),
    missed: misses.filter(([missed]) => missed).map(([, words]) => words),
  }
}

async function decideInTarget(harness: Harness, take: Given['take']): Promise<void> {
  const target = cellOf(harness.cells, TARGET)
  const slug = slugIn(new Set(await bucketsOf(target)), 'resident')
  const members = await makeMembers(harness, target, slug, OTHER_USERS)
  for (let turn = 0; turn < OTHER_DECISIONS; turn += 1) await allow(members.next(), take(turn % harness.cells.length))
}

/** Access tokens and access keys, one for each grant. */
async function makeGrants({ application }: Harness, cell: Cell, { account, userId }: Members, grants: number) {
  const { keys, accessTokenLifetimeMs } = makeConfig(cell.environment)
  // biome-ignore lint/suspicious/noExplicitAny: rows of statements of other modules
  const query = async (sql: string, values?: unknown[]): Promise<any[]> => (await cell.pool.query(sql, values)).rows
  const held: { tokenSets: HeldTokenSet[]; accessKeys: HeldKey[] } = { tokenSets: [], accessKeys: [] }
  const given = { database: { query }, keys, account, userId, accessTokenLifetimeMs }
  for (let made = 0; made < grants; made += CHUNK)
    await addGrants(given, [application], Math.min(CHUNK, grants - made), held)
  await cell.pool.query('analyze grants')
  return [...held.tokenSets.map(({ access }) => access), ...held.accessKeys.map(({ key }) => key)]
}

const CHUNK = 5_000

async function moveUnderLoad(
  harness: Harness,
  members: Members,
  take: Given['take'],
  credentials: readonly string[],
  { from, to, normalMs }: { readonly from: Cell; readonly to: Cell; readonly normalMs: number },
) {
  let [over, turn, refusals, verifications] = [false, 0, 0, 0]
  const problems: string[] = []
  const decidedAt: number[] = []
  const codes: WaitingCode[] = []
  const decide = async () => {
    while (!over) {
      turn += 1
      const code = take(turn % harness.cells.length)
      const told = await allow(members.next(), code).catch((error: Error) => error.message)
      if (typeof told === 'string') problems.push(told)
      else {
        decidedAt.push(performance.now())
        codes.push(code)
        refusals += told
      }
      await sleep(DECISION_PAUSE_MS)
    }
  }
  const verifyInTurn = async () => {
    for (let next = 0; !over; next += 1) {
      const status = await verify(harness, credentials[(next * 7_919) % credentials.length] ?? '')
      verifications += 1
      if (status !== VERIFIED) problems.push(`a verification was answered ${status}`)
      await sleep(VERIFICATION_PAUSE_MS)
    }
  }
  const lanes = [verifyInTurn(), ...Array.from({ length: LANES }, decide)]
  await sleep(normalMs)
  const movedFrom = performance.now()
  const moved = await moveBucket(harness, ['--account', SLUG], from, to)
  const movedUntil = performance.now()
  await sleep(normalMs)
  over = true
  await Promise.all(lanes)
  const deliveries = await each(codes, (code) => collectTwice(harness, code))
  const normal = gaps(decidedAt.filter((at) => at < movedFrom))
  // From before the move: a gap may begin with the last decision before it.
  const during = gaps(decidedAt.filter((at) => at > movedFrom - normalMs))
  return {
    seconds: round((movedUntil - movedFrom) / 1000),
    rows: moved[0]?.rows ?? null,
    frozenMs: moved[0]?.frozenMs ?? null,
    gapMs: Math.round(Math.max(...during)),
    normalGapMs: Math.round(Math.max(...normal)),
    decisions: decidedAt.length,
    refusals,
    verifications,
    problems,
    deliveries,
  }
}

const gaps = (times: readonly number[]): number[] =>
  times.toSorted((a, b) => a - b).flatMap((at, index, all) => (index === 0 ? [] : [at - (all[index - 1] ?? at)]))

type Moved = { readonly bucket: number; readonly rows: number | null; readonly frozenMs: number }

async function moveBucket({ run }: Harness, which: readonly string[], from: Cell, to: Cell): Promise<readonly Moved[]> {
  const files = ['--source-database-file', from.urlFile, '--target-database-file', to.urlFile]
  const printed = await run('cell', 'move', ...which, '--to', String(to.id), ...files, '--json')
  return JSON.parse(printed).moved
}

const ACCOUNTS = 10
const GRANTS_OF_EACH = 20

/** Many buckets, of which some have accounts, in one command. */
export async function moveManyBuckets(harness: Harness, polls: OpenLoad, count: number) {
  const [source, target] = [cellOf(harness.cells, TARGET), cellOf(harness.cells, SOURCE)]
  const chosen = (await bucketsOf(source)).slice(0, count)
  const credentials: string[] = []
  for (const bucket of chosen.slice(0, ACCOUNTS)) {
    const members = await makeMembers(harness, source, slugIn(new Set([bucket]), 'one-of-many'), 1)
    credentials.push(...(await makeGrants(harness, source, members, GRANTS_OF_EACH)))
  }
  const begun = performance.now()
  const { done: moved, failed } = await underPolls(polls, () =>
    moveBucket(harness, ['--count', String(count)], source, target),
  )
  const seconds = round((performance.now() - begun) / 1000)
  const refused = await verifyAll(harness, credentials)
  const there = new Set(await bucketsOf(target))
  const arrived = chosen.filter((bucket) => there.has(bucket)).length
  const misses: readonly (readonly [boolean, string])[] = [
    [moved.length !== count || arrived !== count, `${moved.length} of ${count} buckets moved, ${arrived} are there`],
    [failed.length > 0, 'a poll failed while buckets moved'],
    [refused > 0, `${refused} credentials are refused after the move`],
  ]
  return {
    step: 'many moved buckets',
    buckets: moved.length,
    seconds,
    longest_frozen_ms: Math.max(...moved.map(({ frozenMs }) => frozenMs)),
    credentials: credentials.length,
    refused,
    problems: [...new Set(failed)].slice(0, 10),
    missed: misses.filter(([missed]) => missed).map(([, words]) => words),
  }
}
