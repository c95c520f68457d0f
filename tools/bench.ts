/** `npm run bench -- NAME`: benchmarks, and the figures of the calculator of installations. Each file begins with its options. */
import { type Program, runProgram } from './programs.ts'

const JUDGED = 'bench/bench.ts'

const PROGRAMS: Readonly<Record<string, Program>> = {
  all: { file: JUDGED, about: 'All that are compared with bench/baseline.json. --peers: and two other servers.' },
  poll: { file: JUDGED, args: ['poll'], about: 'Pending polls, with the gate in Redis.' },
  'poll-in-process': { file: JUDGED, args: ['poll-in-process'], about: 'Pending polls, with the gate in the process.' },
  'held-poll': { file: JUDGED, args: ['held-poll'], about: 'Held polls.' },
  'waiting-device': {
    file: JUDGED,
    args: ['waiting-device'],
    about: 'Processor time of a waiting device: held polls, and polls every five seconds.',
  },
  verify: { file: JUDGED, args: ['verify'], about: 'Verification of access keys and access tokens.' },
  issue: { file: JUDGED, args: ['issue'], about: 'Token sets and access keys issued to devices.' },
  code: { file: JUDGED, args: ['code'], about: 'Code requests.' },
  pages: { file: JUDGED, args: ['pages'], about: 'Pages of the consoles. --large: with 100,000 accounts.' },
  plan: { file: 'bench/plan/plan.ts', about: 'What so many waiting devices need: --devices 100000000.' },
  figures: { file: 'bench/plan/measure.ts', about: 'Measures the figures that `plan` computes with. Five minutes.' },
}

await runProgram('bench', PROGRAMS)
