/**
 * Checks that an application cannot be suspended by an attacker, and that a broken firmware is detected. Generated traffic from one
 * seed, gathered and judged by the rule itself.
 *
 *   npm run verify -- suspension                         a new seed, ten thousand runs of each
 *   npm run verify -- suspension --seed 42 --runs 500    the same seed, or fewer runs
 *
 * The owner was always warned more than a day ago, so only the evidence prevents a suspension. The thief and the overload
 * have a control each, which has to be suspended: the same traffic with one more old account, and without the marked minutes.
 */
import { parseArgs } from 'node:util'
import { spanOf } from '../../src/core/reviews/evidence.ts'
import { judge, toleratedAccounts, type Verdict } from '../../src/core/reviews/suspension.ts'
import { defaultThresholds } from '../rig/thresholds.ts'
import { gatherWindows } from './evidence-windows.ts'
import { addOverload, type Overload } from './suspension-overload.ts'
import {
  addFirmware,
  addHonest,
  addOldAccount,
  addRogue,
  addThief,
  between,
  randomFrom,
  THIEF_ADDRESSES,
  type Traffic,
} from './suspension-traffic.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const BEGIN = Date.parse('2026-03-01T12:00:00Z')

const { values } = parseArgs({ options: { seed: { type: 'string' }, runs: { type: 'string' } } })
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 30) : Number(values.seed)
const runs = values.runs === undefined ? 10_000 : Number(values.runs)
if (!Number.isSafeInteger(seed) || !Number.isSafeInteger(runs)) throw new Error('--seed and --runs take whole numbers')
console.log(`seed: ${seed}`)

type Counted = Record<Verdict, number>

const NO_OVERLOAD = { marks: [], codeLifetimeMs: 15 * MINUTE }

function verdictOn({ codes }: Traffic, now: number, { marks, codeLifetimeMs }: Overload = NO_OVERLOAD): Verdict {
  const options = { now, since: 0, overloads: marks, codeLifetimeMs }
  const gathered = gatherWindows(codes, options, defaultThresholds)
  return judge({ ...gathered, reports: 0, warnedAt: now - 25 * HOUR, now }, defaultThresholds).verdict
}

/** One seed per run, so that a failed run can be repeated alone. */
function each(scenario: string, run: (traffic: Traffic) => Verdict): Counted {
  const counted: Counted = { fine: 0, observe: 0, review: 0, warn: 0, suspend: 0 }
  for (let number = 0; number < runs; number += 1) {
    const random = randomFrom(seed ^ hash(`${scenario} ${number}`))
    const now = BEGIN + between(random, 0, 59 * MINUTE)
    counted[run({ random, now, codes: [] })] += 1
  }
  return counted
}

function hash(text: string): number {
  let value = 2_166_136_261
  for (const character of text) value = Math.imul(value ^ character.charCodeAt(0), 16_777_619)
  return value >>> 0
}

const rogue = each('rogue', (traffic) => {
  addHonest(traffic, between(traffic.random, 100, 1_000))
  addRogue(traffic)
  return verdictOn(traffic, traffic.now)
})

/**
 * Number of accounts that ignore slow_down which the rule tolerates in each window, beside the honest accounts of this traffic.
 * Honest accounts are counted here, not by the rule; ignoring ones count among the granting ones, as in the rule.
 */
function tolerated({ codes, now }: Traffic): number {
  const { from, to, windowMs } = spanOf(now, defaultThresholds)
  const honest = Array.from({ length: (to - from) / windowMs }, () => new Set<string>())
  for (const { grantedAt, accountId } of codes) {
    if (grantedAt !== null) honest[Math.floor((grantedAt - from) / windowMs)]?.add(accountId)
  }
  const max = Math.max(...honest.map(({ size }) => size))
  let count = 0
  while (count < toleratedAccounts(defaultThresholds, max + count + 1)) count += 1
  return count
}

const thiefSizes = { fewestTolerated: Infinity, mostTolerated: 0, fewestAddresses: Infinity, atTheLimit: 0 }
let thiefControl = 0

