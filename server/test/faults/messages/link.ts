/**
 * The link between a server and its engines, on which the n-th message of a flow meets a fault. Messages of background tasks
 * pass and are not counted: their number depends on the time that a flow takes.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type LinkFault, type Message, type MessageProxy, startMessageProxy } from '../../rig/network/message-proxy.ts'

/** `killed`: the process of the server, as soon as it has sent the message. */
export type Fault = LinkFault | 'killed'

export const FAULTS: readonly Fault[] = [
  'request lost',
  'reply lost',
  'delayed',
  'reset before',
  'reset after',
  'killed',
]

/** Longer than a server waits for a reply: 2,500 ms for PostgreSQL, 250 ms for Redis. */
const DELAY_MS = { postgresql: 3_000, redis: 400 }

/** A flow is over when none of its messages was sent for so long. */
const QUIET_MS = 120
const MAX_QUIET_MS = 8_000

/** Which message of a flow: its number, or the first that fits. */
export type Target = number | ((message: Message) => boolean)

export type Link = {
  readonly ports: { readonly postgresql: number; readonly redis: number }
  /** From now on messages are counted, and one of them meets the fault; null: none. */
  arm(fault: Fault | null, target: Target): void
  /** Resolves when no message but those of background tasks was sent for a while. */
  quiet(): Promise<void>
  /** Lets every message pass again, and returns those that were counted. */
  recover(): Counted
  /** Statements that a server makes by itself, all of those sent while the work was done. */
  watchBackground(work: () => Promise<void>): Promise<void>
  stop(): Promise<void>
}

export type Counted = { readonly texts: readonly string[]; readonly hit: string | null }

/** Statements of background tasks, learnt by watching servers that have nothing else to do. */
const background = new Set<string>()

export async function openLink(engines: { postgresql: number; redis: number }, kill: () => void): Promise<Link> {
  let armed: { readonly fault: Fault | null; readonly target: Target } | null = null
  let watching = false
  let texts: string[] = []
  let hit: string | null = null
  let lastAt = 0
  /** Connections whose transaction belongs to a background task. */
  const tasks = new Set<number>()

  const onMessage = (message: Message): LinkFault | null => {
    const { engine, text } = message
    if (watching) background.add(text)
    if (isBackground(tasks, message)) return null
    lastAt = performance.now()
    if (!armed) return null
    texts.push(text)
    const { fault, target } = armed
    const isTarget = typeof target === 'number' ? texts.length === target : target(message)
    if (hit !== null || !isTarget || fault === null) return null
    hit = `${engine}: ${text.replaceAll(/\s+/g, ' ').slice(0, 80)}`
    if (fault !== 'killed') return fault
    kill()
    return null
  }
  const start = (engine: 'postgresql' | 'redis') =>
    startMessageProxy({ engine, port: engines[engine], delayMs: DELAY_MS[engine], onMessage })
  const proxies: readonly MessageProxy[] = [await start('postgresql'), await start('redis')]
  const [postgresql = 0, redis = 0] = proxies.map(({ port }) => port)
  return {
    ports: { postgresql, redis },
    arm: (fault, target) => {
      texts = []
      hit = null
      lastAt = performance.now()
      armed = { fault, target }
    },
    quiet: async () => {
      const from = performance.now()
      while (performance.now() - from < MAX_QUIET_MS && performance.now() - lastAt < QUIET_MS) await sleep(20)
    },
    recover: () => {
      armed = null
      for (const proxy of proxies) proxy.recover()
      return { texts, hit }
    },
    watchBackground: async (work) => {
      watching = true
      await work()
      watching = false
    },
    stop: async () => {
      await Promise.all(proxies.map((proxy) => proxy.stop()))
    },
  }
}

/** A transaction of a request names it when it begins; one of a task does not (store/postgres/postgres.ts). */
function isBackground(tasks: Set<number>, { engine, connection, text, inTransaction }: Message): boolean {
  if (engine === 'redis') return background.has(text)
  if (inTransaction) return tasks.has(connection)
  tasks.delete(connection)
  if (text === 'begin') tasks.add(connection)
  return text === 'begin' || (background.has(text) && !text.startsWith('StartupMessage'))
}
