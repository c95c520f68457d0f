/** Made-up traffic of one application, from a seed: what devices and attackers do, as codes that somebody granted or nobody did. */
import type { Observation } from '../../src/core/evidence.ts'

const MINUTE = 60_000
const DAY = 1_440 * MINUTE

/** mulberry32: small, fast, and the same everywhere. */
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

export function between(random: () => number, least: number, most: number): number {
  return least + Math.floor(random() * (most - least + 1))
}

/** Within the last so many minutes. */
function momentBefore({ random, now }: Traffic, minutes: number): number {
  return now - Math.floor(random() * minutes * MINUTE)
}

const OLD = 900 * DAY

/** One of a million devices; so many of them are connected in the time that is looked at. Now and then one is a little early. */
export function addHonest(traffic: Traffic, count: number, minutes = 45): void {
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

/** A hundred polls a second for an hour. Its owner says yes as often as they like: it stays one account, and one network or a few. */
export function addRogue(traffic: Traffic): void {
  const { random, codes, now } = traffic
  const accountId = `stranger-${between(random, 0, 999_999)}`
  for (let each = 0; each < between(random, 1, 200); each += 1) {
    codes.push({
      grantedAt: momentBefore(traffic, 45),
      accountId,
      accountCreatedAt: now - OLD,
      own: false,
      network: `rogue-${between(random, 0, 40)}`,
      earlyPolls: between(random, 1_000, 360_000),
    })
  }
}

/** The secret, ten thousand addresses, and accounts of his own: made for the purpose, or a handful that are old enough. */
export function addThief(traffic: Traffic): void {
  const { random, codes, now } = traffic
  const [young, old] = [between(random, 0, 500), between(random, 0, 24)]
  for (let each = 0; each < between(random, 1_000, 10_000); each += 1) {
    const own = between(random, 0, young + old + 1)
    const granted = random() < 0.3
    const ageDays = own < young ? random() * 29.9 : 400
    const grantedAt = granted ? momentBefore(traffic, 45) : null
    codes.push({
      grantedAt,
      accountId: `thief-${own}`,
      accountCreatedAt: (grantedAt ?? now) - ageDays * DAY,
      // Whoever registered the application may have been robbed of that as well.
      own: own > young + old,
      network: `thief-${between(random, 0, 9_999)}`,
      earlyPolls: between(random, 20, 50_000),
    })
  }
}

/** A firmware with a fault, from this moment on: this share of the devices that are connected ignores slow_down. */
export function addFirmware(traffic: Traffic, count: number, share: number, since: number, until: number): void {
  const { random, codes, now } = traffic
  for (let each = 0; each < count; each += 1) {
    const device = between(random, 0, 999_999)
    const grantedAt = since + Math.floor(random() * (until - since))
    // Each second a poll, four of five too early, for as long as its owner takes: half a minute to five.
    const waited = between(random, 30, 300)
    codes.push({
      grantedAt,
      accountId: `stranger-${device}`,
      accountCreatedAt: now - OLD,
      own: false,
      network: `network-${device % 100}`,
      earlyPolls: random() < share ? Math.floor(waited * 0.8) : 0,
    })
  }
}