/** Every second run is at the limit: as many accounts ignore slow_down as tolerated. Some of them belong to others. */
const thief = each('thief', (traffic) => {
  const { random, now, codes } = traffic
  addHonest(traffic, between(random, 0, random() < 0.5 ? 600 : 6_000))
  const max = tolerated(traffic)
  const atTheLimit = random() < 0.5
  const ignoring = atTheLimit ? max : between(random, 0, max)
  const strangers = Math.min(ignoring, between(random, 0, 3))
  for (let stranger = 0; stranger < strangers; stranger += 1) addOldAccount(traffic, `impatient-${stranger}`)
  addThief(traffic, ignoring - strangers)

  thiefSizes.fewestTolerated = Math.min(thiefSizes.fewestTolerated, max)
  thiefSizes.mostTolerated = Math.max(thiefSizes.mostTolerated, max)
  const networks = new Set(codes.flatMap(({ network }) => (network?.startsWith('thief-') ? [network] : [])))
  thiefSizes.fewestAddresses = Math.min(thiefSizes.fewestAddresses, networks.size)
  const verdict = verdictOn(traffic, now)
  if (atTheLimit) {
    thiefSizes.atTheLimit += 1
    addOldAccount(traffic, 'one-more')
    if (verdictOn(traffic, now) === 'suspend') thiefControl += 1
  }
  return verdict
})

let overloadControl = 0

/** Honest devices poll too fast because the service is too busy to answer in time. */
const overload = each('overload', (traffic) => {
  const made = addOverload(traffic)
  if (verdictOn(traffic, traffic.now, { ...made, marks: [] }) === 'suspend') overloadControl += 1
  return verdictOn(traffic, traffic.now, made)
})

/** Judged each minute, as by the job: the owner is warned within this many minutes, and later the application is suspended. */
const FLAGGED_WITHIN_MINUTES = 20
let slowest = 0
let missed = 0
const firmware = each('firmware', (traffic) => {
  const { random } = traffic
  const since = traffic.now
  addHonest({ ...traffic, now: since }, between(random, 100, 400), 60)
  // Twenty to eighty new devices a minute, three of ten with the fault, in a hundred networks.
  addFirmware(traffic, between(random, 1_300, 5_200), 0.3, since, since + 65 * MINUTE)
  const minute = firstFlagged(traffic, since)
  slowest = Math.max(slowest, minute)
  if (minute > FLAGGED_WITHIN_MINUTES) missed += 1
  return verdictOn(traffic, since + 61 * MINUTE)
})

/** Only complete windows are judged, so the verdict can change only in the first minute after the end of one. */
function firstFlagged(traffic: Traffic, since: number): number {
  let judgedTo = 0
  for (let minute = 1; minute <= 60; minute += 1) {
    const now = since + minute * MINUTE
    const { to } = spanOf(now, defaultThresholds)
    if (to === judgedTo) continue
    judgedTo = to
    if (['warn', 'suspend'].includes(verdictOn(traffic, now))) return minute
  }
  return Number.POSITIVE_INFINITY
}

const harmless = { rogue, thief, overload }
for (const [scenario, counted] of Object.entries(harmless)) {
  console.log(`${scenario}: runs=${runs} suspended=${counted.suspend} ${inWords(counted)}`)
}
const { fewestTolerated, mostTolerated, fewestAddresses, atTheLimit } = thiefSizes
console.log(
  `thief: addresses=${fewestAddresses} tolerated_accounts=${fewestTolerated}..${mostTolerated} runs_at_the_limit=${atTheLimit}`,
)
console.log(`thief: suspended_with_one_account_more=${thiefControl} of ${atTheLimit}`)
console.log(`overload: suspended_without_its_marks=${overloadControl}`)
console.log(`firmware: runs=${runs} flagged_late=${missed} slowest_minutes=${slowest} suspended=${firmware.suspend}`)

const wrong = Object.values(harmless).reduce((sum, { suspend }) => sum + suspend, 0)
const caught = missed === 0 && firmware.suspend === runs
// The proof needs extremes, such as large applications, where the share counts; and controls that are suspended.
const extremes =
  fewestAddresses >= THIEF_ADDRESSES && atTheLimit >= runs / 3 && mostTolerated > defaultThresholds.accounts
const controls = thiefControl === atTheLimit && overloadControl >= runs / 10
console.log(
  `suspension: wrongly_suspended=${wrong} broken_firmware_caught=${caught} extremes_reached=${extremes} controls_suspended=${controls}`,
)
process.exitCode = wrong === 0 && caught && extremes && controls ? 0 : 1

function inWords({ suspend: _, ...others }: Counted): string {
  return Object.entries(others)
    .map(([verdict, count]) => `${verdict}=${count}`)
    .join(' ')
}
