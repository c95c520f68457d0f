/** The tables of docs/performance.md, from baseline.json. `npm run docs` writes them. */
import { type Figures, readBaselines } from './judge.ts'
import { PEERS } from './peers.ts'

/** Each benchmark, as a row of the table. */
const ROWS = {
  poll: 'Pending poll, gate in Redis',
  'poll-in-process': 'Pending poll, gate in process',
  'held-poll': 'Held poll',
  verify: 'Verification of a credential',
  issue: 'First poll after the yes',
  code: 'Code request',
  pages: 'Page',
} as const

const HEAD = `| | requests per second | µs per request | µs of the reference | ratio by processor time | ratio by requests per second |
| --- | --: | --: | --: | --: | --: |`

const START = '<!-- Generated from bench/baseline.json by `npm run docs`. Do not edit. -->'
const END = '<!-- End of the generated part. -->'

export function fillFigures(document: string): string {
  const [from, to] = [document.indexOf(START), document.indexOf(END)]
  if (from === -1 || to < from) throw new Error('docs/performance.md has no place for its figures')
  return `${document.slice(0, from)}${START}\n\n${renderFigures()}\n\n${document.slice(to)}`
}

function renderFigures(): string {
  const all = readBaselines()
  const ours = Object.entries(ROWS).map(([name, title]) => rowOf(title, all[name], name !== 'held-poll'))
  const peers = PEERS.flatMap((peer) => [
    rowOf(`Pending poll, ${peer}`, all[`poll of ${peer}`]),
    rowOf(`Verification, ${peer}`, all[`verify of ${peer}`]),
  ])
  const table = [HEAD, ...ours, ...peers].join('\n')
  const machine = Object.entries(all.poll?.machine ?? {}).map(([name, value]) => `${name.replace('_', ' ')} ${value}`)
  const parts = [table, perMinute(all['waiting-device']), `Measured with: ${machine.join(', ')}.`]
  return parts.filter((part) => part !== '').join('\n\n')
}

/** `byRate`: whether requests per second can be compared. Those of a held poll follow from the wait. */
function rowOf(title: string, figures: Figures | undefined, byRate = true): string {
  const { ours_per_second, ours_cpu_us, reference_cpu_us, ratio_by_cpu, ratio } = figures ?? {}
  const cells = [ours_per_second, ours_cpu_us, reference_cpu_us, ratio_by_cpu, byRate ? ratio : '–'].map(
    (cell) => cell ?? 'not measured',
  )
  return `| ${[title, ...cells].join(' | ')} |`
}

function perMinute(waiting: Figures | undefined): string {
  if (waiting?.ours_cpu_us === undefined || waiting.reference_cpu_us === undefined) return ''
  const times = (waiting.ours_cpu_us / waiting.reference_cpu_us).toFixed(2)
  return `A device that waits for a minute takes ${waiting.reference_cpu_us} µs of processor time if it polls every 5 seconds, and ${waiting.ours_cpu_us} µs, ${times} times as much, if its polls are held for 25 seconds.`
}
