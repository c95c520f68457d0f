/**
 * Benchmarks: each compares the server with a reference in the same run, and its ratios with bench/baseline.json (judge.ts).
 * docs/performance.md explains the figures.
 *
 *   npm run bench -- all                     all of them, and a table
 *   npm run bench -- issue code              some of them
 *   npm run bench -- all --peers             and two other servers, which are not judged (peers.ts)
 *   npm run bench -- all --write-baseline    writes the figures into baseline.json instead; then `npm run docs`
 *   npm run bench -- pages --large           only the consoles with many rows (large-consoles.ts)
 */
import { parseArgs } from 'node:util'
import { startEngines } from '../tools/engines.ts'
import { benchCode } from './code.ts'
import { benchHeldPoll } from './held-poll.ts'
import { benchIssue } from './issue.ts'
import { BENCHES, type Bench, type Benchmark, type Judged, judge, readBaselines, renew } from './judge.ts'
import { benchLargeConsoles } from './large-consoles.ts'
import { benchPages } from './pages.ts'
import { benchPeers } from './peers.ts'
import { benchPoll } from './poll.ts'
import { benchVerify } from './verify.ts'
import { benchWaitingDevice } from './waiting-device.ts'

const benchmarks: Readonly<Record<Bench, Benchmark>> = {
  poll: benchPoll('redis'),
  'poll-in-process': benchPoll('process'),
  'held-poll': benchHeldPoll,
  'waiting-device': benchWaitingDevice,
  verify: benchVerify,
  issue: benchIssue,
  code: benchCode,
  pages: benchPages,
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    peers: { type: 'boolean', default: false },
    large: { type: 'boolean', default: false },
    'write-baseline': { type: 'boolean', default: false },
  },
})
const unknown = positionals.filter((name) => !BENCHES.some((bench) => bench === name))
if (unknown.length > 0) throw new Error(`there is no benchmark ${unknown.join(', ')}: ${BENCHES.join(', ')}`)

const { databaseUrl, redisUrl } = await startEngines()
process.env.DATABASE_URL ??= databaseUrl
process.env.REDIS_URL ??= redisUrl

if (values.large) {
  if (!(await benchLargeConsoles())) process.exitCode = 1
} else {
  await runAll(BENCHES.filter((bench) => positionals.length === 0 || positionals.includes(bench)))
}

async function runAll(chosen: readonly Bench[]): Promise<void> {
  const begun = performance.now()
  const baselines = readBaselines()
  const rows = new Map<string, Judged>()
  for (const bench of chosen) {
    await benchmarks[bench](async (subject) => {
      rows.set(bench, await (values['write-baseline'] ? renew : judge)(bench, subject))
    })
  }
  const peers = values.peers ? await benchPeers(values['write-baseline']) : new Map()
  for (const [name, figures] of peers) rows.set(name, { figures, verdict: 'passed' })
  console.table(
    Object.fromEntries(
      Array.from(rows, ([name, { figures, verdict }]) => [
        name,
        {
          ratio: figures.ratio,
          'by processor time': figures.ratio_by_cpu,
          'baseline ratio': baselines[name]?.ratio,
          'baseline by processor time': baselines[name]?.ratio_by_cpu,
          'per second': figures.ours_per_second,
          'reference per second': figures.reference_per_second,
          µs: figures.ours_cpu_us,
          'reference µs': figures.reference_cpu_us,
          verdict: peers.has(name) ? 'not judged' : verdict,
        },
      ]),
    ),
  )
  console.log(`in ${Math.round((performance.now() - begun) / 1000)} s`)
  if ([...rows.values()].some(({ verdict }) => verdict === 'failed')) process.exitCode = 1
}
