/** Tests that Stryker runs: MUTATED is `pure` or `flows`. Files share a process, as in CI; Stryker filters by test. */
import { defineConfig } from 'vitest/config'

const PURE = { include: ['server/test/core/**/*.test.ts', 'server/test/secrets/**/*.test.ts'] }

const FLOWS = {
  include: [
    'server/test/flows/{device,grants}/**/*.test.ts',
    'server/test/flows/*.test.ts',
    'server/test/conformance/*.test.ts',
    'server/test/races/*.test.ts',
  ],
  setupFiles: ['server/test/rig/engines/lock-order.ts', 'server/test/rig/engines/long-timeouts.ts'],
  globalSetup: 'server/test/rig/engines/engines.ts',
  hookTimeout: 120_000,
}

export default defineConfig({
  test: { ...(process.env.MUTATED === 'flows' ? FLOWS : PURE), isolate: false, testTimeout: 120_000 },
})
