/**
 * Model of an installation: turns a number of waiting devices into a rate of requests, and that into processors, memory, storage
 * and traffic, with the figures of figures.json. Pure. docs/scale.md, "Plan an installation".
 */

/** Programs that take processor time. */
export const PARTS = ['server', 'redis', 'postgres'] as const
export type Part = (typeof PARTS)[number]

/** Processor time in microseconds: of one request, or of one process that waits for requests, per second. */
export type Processor = {
  /** A poll that ends at the gate, in a process that is always busy and so serves many at once. */
  readonly poll: number
  /** In addition, a poll that finds its process idle: it wakes it up, and shares no system call with another. */
  readonly wakeUp: number
  /** In addition, a poll that reads the row of its code. */
  readonly read: number
  /** A poll that is held and answered after its wait, read and wake-up included. */
  readonly heldPoll: number
  readonly codeRequest: number
  readonly idleProcess: number
}

export type Figures = {
  readonly processor: Readonly<Record<Part, Processor>>
  readonly bytes: {
    readonly postgresPerCode: number
    readonly walPerCode: number
    readonly redisPerCode: number
    /** Request and response, without TCP, IP and TLS. */
    readonly wirePerPoll: number
    readonly wirePerCodeRequest: number
  }
  /** Of the server, in bytes. */
  readonly memory: { readonly perProcess: number; readonly perHeldPoll: number }
}

export type Demand = {
  /** Devices that show a code at the same time. */
  readonly devices: number
  /** Polls ask to be held (`Prefer: wait`). */
  readonly held: boolean
  readonly intervalSeconds: number
  /** A device whose code expires requests another one. */
  readonly lifetimeSeconds: number
}

/** Rates of requests, and the number of processes, codes and held polls at any time. */
export type Load = {
  readonly processes: number
  readonly codes: number
  readonly heldPolls: number
  readonly pollsPerSecond: number
  readonly readsPerSecond: number
  readonly heldPollsPerSecond: number
  readonly codeRequestsPerSecond: number
}

export type Cost = {
  /** Processors that are busy, of every part. */
  readonly cores: Readonly<Record<Part, number>>
  readonly memory: { readonly server: number; readonly redis: number; readonly postgres: number }
  readonly storageBytes: number
  readonly walBytesPerSecond: number
  readonly trafficBytesPerSecond: number
}

/** The longest hold that the server grants, and how long a hint in the gate lives. */
const HOLD_SECONDS = 25
const HINT_SECONDS = 10

/** Codes are dropped with their hourly partition, a day after they expired. */
const KEPT_SECONDS = 25 * 3600

/** Held polls of one process: the limit of the server. */
const MAX_HELD = 20_000

/** The part of a processor that may be busy: the rest is for peaks, and for the loss of every other process. */
export const BUSY = 0.5

const MICROSECONDS = 1_000_000

export function planFor(figures: Figures, demand: Demand): { readonly load: Load; readonly cost: Cost } {
  const load = loadOf(figures, demand)
  return { load, cost: costOf(figures, load, demand.lifetimeSeconds) }
}

export function loadOf(figures: Figures, demand: Demand): Load {
  const { devices, held, intervalSeconds, lifetimeSeconds } = demand
  const polls = held ? 0 : devices / intervalSeconds
  const rates = {
    codes: devices,
    heldPolls: held ? devices : 0,
    pollsPerSecond: polls,
    readsPerSecond: Math.min(polls, devices / HINT_SECONDS),
    heldPollsPerSecond: held ? devices / Math.max(HOLD_SECONDS, intervalSeconds) : 0,
    codeRequestsPerSecond: devices / lifetimeSeconds,
  }
  const busy = coresIfBusy(figures.processor.server, rates)
  const usableShare = BUSY - figures.processor.server.idleProcess / MICROSECONDS
  const processes = Math.max(1, Math.ceil(busy / usableShare), Math.ceil(rates.heldPolls / MAX_HELD))
  return { processes, ...rates }
}

