/** Runs commands in a shell and returns their output. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { count } from './report.ts'

export type Shell = (command: string, input?: string) => Promise<string>

/** `words`: the program that runs the command, which is its last argument. */
export function createShell(words: readonly string[], options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}): Shell {
  const [program = '', ...args] = words
  return async (command, input = '') => {
    const child = spawn(program, [...args, command], { ...options, stdio: 'pipe' })
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    if (child.exitCode !== 0) throw new Error(`"${command}" ended with ${child.exitCode}:\n${out}${err}`)
    return out
  }
}

/** Runs the commands of a document one by one. `umask` and `cd` apply to the commands after them, as in one terminal. */
export async function runAll(shell: Shell, commands: readonly string[]): Promise<readonly string[]> {
  const outputs: string[] = []
  let before = ''
  for (const command of commands) {
    console.log(`        $  ${command.replaceAll('\n', '\n           ')}`)
    outputs.push(await shell(before + command))
    count('commands of the document')
    if (/^(umask|cd) /.test(command)) before += `${command}; `
  }
  return outputs
}
