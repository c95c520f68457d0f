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

export default defineConfig({
  test: {
    projects: [
      { test: { name: 'pure', include: PURE.map((folder) => folder.replace(/\*\*$/, '**/*.test.ts')) } },
      {
        test: {
          name: 'engines',
          include: ['server/test/**/*.test.ts', 'sdk/test/**/*.test.ts', 'examples/test/**/*.test.ts'],
          exclude: PURE,
          globalSetup: 'server/test/rig/engines.ts',
          testTimeout: 30_000,
          hookTimeout: 60_000,
          // Two cores: more files at once only wait for each other.
          maxWorkers: 2,
        },
      },
    ],
  },
})
