/**
 * The exhaustive part: breadth-first search through every state that the steps of walk-steps.ts can reach, in all interleavings,
 * checking each step and each state against the invariants of the contract. The first violation is reported with the shortest
 * path to it.
 */
import type { DeviceCode } from '../../src/core/device/code.ts'
import { FIRST_WORLDS, type Polled, type Step, stepsFrom, type World } from './walk-steps.ts'

export type WalkResult = {
  readonly states: number
  readonly transitions: number
  /** The violation, and the shortest path to it. */
  readonly divergence: string | null
}

export function walkStates(): WalkResult {
  const worlds: World[] = [...FIRST_WORLDS]
  const numbers = new Map(worlds.map((world, number) => [nameOf(world), number]))
  /** How each state was first reached: from which one, by which step. */
  const origins: { from: number; what: string }[] = worlds.map(() => ({ from: -1, what: '' }))
  const arrivals: number[][] = worlds.map(() => [])
  let transitions = 0

  const wayTo = (number: number): string[] => {
    const origin = origins[number]
    return origin === undefined || origin.from < 0 ? [] : [...wayTo(origin.from), origin.what]
  }
  const broken = (promise: string, way: readonly string[]): WalkResult => ({
    states: worlds.length,
    transitions,
    divergence: `${promise}\n${way.map((what, index) => `  ${index + 1}. ${what}`).join('\n')}`,
  })

  for (let at = 0; at < worlds.length; at += 1) {
    const world = worlds[at] as World
    for (const step of stepsFrom(world)) {
      transitions += 1
      const promise = brokenByStep(world, step) ?? brokenByWorld(step.next)
      if (promise) return broken(promise, [...wayTo(at), step.what])
      const name = nameOf(step.next)
      const known = numbers.get(name)
      const number = known ?? worlds.length
      if (known === undefined) {
        numbers.set(name, number)
        worlds.push(step.next)
        origins.push({ from: at, what: step.what })
        arrivals.push([])
      }
      if (number !== at) arrivals[number]?.push(at)
    }
  }

  const stuck = firstWithoutEnd(worlds, arrivals)
  if (stuck !== null) return broken('From here no way leads to `used`.', wayTo(stuck))
  return { states: worlds.length, transitions, divergence: null }
}

function nameOf(world: World): string {
  return JSON.stringify(world)
}

const LAST = ['accepted', 'rejected', 'expired']

function brokenByStep(world: World, { polled, next }: Step): string | null {
  const people = [next.entered.A || next.entered.D, next.entered.B, next.entered.C].filter(Boolean)
  if (next.grants > world.grants && next.entered.C && people.length > 1)
    return 'A code was granted that two people of two accounts entered.'
  const passedOn = world.code.claimedBy !== null && next.code.claimedBy !== world.code.claimedBy
  if (passedOn && !mayBePassedOn(world.code, next.code)) return 'A claim was passed on to somebody else.'
  if (next.code.status === 'accepted' && next.code.alsoEntered !== sharedIn(next))
    return 'A code was granted that says wrongly who else entered it.'
  if (polled && polled.tooSoon !== ['auth_pending', 'slow_down'].includes(polled.answer)) {
    return `A poll was answered ${polled.answer} ${polled.tooSoon ? 'before' : 'after'} there was an outcome.`
  }
  if (polled?.leased && !polled.tooSoon && !polled.sameKey && polled.answer !== 'being_delivered') {
    return `A poll was answered ${polled.answer} while another one held the outcome.`
  }
  return world.code.status === 'used' ? brokenAfterUse(world, polled, next) : null
}

/** To the same person, A and D, or once to a colleague, A and B. */
function mayBePassedOn(before: DeviceCode, after: DeviceCode): boolean {
  const users = [before.claimedBy, after.claimedBy].sort().join()
  return users === 'A,D' || (users === 'A,B' && before.takenFrom === null && after.takenFrom !== null)
}

/** Of a code that was granted. */
function sharedIn({ entered }: World): 'colleague' | null {
  return entered.A && entered.B ? 'colleague' : null
}

function brokenAfterUse(world: World, polled: Polled | undefined, next: World): string | null {
  if (timeless(next) !== timeless(world)) return 'A used code was changed.'
  const shouldBe = polled?.sameKey && polled.repeats ? world.code.delivery?.outcome : 'invalid'
  return polled && polled.answer !== shouldBe ? `A used code was answered ${polled.answer}, not ${shouldBe}.` : null
}

/** A used code without the time of its outcome, which only the clock may change. */
function timeless({ code }: World): string {
  return JSON.stringify({ ...code, delivery: { ...code.delivery, until: 0 } })
}

function brokenByWorld(world: World): string | null {
  const { code, grants, told, inFlight } = world
  const outcomes = new Set([told, inFlight.p1?.outcome, inFlight.p2?.outcome].filter((outcome) => outcome))
  if (outcomes.size > 1) return `Two outcomes were delivered for one code: ${[...outcomes].join(' and ')}.`
  if (grants > 1) return 'One code led to two grants.'
  const final = code.status === 'used' ? code.delivery?.outcome : code.status
  if (final === undefined || (code.status === 'used' && !LAST.includes(final))) return 'A used code has no outcome.'
  if ((final === 'accepted') !== (grants === 1)) return `There are ${grants} grants of a code that is ${final}.`
  if (told !== null && code.status !== 'pending' && told !== final)
    return `${told} was told of a code that is ${final}.`
  if (grants === 1 && code.claimedBy === null) return 'A code was granted that nobody had entered.'
  return null
}

/** A state from which no sequence of steps ends in `used`: an application would poll for ever. */
function firstWithoutEnd(worlds: readonly World[], arrivals: readonly number[][]): number | null {
  const numbers = [...worlds.keys()]
  const ends = new Set(numbers.filter((number) => worlds[number]?.code.status === 'used'))
  for (const number of ends) for (const from of arrivals[number] ?? []) ends.add(from)
  return numbers.find((number) => !ends.has(number)) ?? null
}
