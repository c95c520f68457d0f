/** `latchkey serve`: the server, in one process or several. */
import { availableParallelism } from 'node:os'
import { type Command, InvalidArgumentError } from 'commander'
import type { Wiring } from './wiring.ts'

const MAX_PROCESSES = 256

export function defineServe(command: Command, wiring: Wiring): void {
  command
    .option(
      '--processes <number>',
      'processes that share the port: a number, or "max" for one per processor. A process that dies is started again; SIGHUP replaces all, one after the other.',
      readProcesses,
    )
    .action(({ processes }: { processes?: number }) => wiring.serve(processes ?? null))
}

function readProcesses(text: string): number {
  if (text === 'max') return availableParallelism()
  const count = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (count < 1 || count > MAX_PROCESSES) {
    throw new InvalidArgumentError(`Give a number from 1 to ${MAX_PROCESSES}, or "max".`)
  }
  return count
}
