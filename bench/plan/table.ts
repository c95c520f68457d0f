/** Table of plans: one column for each, one row for each resource. */
import { BUSY, type Cost, type Demand, type Load, PARTS, type Part, totalCores } from './model.ts'

export type Plan = { readonly demand: Demand; readonly load: Load; readonly cost: Cost }

const NAMES: Readonly<Record<Part, string>> = {
  server: 'Latchkey',
  redis: 'Redis',
  postgres: 'PostgreSQL',
}

const ROWS: readonly (readonly [string, (plan: Plan) => string])[] = [
  ['waiting devices', ({ demand }) => whole(demand.devices)],
  ['polls are held', ({ demand }) => (demand.held ? 'yes' : 'no')],
  ['server processes', ({ load }) => whole(load.processes)],
  ['polls per second', ({ load }) => whole(load.pollsPerSecond + load.heldPollsPerSecond)],
  ['code requests per second', ({ load }) => whole(load.codeRequestsPerSecond)],
  ...PARTS.map((part) => [`cores, ${NAMES[part]}`, ({ cost }: Plan) => cores(cost.cores[part])] as const),
  [`cores to provide, each ${BUSY * 100} % busy`, ({ cost }) => cores(totalCores(cost) / BUSY)],
  ['memory, Latchkey', ({ cost }) => bytes(cost.memory.server)],
  ['memory, Redis', ({ cost }) => bytes(cost.memory.redis)],
  ['memory, PostgreSQL: codes that wait', ({ cost }) => bytes(cost.memory.postgres)],
  ['storage: codes of a day', ({ cost }) => bytes(cost.storageBytes)],
  ['write-ahead log per second', ({ cost }) => bytes(cost.walBytesPerSecond)],
  ['traffic per second', ({ cost }) => bytes(cost.trafficBytesPerSecond)],
]

export function renderPlans(plans: readonly Plan[]): string {
  const lines = ROWS.map(([name, read]) => [name, ...plans.map(read)])
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  return lines
    .map(([name = '', ...cells]) =>
      [name.padEnd(widths[0] ?? 0), ...cells.map((cell, index) => cell.padStart(widths[index + 1] ?? 0))].join('  '),
    )
    .join('\n')
}

const whole = (value: number) => Math.round(value).toLocaleString('en')

const cores = (value: number) => (value < 10 ? value.toFixed(1) : whole(value))

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB']

export function bytes(value: number): string {
  const step = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, value)) / 3)))
  return `${Number((value / 1000 ** step).toPrecision(3))} ${UNITS[step]}`
}
