/**
 * Eight projects. `pure` needs nothing but Node; the others need the PostgreSQL and Redis that tools/engines.ts starts, `browser`
 * also Chromium. `engines` has the contract and every layer of the server; `attacks` the catalogue of attacks; `clients` what talks
 * to the server: command line, client library, examples, proxies and other programs. `waiting` lets real time pass, a second at a
 * time: its files run after the others, several at once, because they leave the processor alone. So do those of `faults`, which take
 * engines and processes away. `timing` measures time: its files run last and one at a time, so that no other test slows them.
 *
 * No test is tried again here, but for those that notice that the machine stood still (server/test/rig/standstill.ts). `.ci/run`
 * runs a file that failed once more.
 */
import { defineConfig } from 'vitest/config'

const PURE = [
  'server/test/core/**',
  'server/test/secrets/**',
  'server/test/pages/**',
  'server/test/telemetry/**',
  'server/test/history/**',
  'server/test/faults/soak/**',
  'server/test/*.test.ts',
  'sdk/test/pure/**',
  'bench/test/**',
]

const WAITING = [
  'examples/test/device-flow.test.ts',
  'server/test/conformance/{decision-elsewhere,held-polls,limits,transitions}.test.ts',
  'server/test/faults/process/{drain,processes}.test.ts',
  'server/test/gate/contract.test.ts',
  'server/test/interop/proxies-restart.test.ts',
]

/** Kills, cuts, full disks and clocks: those of a few ids on every change, all of them every night (.ci/run). */
const FAULTS = [
  'server/test/faults/gate/{gate-failover,gate-trouble,open-transaction}.test.ts',
  'server/test/faults/messages/lost-messages.test.ts',
  'server/test/faults/network/{cut-answers,latency,packet-loss,partitions}.test.ts',
  'server/test/faults/postgres/{disk-full,failover,pooler-away,postgres-killed,slow-postgres}.test.ts',
  'server/test/faults/process/{blocked,clocks,crash-points,descriptors,full-disk,idle-connections,keys,names,pauses}.test.ts',
  'server/test/faults/restore/{outage,restore}.test.ts',
  'server/test/faults/webhooks/receivers-away.test.ts',
  'server/test/interop/pgbouncer.test.ts',
  'server/test/upgrade/upgrade.test.ts',
]

const TIMING = [
  'server/test/attacks/limits/{chunked-bodies,expressions,herd,hostile-forms,overload,silent-clients}.test.ts',
  'server/test/attacks/applications/secret-timing.test.ts',
  'server/test/attacks/web/answer-timing.test.ts',
  'server/test/cli/start-up.test.ts',
  'server/test/flows/overload/load.test.ts',
  'server/test/http/web/picture.test.ts',
  'server/test/secrets/password.test.ts',
]

/** Need pg_dump or pg_basebackup of the version that runs, which POSTGRES_BIN does not have when it is a package of npm. */
const DUMPING = [
  'server/test/faults/postgres/lost-commits.test.ts',
  'server/test/flows/restore/{proven-journal,taken-away}.test.ts',
  'server/test/store/postgres/confirmed-commits.test.ts',
  'server/test/store/schema.test.ts',
]
const LEFT_OUT = process.env.POSTGRES_BIN === undefined ? [] : DUMPING

const BROWSER = ['server/test/browser/**']

const ATTACKS = ['server/test/attacks/**']

const CLIENTS = ['server/test/cli/**', 'server/test/interop/**', 'sdk/test/*.test.ts', 'examples/test/**']

/**
 * Five files at once on two cores: a file computes for less than half of its time, and waits for intervals, browsers and engines
 * otherwise. Equal in all projects of a group, or one would wait for the other.
 */
const TOGETHER = { maxWorkers: 5, sequence: { groupOrder: 0 } }
const AFTERWARDS = { maxWorkers: 4, sequence: { groupOrder: 1 } }
const ALONE = { maxWorkers: 1, sequence: { groupOrder: 2 } }

const testsIn = (folders: readonly string[]) => folders.map((folder) => folder.replace(/\*\*$/, '**/*.test.ts'))

/** Far longer than anything takes on a quiet machine: only what hangs is ended. */
const ON_ENGINES = {
  setupFiles: ['server/test/rig/engines/lock-order.ts', 'server/test/rig/engines/long-timeouts.ts'],
  globalSetup: ['server/test/rig/engines/build.ts', 'server/test/rig/engines/engines.ts'],
  testTimeout: 120_000,
  hookTimeout: 120_000,
}

/** Each file starts services of its own, so modules can be shared: loading them again takes as long as the tests. */
const SHARED = { isolate: false }

export default defineConfig({
  test: {
    projects: [
      // Projects of a group start in the order of their names: the slowest files first.
      { test: { name: 'attacks', include: testsIn(ATTACKS), exclude: TIMING, ...SHARED, ...ON_ENGINES, ...TOGETHER } },
      { test: { name: 'browser', include: testsIn(BROWSER), ...SHARED, ...ON_ENGINES, ...TOGETHER } },
      {
        test: {
          name: 'clients',
          include: testsIn(CLIENTS),
          exclude: [...WAITING, ...FAULTS, ...TIMING],
          ...SHARED,
          ...ON_ENGINES,
          ...TOGETHER,
        },
      },
      {
        test: {
          name: 'engines',
          include: ['server/test/**/*.test.ts'],
          exclude: [...PURE, ...BROWSER, ...ATTACKS, ...CLIENTS, ...WAITING, ...FAULTS, ...TIMING, ...LEFT_OUT],
          ...SHARED,
          ...ON_ENGINES,
          ...TOGETHER,
        },
      },
      {
        test: {
          name: 'pure',
          include: testsIn(PURE),
          exclude: TIMING,
          // What is pure leaves nothing behind for the next file. It takes a third of the time.
          isolate: false,
          testTimeout: 120_000,
          ...TOGETHER,
        },
      },
      { test: { name: 'faults', include: FAULTS, ...ON_ENGINES, ...AFTERWARDS } },
      { test: { name: 'waiting', include: WAITING, ...ON_ENGINES, ...AFTERWARDS } },
      {
        // The service gives up waiting when it would in life: what it does then is what some of these are about.
        test: {
          name: 'timing',
          include: TIMING,
          ...ON_ENGINES,
          setupFiles: 'server/test/rig/engines/lock-order.ts',
          ...ALONE,
        },
      },
    ],
  },
})
