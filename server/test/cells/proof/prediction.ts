/** Compares what the calculator (bench/plan) predicts for the load of this proof with what was measured. */
import { readFigures } from '../../../../bench/plan/figures.ts'
import { costOf, type Load } from '../../../../bench/plan/model.ts'
import { median, type Round } from './cost.ts'
import { type CellCodes, round } from './waiting-codes.ts'

/** The prediction may be wrong by this part of what was measured. */
const WRONG_BY = 0.25

const PROCESSES = 6

/** How long a hint in the gate lives. */
const HINT_SECONDS = 10

/** With fewer codes, files of empty partitions weigh more than codes; and a short form says nothing about processor time. */
const LEAST_CODES = 20_000

type Compared = { readonly predicted: number; readonly measured: number; readonly ratio: number }

/** `rounds`: of the three cells, in which `polledCodes` were polled. */
export function comparePrediction(placed: readonly CellCodes[], rounds: readonly Round[], polledCodes: number) {
  const figures = readFigures()
  const codes = placed.reduce((sum, { codes: { ids } }) => sum + ids.length, 0)
  const pollsPerSecond = median(rounds.map(({ polls, seconds }) => polls / seconds))
  const load: Load = {
    cells: placed.length,
    processes: PROCESSES,
    codes,
    heldPolls: 0,
    pollsPerSecond,
    // Codes are polled at random, so that the next poll comes a while after the hint has ended.
    readsPerSecond: polledCodes / (HINT_SECONDS + polledCodes / pollsPerSecond),
    heldPollsPerSecond: 0,
    codeRequestsPerSecond: 0,
  }
  const { cores, memory } = costOf(figures, load, 600)
  const spent = (part: keyof Round['spent']) => median(rounds.map((turn) => turn.spent[part] / turn.seconds))
  const compare = (predicted: number, measured: number): Compared => ({
    predicted: Number(predicted.toPrecision(3)),
    measured: Number(measured.toPrecision(3)),
    ratio: round(predicted / measured, 2),
  })
  const sum = (read: (each: CellCodes) => number) => placed.reduce((total, each) => total + read(each), 0)
  const judged = {
    postgres_bytes: compare(
      memory.postgres,
      sum(({ postgresBytes }) => postgresBytes),
    ),
    redis_bytes: compare(
      memory.redis,
      sum(({ redisBytes }) => redisBytes),
    ),
    server_cores: compare(cores.server, spent('server')),
  }
  const stated = {
    redis_cores: compare(cores.redis, spent('redis')),
    postgres_cores: compare(cores.postgres, spent('postgres')),
    haproxy_cores: compare(cores.haproxy, spent('haproxy')),
  }
  return {
    step: 'prediction of the calculator',
    codes,
    polls_per_second: Math.round(pollsPerSecond),
    ...judged,
    ...stated,
    missed: Object.entries(judged)
      .filter(([, { ratio }]) => codes >= LEAST_CODES && Math.abs(ratio - 1) > WRONG_BY)
      .map(([name, { ratio }]) => `${name}: predicted ${ratio} times what was measured`),
  }
}
