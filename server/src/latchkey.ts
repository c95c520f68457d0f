#!/usr/bin/env node
/** Executable `latchkey`. Modules are imported on demand: loading the service takes longer than most commands run. */
import { createProgram } from './cli/program.ts'
import type { Wiring } from './cli/wiring.ts'

const app = () => import('./app.ts')

/** The processes of a supervisor run the same command. */
async function serve(processes: number | null): Promise<void> {
  const { isSupervised, leaveSupervisor } = await import('./processes/supervised.ts')
  if (isSupervised()) return (await app()).serve().finally(leaveSupervisor)
  if (processes === null) return (await app()).serve()
  return (await import('./processes/supervisor.ts')).supervise(processes)
}

try {
  const wiring: Wiring = {
    serve,
    createContext: async (...settings) => (await app()).createContext(...settings),
    closeContext: async (context) => (await app()).closeContext(context),
    callManagement: async (...call) => (await app()).callManagement(...call),
  }
  // Two arguments: "latchkey help audit" describes the same command as "latchkey audit --help".
  const program = await createProgram(wiring, process.argv.slice(2, 4))
  await program.parseAsync(process.argv)
} catch (error) {
  const { explainError, statusOf } = await import('./cli/client/explain-error.ts')
  const { SYSTEM_ERROR_MESSAGES } = await import('./cli/system-error-messages.ts')
  process.exitCode = statusOf(error)
  process.stderr.write(`${explainError(error, SYSTEM_ERROR_MESSAGES)}\n`)
}
