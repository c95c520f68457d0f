/** Cases: each message of each flow, with each fault. */
import { randomFrom } from '../../model/suspension-traffic.ts'
import { credentialFlows } from './credential-flows.ts'
import { deviceFlows } from './device-flows.ts'
import { dialogFlows } from './dialog-flows.ts'
import type { Flow, Problem, Started } from './flow.ts'
import type { Harness } from './harness.ts'
import { FAULTS, type Fault, type Target } from './link.ts'
import { manageFlows } from './manage-flows.ts'

export const FLOWS: readonly Flow[] = [...deviceFlows, ...dialogFlows, ...credentialFlows, ...manageFlows]

export type Case = { readonly flow: Flow; readonly fault: Fault; readonly at: number }

export const nameOf = ({ flow, fault, at }: Case) => `${flow.name}/${fault.replace(' ', '-')}/${at}`

export type Result = {
  /** The message that met the fault; null: the flow sent fewer. */
  readonly hit: string | null
  readonly problems: readonly Problem[]
  /** The case is not over: what it left behind would disturb the next one. */
  readonly stuck: boolean
}

/** All of them, in an order that a seed gives. */
export function allCases(counts: ReadonlyMap<string, number>, seed: number): readonly Case[] {
  const random = randomFrom(seed)
  return FLOWS.flatMap((flow) => {
    const numbers = Array.from({ length: counts.get(flow.name) ?? 0 }, (_, index) => index + 1)
    return numbers.flatMap((at) => FAULTS.map((fault) => ({ flow, fault, at })))
  })
    .map((each) => ({ each, order: random() }))
    .sort((one, other) => one.order - other.order)
    .map(({ each }) => each)
}

/** Servers are left alone for so long, and all that they send then is sent by background tasks. */
const IDLE_MS = 5_000

/** Runs every flow without a fault, and counts its messages. */
export async function countMessages(harness: Harness): Promise<{ counts: Map<string, number>; problems: Problem[] }> {
  const problems: Problem[] = []
  const counts = new Map<string, number>()
  for (const counting of [false, true]) {
    for (const flow of FLOWS) {
      const started = await flow.prepare(harness)
      await harness.link.quiet()
      harness.link.arm(null, 0)
      await started.act()
      await harness.link.quiet()
      const { texts } = harness.link.recover()
      if (counting) counts.set(flow.name, texts.length)
      for (const problem of await started.finish({ killed: false })) {
        problems.push({ ...problem, text: `${flow.name} without a fault: ${problem.text}` })
      }
    }
    if (!counting) await harness.link.watchBackground(() => new Promise((resolve) => setTimeout(resolve, IDLE_MS)))
  }
  return { counts, problems }
}

const MAX_MS = 90_000

export async function runCase(harness: Harness, flow: Flow, fault: Fault, target: Target): Promise<Result> {
  let hit: string | null = null
  const run = async (): Promise<readonly Problem[]> => {
    const started = await prepare(harness, flow)
    await harness.link.quiet()
    harness.link.arm(fault, target)
    await started.act()
    await harness.link.quiet()
    hit = harness.link.recover().hit
    await harness.ready()
    const killed = fault === 'killed' && hit !== null
    return [...(await started.finish({ killed })), ...complaintsOf(harness)]
  }
  const problems = await Promise.race([run().catch(failed), tooLong()])
  return { hit, problems: problems ?? [TOO_LONG], stuck: problems === null }
}

const TRIES = 5

/** Nothing is lost yet: what fails then fails because the machine is busy, and is tried again. */
async function prepare(harness: Harness, flow: Flow): Promise<Started> {
  for (let tried = 1; ; tried += 1) {
    try {
      await harness.ready()
      return await flow.prepare(harness)
    } catch (error) {
      if (tried === TRIES) throw error
    }
  }
}

const complaintsOf = (harness: Harness) => harness.complaints().map((text) => ({ kind: 'wrong', text }) as const)

const failed = (error: Error): readonly Problem[] => [{ kind: 'wrong', text: error.stack ?? error.message }]

const TOO_LONG: Problem = { kind: 'wrong', text: `not over after ${MAX_MS} ms` }

async function tooLong(): Promise<null> {
  await new Promise((resolve) => setTimeout(resolve, MAX_MS).unref())
  return null
}
