/** Two projects: `pure` needs nothing but Node; `engines` needs the PostgreSQL and Redis that tools/engines.ts starts. */
import { defineConfig } from 'vitest/config'

const PURE = [
  'server/test/core/**',
  'server/test/secrets/**',
  'server/test/pages/**',
  'server/test/telemetry/**',
  'server/test/*.test.ts',
  'sdk/test/pure/**',
]

/** Two cores: more files at once only wait for each other. The same in both, or the second would wait for the first to end. */
const WORKERS = 2

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'pure',
          include: PURE.map((folder) => folder.replace(/\*\*$/, '**/*.test.ts')),
          // What is pure leaves nothing behind for the next file. It takes a third of the time.
          isolate: false,
          maxWorkers: WORKERS,
        },
      },
      {
        test: {
          name: 'engines',
          include: ['server/test/**/*.test.ts', 'sdk/test/**/*.test.ts', 'examples/test/**/*.test.ts'],
          exclude: PURE,
          globalSetup: 'server/test/rig/engines.ts',
          testTimeout: 30_000,
          hookTimeout: 60_000,
          maxWorkers: WORKERS,
        },
      },
    ],
  },
})
