/** An example in a process of its own, as a developer starts it: its output, its input, its exit status. */
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { spawnTied } from '../../../server/test/rig/process/tied-process.ts'

const EXAMPLES = join(import.meta.dirname, '..', '..')
const PATIENCE_MS = 20_000

export type Program = {
  /** Standard output alone, from the beginning. */
  stdout(): string
  /** Waits for matching output after the previous match. Both streams. */
  says(pattern: RegExp): Promise<RegExpExecArray>
  type(line: string): void
  /** The exit status. */
  readonly ended: Promise<number | null>
  stop(): Promise<void>
}

const INTERPRETERS: Readonly<Record<string, string>> = { ts: process.execPath, sh: 'bash', py: 'python3' }

export function startExample(
  file: string,
  environment: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): Program {
  const interpreter = INTERPRETERS[file.split('.').at(-1) ?? ''] ?? ''
  const child = spawnTied('TERM', interpreter, [join(EXAMPLES, file), ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...environment },
  })
  let [said, heard, stdout] = ['', 0, '']
  child.stdout?.setEncoding('utf8').on('data', (text) => {
    said += text
    stdout += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    said += text
  })
  let over = false
  const ended = once(child, 'close').then(([code]) => {
    over = true
    return code as number | null
  })
  return {
    stdout: () => stdout,
    says: async (pattern) => {
      for (const until = Date.now() + PATIENCE_MS; ; await sleep(20)) {
        const ending = over
        const found = pattern.exec(said.slice(heard))
        if (found) {
          heard += found.index + found[0].length
          return found
        }
        if (ending || Date.now() > until) throw new Error(`${file} did not say ${pattern}, but:\n${said}`)
      }
    },
    type: (line) => child.stdin?.write(`${line}\n`),
    ended,
    stop: async () => {
      if (!over) child.kill('SIGTERM')
      await ended
    },
  }
}
