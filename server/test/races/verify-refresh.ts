/**
 * npm run verify -- refresh [--grants N]: many concurrent refreshes of one token advance the grant once and all return
 * the same token set; reuse of an old token revokes the grant, once, in every process. docs/interface/credentials.md,
 * "Refresh". Then, in virtual time and with a thousand refreshes per grant: processes that share a stored credential and
 * are killed and frozen at random lose no login, and thieves are caught at the next refresh of either party.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { makeAccount, makeApplication, makeUser } from '../rig/make.ts'
import { placeIssuedGrant } from './issued-grants.ts'
import { openRaceHarness } from './race-harness.ts'
import { inLanes } from './race-track.ts'
import { checkEnded, raceToRefresh } from './refresh-race.ts'
import { shareLogin, watchThieves } from './shared-login/share-login.ts'

const REFRESHES_PER_GRANT = 32

/** Concurrent grants: 128 requests in flight, enough for every connection to wait for a lock. */
const LANES = 4

/** Refreshes of the shared login in virtual time, per grant of the race. */
const SHARED_PER_GRANT = 1_000

/** How long a revocation may take to reach every process: docs/interface/credentials.md, "Check a credential". */
const PROPAGATION_MS = 2_000

const { values } = parseArgs({ options: { grants: { type: 'string', default: '1000' } } })
const count = Number(values.grants)
if (!(Number.isInteger(count) && count > 0)) throw new Error('--grants takes a number')

const harness = await openRaceHarness()
try {
  const { context, database } = harness
  const account = await makeAccount(context.db)
  const application = await makeApplication(context.db, context.config, account.slug)
  // One user each: a mail names its user, not the grant.
  const grants = await inLanes(count, LANES, async () => {
    const user = await makeUser(context.db, account.slug)
    const about = { accountId: account.id, userId: user.id, applicationId: application.id }
    return placeIssuedGrant(context, { ...about, variant: 'token_set' })
  })

  const track = { addresses: await harness.startServers(), application, context, database }
  const races = await inLanes(count, LANES, (index) => {
    const grant = grants[index]
    if (!grant) throw new Error(`there is no grant ${index}`)
    return raceToRefresh(track, index, grant, REFRESHES_PER_GRANT)
  })
  await sleep(PROPAGATION_MS)
  const alive = await inLanes(count, LANES, async (index) => {
    const race = races[index]
    return race ? checkEnded(track, index, race) : []
  })

  const left = await readRows()
  const refreshes = sum(races.map((race) => race.answered))
  const renewed = sum(races.map((race) => race.renewed))
  const problems = [
    ...races.flatMap((race) => race.problems),
    ...alive.flat(),
    ...left.filter((row) => !isEndedOnce(row)).map((row) => `rows left: ${JSON.stringify(row)}`),
    ...harness.complaints(),
  ]
  if (left.length !== count) problems.push(`${left.length} grants are left of ${count}`)
  const asked = count * REFRESHES_PER_GRANT
  if (refreshes !== asked) problems.push(`${refreshes} refreshes were answered of ${asked}`)
  const figures = {
    grants: left.length,
    refreshes,
    steps: races.filter((race) => race.stepped).length,
    same: sum(races.map((race) => race.same)),
    lost: refreshes - renewed,
    reused: races.filter((race) => race.reuseRefused).length,
    revoked: left.filter((row) => row.reason === 'refresh_token_reused').length,
    events: sum(left.map((row) => row.events)),
    mails: sum(left.map((row) => row.mails)),
    problems: problems.length,
  }
  for (const problem of problems.slice(0, 20)) console.error(`refresh: ${problem}`)
  console.log(`refresh: ${inWords(figures)}`)
  process.exitCode = problems.length > 0 ? 1 : 0
} finally {
  await harness.end()
}
shareInVirtualTime()

/**
 * Two cases are only counted, because the service cannot detect them: a process that was frozen between read and send
 * looks like a thief (`frozenBetweenReadAndSend`), and a thief in `lock_step` looks like the owner.
 */
function shareInVirtualTime(): void {
  const shared = shareLogin(count * SHARED_PER_GRANT, 1)
  console.log(`shared login: processes=64 ${inWords(shared)}`)
  const thieves = watchThieves(count, 1)
  for (const [kind, figures] of Object.entries(thieves)) console.log(`thieves, ${kind}: ${inWords(figures)}`)
  const { rash, late } = thieves
  const caughtAll = [rash, late].every((each) => each.caught === each.thieves && each.ownerRefreshesWhileApart === 0)
  if (shared.lost > 0 || !caughtAll) process.exitCode = 1
}

function inWords(figures: object): string {
  return Object.entries(figures)
    .map(([name, figure]) => `${name}=${figure}`)
    .join(' ')
}

type Left = { generation: number; reason: string | null; events: number; rightEvents: number; mails: number }

/** Each grant with all its revocation events and mails. */
function readRows(): Promise<Left[]> {
  return harness.database.query<Left>(
    `select g.generation, g.revocation_reason as reason, e.events, e.right as "rightEvents", m.mails
     from grants g
       cross join lateral (
         select count(*)::int as events, (count(*) filter (where detail->>'reason' = 'refresh_token_reused'))::int as right
         from audit_events where grant_id = g.id and kind = 'grant.revoked') e
       cross join lateral (
         select count(*)::int as mails from mails where user_id = g.user_id and kind = 'grant_ended') m`,
  )
}

/** Two generations, one revocation, one event, one mail. */
function isEndedOnce({ generation, reason, events, rightEvents, mails }: Left): boolean {
  return generation === 3 && reason === 'refresh_token_reused' && events === 1 && rightEvents === 1 && mails === 1
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}
