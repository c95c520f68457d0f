/** Compares what the calculator (bench/plan) predicts for the load of this proof with what was measured. */
import { availableParallelism } from 'node:os'
import { readFigures } from '../../../../bench/plan/figures.ts'
import { costOf, type Load } from '../../../../bench/plan/model.ts'
import { median, type Round } from './cost.ts'
import { type CellCodes, round } from './waiting-codes.ts'

/** The prediction may be wrong by this part of what was measured. */
const MAX_ERROR = 0.25

const PROCESSES = 6

/** How long a hint in the gate lives. */
const HINT_SECONDS = 10

/** With fewer codes, files of empty partitions weigh more than codes; and a short form says nothing about processor time. */
const MIN_CODES = 20_000

type Compared = { readonly predicted: number; readonly measured: number; readonly ratio: number }

/** With fewer, the machine had other work, or is another one than that of the figures. */
const MIN_POLLS_PER_SECOND = 1_000

/** Rounds of the three cells and of a single installation, in which `polledCodes` were polled. */
export type Rounds = { readonly cells: readonly Round[]; readonly single: readonly Round[] }

export function comparePrediction(placed: readonly CellCodes[], rounds: Rounds, polledCodes: number) {
  const figures = readFigures()
  const codes = placed.reduce((sum, { codes: { ids } }) => sum + ids.length, 0)
  const predict = (cells: number, turns: readonly Round[]) =>
    costOf(figures, loadOf(cells, codes, pollsPerSecond(turns), polledCodes), 600)
  const { cores, memory } = predict(placed.length, rounds.cells)
  const spent = (part: keyof Round['spent'], turns = rounds.cells) =>
    median(turns.map((turn) => turn.spent[part] / turn.seconds))
  // How much longer a poll takes here than where the figures were measured.
  const slower = spent('server', rounds.single) / predict(1, rounds.single).cores.server
  const sum = (read: (each: CellCodes) => number) => placed.reduce((total, each) => total + read(each), 0)
  const isQuiet = pollsPerSecond(rounds.cells) >= MIN_POLLS_PER_SECOND
  const judged = {
    postgres_bytes: compare(
      memory.postgres,
      sum(({ postgresBytes }) => postgresBytes),
    ),
    redis_bytes: compare(
      memory.redis,
      sum(({ redisBytes }) => redisBytes),
    ),
    server_cores_by_single: compare(cores.server * slower, spent('server')),
    ...(isQuiet ? { server_cores: compare(cores.server, spent('server')) } : {}),
  }
  const stated = {
    server_cores: compare(cores.server, spent('server')),
    redis_cores: compare(cores.redis, spent('redis')),
    postgres_cores: compare(cores.postgres, spent('postgres')),
    haproxy_cores: compare(cores.haproxy, spent('haproxy')),
  }
  return {
    step: 'prediction of the calculator',
    codes,
    polls_per_second: Math.round(pollsPerSecond(rounds.cells)),
    ...judged,
    ...stated,
    missed: Object.entries(judged)
      .filter(([, { ratio }]) => codes >= MIN_CODES && Math.abs(ratio - 1) > MAX_ERROR)
      .map(([name, { ratio }]) => `${name}: predicted ${ratio} times what was measured`),
  }
}

const pollsPerSecond = (turns: readonly Round[]) => median(turns.map(({ polls, seconds }) => polls / seconds))

function loadOf(cells: number, codes: number, perSecond: number, polledCodes: number): Load {
  return {
    cells,
    processes: PROCESSES,
    codes,
    heldPolls: 0,
    pollsPerSecond: perSecond,
    // Codes are polled at random, so that the next poll comes a while after the hint has ended.
    readsPerSecond: polledCodes / (HINT_SECONDS + polledCodes / perSecond),
    heldPollsPerSecond: 0,
    codeRequestsPerSecond: 0,
    sharedCores: availableParallelism() < PROCESSES,
  }
}

function compare(predicted: number, measured: number): Compared {
  return {
    predicted: Number(predicted.toPrecision(3)),
    measured: Number(measured.toPrecision(3)),
    ratio: round(predicted / measured, 2),
  }
}
