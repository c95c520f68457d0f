/**
 * Can anybody have an application suspended who should not, and is a broken firmware caught? Made-up traffic from one seed, gathered
 * and judged by the rule itself, as it comes.
 *
 *   npm run verify:suspension                            a new seed, ten thousand runs of each
 *   npm run verify:suspension -- --seed 42 --runs 500    the same again, or fewer
 *
 * The owner was always warned more than a day ago: nothing but the evidence stands before a suspension.
 */
import { parseArgs } from 'node:util'
import { gatherWindows } from '../../src/core/evidence.ts'
import { defaultThresholds, judge, type Verdict } from '../../src/core/suspension.ts'
import { addFirmware, addHonest, addRogue, addThief, between, randomFrom, type Traffic } from './suspension-traffic.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const BEGIN = Date.parse('2026-03-01T12:00:00Z')
const CODE_LIFETIME_MS = 15 * MINUTE

const { values } = parseArgs({ options: { seed: { type: 'string' }, runs: { type: 'string' } } })
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 30) : Number(values.seed)
const runs = values.runs === undefined ? 10_000 : Number(values.runs)
if (!Number.isSafeInteger(seed) || !Number.isSafeInteger(runs)) throw new Error('--seed and --runs take whole numbers')
console.log(`seed: ${seed}`)

type Counted = Record<Verdict, number>

function verdictOn({ codes }: Traffic, now: number, overloads: readonly number[] = []): Verdict {
  const options = { now, since: 0, overloads, codeLifetimeMs: CODE_LIFETIME_MS }
  const gathered = gatherWindows(codes, options, defaultThresholds)
  return judge({ ...gathered, reports: 0, warnedAt: now - 25 * HOUR, now }, defaultThresholds).verdict
}

/** One seed for each run, so that a run that failed can be looked at alone. */
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

const thief = each('thief', (traffic) => {
  addHonest(traffic, between(traffic.random, 0, 600))
  addThief(traffic)
  return verdictOn(traffic, traffic.now)
})

/** Had it been the devices' own fault. */
let blamed = 0

/** Everything is late, everybody polls again at once, and in one minute or in several of the last three quarters of an hour we shed. */
const overload = each('overload', (traffic) => {
  const { random, now } = traffic
  addFirmware(traffic, between(random, 600, 1_500), 0.3 + random() * 0.7, now - 45 * MINUTE, now)
  const minutes = Array.from({ length: between(random, 1, 10) }, () => now - between(random, 0, 29) * MINUTE)
  const shed = minutes.map((minute) => Math.floor(minute / MINUTE) * MINUTE)
  if (verdictOn(traffic, now) === 'suspend') blamed += 1
  // Only a minute of a whole window can have spoilt it; the one that is not over yet is not looked at.
  const whole = Math.floor(now / (10 * MINUTE)) * 10 * MINUTE
  return verdictOn(traffic, now, [...shed, whole - between(random, 1, 30) * MINUTE])
})

/** Judged each minute, as the job does it: after how many minutes is its owner told, and is it suspended once it was heard? */
let slowest = 0
let missed = 0
const firmware = each('firmware', (traffic) => {
  const { random } = traffic
  const since = traffic.now
  addHonest({ ...traffic, now: since }, between(random, 100, 400), 60)
  // Twenty to eighty new devices a minute, three of ten with the fault, in a hundred networks.
  addFirmware(traffic, between(random, 1_300, 5_200), 0.3, since, since + 65 * MINUTE)
  let minute = 1
  while (minute <= 60 && !['warn', 'suspend'].includes(verdictOn(traffic, since + minute * MINUTE))) minute += 1
  slowest = Math.max(slowest, minute)
  if (minute > 30) missed += 1
  return verdictOn(traffic, since + 61 * MINUTE)
})

const harmless = { rogue, thief, overload }
for (const [scenario, counted] of Object.entries(harmless)) {
  console.log(`${scenario}: runs=${runs} suspended=${counted.suspend} ${inWords(counted)}`)
}
console.log(`overload: would_be_suspended_without_it=${blamed}`)
console.log(`firmware: runs=${runs} flagged_late=${missed} slowest_minutes=${slowest} suspended=${firmware.suspend}`)

const wrong = Object.values(harmless).reduce((sum, { suspend }) => sum + suspend, 0)
// What would not have been suspended anyway proves nothing.
const caught = missed === 0 && firmware.suspend === runs && blamed === runs
console.log(`suspension: wrongly_suspended=${wrong} broken_firmware_caught=${caught}`)
process.exitCode = wrong === 0 && caught ? 0 : 1

function inWords({ suspend: _, ...others }: Counted): string {
  return Object.entries(others)
    .map(([verdict, count]) => `${verdict}=${count}`)
    .join(' ')
}
