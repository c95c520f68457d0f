/** Processes that end when the process that started them ends, however that happens: a failed test leaves none behind. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'

/** Only Linux can signal a process when its parent dies (PR_SET_PDEATHSIG). Elsewhere it is started as it is. */
const SETPRIV = process.platform === 'linux' ? '/usr/bin/setpriv' : null

/** `TERM` for a program with children of its own, which it has to end. */
export function spawnTied(
  signal: 'KILL' | 'TERM',
  program: string,
  args: readonly string[],
  options: SpawnOptions,
): ChildProcess {
  if (!SETPRIV) return spawn(program, args, options)
  return spawn(SETPRIV, ['--pdeathsig', signal, program, ...args], options)
}