export function costOf(figures: Figures, load: Load, lifetimeSeconds: number): Cost {
  const { processor, bytes, memory } = figures
  // One Redis, or a cluster of as many as are needed.
  const nodes = Math.max(1, Math.ceil(coresIfBusy(processor.redis, load) / BUSY))
  const loops = { server: load.processes, redis: nodes, postgres: load.processes }
  const cores = (part: Part) => coresOf(processor[part], load, loops[part])
  const polls = load.pollsPerSecond + load.heldPollsPerSecond
  return {
    cores: { server: cores('server'), redis: cores('redis'), postgres: cores('postgres') },
    memory: {
      server: load.processes * memory.perProcess + load.heldPolls * memory.perHeldPoll,
      redis: load.codes * bytes.redisPerCode,
      postgres: load.codes * bytes.postgresPerCode,
    },
    storageBytes: load.codeRequestsPerSecond * (lifetimeSeconds + KEPT_SECONDS) * bytes.postgresPerCode,
    walBytesPerSecond: load.codeRequestsPerSecond * bytes.walPerCode,
    trafficBytesPerSecond: polls * bytes.wirePerPoll + load.codeRequestsPerSecond * bytes.wirePerCodeRequest,
  }
}

type Rates = Omit<Load, 'processes'>

/**
 * Of `loops` event loops. One that is busy for a part of the time is woken up by the rest of its polls:
 * cores = work + wakeUps * (1 - cores / loops), solved for cores.
 */
function coresOf(processor: Processor, load: Load, loops: number): number {
  const work = workOf(processor, load) + (load.processes * processor.idleProcess) / MICROSECONDS
  const wakeUps = wakeUpsOf(processor, load)
  return (work + wakeUps) / (1 + wakeUps / loops)
}

/** Of as many event loops as are busy for BUSY of the time, without what they do when idle. */
function coresIfBusy(processor: Processor, rates: Rates): number {
  return workOf(processor, rates) + wakeUpsOf(processor, rates) * (1 - BUSY)
}

const wakeUpsOf = ({ wakeUp }: Processor, { pollsPerSecond }: Rates) => (pollsPerSecond * wakeUp) / MICROSECONDS

function workOf(processor: Processor, rates: Rates): number {
  const microseconds =
    rates.pollsPerSecond * processor.poll +
    rates.readsPerSecond * processor.read +
    rates.heldPollsPerSecond * processor.heldPoll +
    rates.codeRequestsPerSecond * processor.codeRequest
  return microseconds / MICROSECONDS
}

/** Devices with which one Redis is as busy as a processor may be: it has one thread. */
export function devicesOfOneRedis(figures: Figures, demand: Demand): number {
  const busy = coresIfBusy(figures.processor.redis, loadOf(figures, demand))
  return Math.floor((demand.devices * BUSY) / busy)
}

export const totalCores = ({ cores }: Cost): number => PARTS.reduce((sum, part) => sum + cores[part], 0)

export type Assumption = { readonly text: string; readonly coresIfDoubled: number }

/** Assumptions of the model. First the one that saves most processors if it is doubled. */
export function assumptionsOf(figures: Figures, demand: Demand): readonly Assumption[] {
  const before = totalCores(planFor(figures, demand).cost)
  const changed = (change: Partial<Demand>) => totalCores(planFor(figures, { ...demand, ...change }).cost) / before
  const { held, intervalSeconds, lifetimeSeconds } = demand
  const pace = held
    ? {
        text: `a device polls again after ${Math.max(HOLD_SECONDS, intervalSeconds)} s`,
        change: { intervalSeconds: 2 * Math.max(HOLD_SECONDS, intervalSeconds) },
      }
    : { text: `a device polls every ${intervalSeconds} s`, change: { intervalSeconds: 2 * intervalSeconds } }
  const life = {
    text: `a device requests a code every ${lifetimeSeconds} s`,
    change: { lifetimeSeconds: 2 * lifetimeSeconds },
  }
  return [pace, life]
    .map(({ text, change }) => ({ text, coresIfDoubled: changed(change) }))
    .sort((a, b) => Math.abs(1 - b.coresIfDoubled) - Math.abs(1 - a.coresIfDoubled))
}
