/** Child processes that end with the process that started them, so that a failed test leaves none behind. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'

/** Only Linux can signal a process when its parent dies (PR_SET_PDEATHSIG). Elsewhere it is started normally. */
const SETPRIV = process.platform === 'linux' ? '/usr/bin/setpriv' : null

/** `TERM` for a program that has to end its own children. */
export function spawnTied(
  signal: 'KILL' | 'TERM',
  program: string,
  args: readonly string[],
  options: SpawnOptions,
): ChildProcess {
  if (!SETPRIV) return spawn(program, args, options)
  return spawn(SETPRIV, ['--pdeathsig', signal, program, ...args], options)
}
