/** How long every process accepts a credential after a change made in another one. */
import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { askVerify } from './issued-grants.ts'
import type { Change } from './propagation-changes.ts'

const ASK_EVERY_MS = 20

/** One pull interval: changes are spread over it. */
const MAX_PAUSE_MS = 1_000

/** Time limit. */
const GIVE_UP_MS = 10_000

/** A process is asked this often before its refusal counts as permanent. */
const REFUSALS = 3

export type Watched = {
  /** From the commit until the slowest process refused. */
  readonly ms: number
  /** Processes that refused in the end. */
  readonly refused: number
  /** Processes that still accepted after the commit, from their cache. Without any, nothing was measured. */
  readonly remembered: number
  readonly problems: readonly string[]
}

export async function watchChange(addresses: readonly string[], index: number, change: Change): Promise<Watched> {
  const problems: string[] = []
  const say = (problem: string) => problems.push(`change ${index} (${change.kind}): ${problem}`)
  await sleep(randomInt(MAX_PAUSE_MS))
  // The first request looks it up, the second is answered from the cache.
  for (const when of ['cold', 'hot']) {
    const statuses = await Promise.all(addresses.map((address) => askVerify(address, change.credential, change.scope)))
    for (const status of statuses) if (status !== 200) say(`answered ${status} before it was made, ${when}`)
  }

  const { successor } = await change.make(addresses[index % addresses.length] ?? '')
  const committed = performance.now()
  const watches = addresses.map((address) => watch(address, change, committed, say))
  // Only one process gets the successor now, which tells it of the change: the others must learn of it by themselves.
  if (successor !== undefined) await expectAccepted([addresses[(index + 1) % addresses.length] ?? ''], successor, say)
  const heard = await Promise.all(watches)
  if (successor !== undefined) await expectAccepted(addresses, successor, say)
  return {
    ms: Math.max(...heard.map(({ ms }) => ms ?? GIVE_UP_MS)),
    refused: heard.filter(({ ms }) => ms !== null).length,
    remembered: heard.filter(({ remembered }) => remembered).length,
    problems,
  }
}

async function watch(
  address: string,
  { credential, scope, refusal }: Change,
  committed: number,
  say: (problem: string) => void,
): Promise<{ ms: number | null; remembered: boolean }> {
  let ms: number | null = null
  let remembered = false
  for (let refusals = 0; refusals < REFUSALS; await sleep(ASK_EVERY_MS)) {
    const status = await askVerify(address, credential, scope)
    const since = performance.now() - committed
    if (status === refusal) {
      refusals += 1
      ms ??= since
    } else if (status !== 200) {
      say(`${address} answered ${status}`)
      break
    } else if (ms !== null) {
      say(`${address} accepted again after it had refused`)
      break
    } else {
      remembered = true
      if (since > GIVE_UP_MS) break
    }
  }
  return { ms, remembered }
}

async function expectAccepted(
  addresses: readonly string[],
  successor: string,
  say: (problem: string) => void,
): Promise<void> {
  const statuses = await Promise.all(addresses.map((address) => askVerify(address, successor)))
  for (const status of statuses) if (status !== 200) say(`its successor was answered ${status}`)
}
