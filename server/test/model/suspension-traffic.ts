/** Generated traffic of one application, from a seed: codes of devices and attackers, granted or not. */
import { spanOf } from '../../src/core/reviews/evidence.ts'
import { defaultThresholds } from '../rig/thresholds.ts'
import type { Observation } from './evidence-windows.ts'

const MINUTE = 60_000
const DAY = 1_440 * MINUTE

/** mulberry32: small, fast and reproducible. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export type Traffic = {
  readonly random: () => number
  /** When it is judged. */
  readonly now: number
  readonly codes: Observation[]
}

/** Codes of the judged windows, and of some time before and after. */
const MINUTES = 45

export function between(random: () => number, least: number, max: number): number {
  return least + Math.floor(random() * (max - least + 1))
}

/** Within the last so many minutes. */
function momentBefore({ random, now }: Traffic, minutes: number): number {
  return now - Math.floor(random() * minutes * MINUTE)
}

const OLD = 900 * DAY

/** An application of a million devices, some of which connect in this time. A few poll slightly early. */
export function addHonest(traffic: Traffic, count: number, minutes = MINUTES): void {
  const { random, codes, now } = traffic
  for (let each = 0; each < count; each += 1) {
    const device = between(random, 0, 999_999)
    codes.push({
      grantedAt: momentBefore(traffic, minutes),
      accountId: `stranger-${device}`,
      accountCreatedAt: now - OLD,
      own: false,
      network: `network-${device % 4_000}`,
      earlyPolls: random() < 0.05 ? between(random, 1, 6) : 0,
    })
  }
}

/** A hundred polls a second for an hour. Its owner grants any number of codes, but from one account and few networks. */
export function addRogue(traffic: Traffic): void {
  const { random, codes, now } = traffic
  const accountId = `stranger-${between(random, 0, 999_999)}`
  const count = between(random, 1, 200)
  for (let each = 0; each < count; each += 1) {
    codes.push({
      grantedAt: momentBefore(traffic, MINUTES),
      accountId,
      accountCreatedAt: now - OLD,
      own: false,
      network: `rogue-${between(random, 0, 40)}`,
      earlyPolls: between(random, 1_000, 360_000),
    })
  }
}

/** Each code of the thief comes from another network. */
export const THIEF_ADDRESSES = 10_000

/**
 * The thief has the secret, 10,000 addresses, up to 500 young accounts, and `oldAccounts` that count as
 * established. Each old account grants in every judged window: fewer grants would be less evidence.
 */
export function addThief(traffic: Traffic, oldAccounts: number): void {
  const { random, codes } = traffic
  const young = between(random, 1, 500)
  const grantedShare = 0.1 + 0.9 * random()
  for (let each = 0; each < THIEF_ADDRESSES; each += 1) {
    const own = between(random, 1, young + oldAccounts + 1)
    const isOld = own > young && own <= young + oldAccounts
    const granted = random() < grantedShare
    codes.push({
      ...thiefsCode(traffic, `thief-${own}`, granted ? momentBefore(traffic, MINUTES) : null, isOld),
      network: `thief-${each}`,
      // The account that registered the application may have been stolen as well.
      own: own === young + oldAccounts + 1,
    })
  }
  for (let old = 1; old <= oldAccounts; old += 1) addOldAccount(traffic, `thief-${young + old}`)
}

/** One more established account: its devices ignore slow_down in every judged window. */
export function addOldAccount(traffic: Traffic, accountId: string): void {
  const { from, to, windowMs } = spanOf(traffic.now, defaultThresholds)
  for (let startsAt = from; startsAt < to; startsAt += windowMs) {
    const grantedAt = startsAt + Math.floor(traffic.random() * windowMs)
    traffic.codes.push(thiefsCode(traffic, accountId, grantedAt, true))
  }
}

function thiefsCode(
  { random, now }: Traffic,
  accountId: string,
  grantedAt: number | null,
  isOld: boolean,
): Observation {
  const ageMs = isOld ? 400 * DAY : random() * defaultThresholds.accountAgeDays * DAY * 0.999
  return {
    grantedAt,
    accountId,
    accountCreatedAt: (grantedAt ?? now) - ageMs,
    own: false,
    network: `thief-${between(random, 0, THIEF_ADDRESSES - 1)}`,
    earlyPolls: between(random, 20, 50_000),
  }
}

/** A device that polls each second instead of every five gets slow_down four times in five. */
export const EARLY_SHARE = 0.8

/** A faulty firmware from this time on: this share of the newly connected devices ignores slow_down. */
export function addFirmware(traffic: Traffic, count: number, share: number, since: number, until: number): void {
  const { random, codes } = traffic
  for (let each = 0; each < count; each += 1) {
    const grantedAt = since + Math.floor(random() * (until - since))
    // The owner of a device takes half a minute to five minutes to grant.
    const waited = between(random, 30, 300)
    codes.push({
      ...strangersCode(traffic, grantedAt),
      earlyPolls: random() < share ? Math.floor(waited * EARLY_SHARE) : 0,
    })
  }
}

export function strangersCode({ random, now }: Traffic, grantedAt: number): Observation {
  const device = between(random, 0, 999_999)
  return {
    grantedAt,
    accountId: `stranger-${device}`,
    accountCreatedAt: now - OLD,
    own: false,
    network: `network-${device % 100}`,
    earlyPolls: 0,
  }
}
