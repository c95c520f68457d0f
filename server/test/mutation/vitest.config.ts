/** Tests that Stryker runs: MUTATED is `pure` or `flows`. Files share a process, as in CI; Stryker filters by test. */
import { defineConfig } from 'vitest/config'

const PURE = { include: ['server/test/core/**/*.test.ts', 'server/test/secrets/**/*.test.ts'] }

/** Only tests whose servers run in their own process: a mutant is not active in another. */
const FLOWS = {
  include: [
    'server/test/flows/{device,grants}/**/*.test.ts',
    'server/test/flows/*.test.ts',
    'server/test/flows/applications/{usage-counters,vetting}.test.ts',
    'server/test/conformance/*.test.ts',
    'server/test/races/*.test.ts',
    'server/test/attacks/{device,grants}/*.test.ts',
    'server/test/manage/*.test.ts',
    'server/test/attacks/applications/{barred,test-mode}.test.ts',
    'server/test/http/{metrics,preview}.test.ts',
    'server/test/faults/network/lost-answers.test.ts',
  ],
  setupFiles: ['server/test/rig/engines/lock-order.ts', 'server/test/rig/engines/long-timeouts.ts'],
  globalSetup: 'server/test/rig/engines/engines.ts',
  hookTimeout: 120_000,
}

export default defineConfig({
  test: { ...(process.env.MUTATED === 'flows' ? FLOWS : PURE), isolate: false, testTimeout: 120_000 },
})
