/** Runs a command in a shell, with its own process group, so that Ctrl-C reaches all its children and no other process. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

export type Running = {
  /** Standard output and standard error, interleaved. */
  output(): string
  stdout(): string
  /** Waits until the output matches; fails if the command ends first. */
  says(pattern: RegExp, limitMs?: number): Promise<RegExpExecArray>
  /** Its exit status. */
  readonly ended: Promise<number | null>
  /** Sends Ctrl-C, then kills remaining processes. */
  interrupt(): Promise<void>
  /** Kills the process group immediately. */
  kill(): void
}

const OUTPUT_TIMEOUT_MS = 120_000
const MAX_EXIT_MS = 15_000

export function runInShell(command: string, cwd: string, env: NodeJS.ProcessEnv): Running {
  const child = spawn('bash', ['-c', command], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let [output, stdout] = ['', '']
  let over = false
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  const ended = once(child, 'close').then(([code]) => {
    over = true
    return code as number | null
  })
  const signal = (name: NodeJS.Signals) => {
    try {
      if (child.pid && !over) process.kill(-child.pid, name)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
  return {
    output: () => output,
    stdout: () => stdout,
    says: async (pattern, limitMs = OUTPUT_TIMEOUT_MS) => {
      for (const until = Date.now() + limitMs; ; await sleep(20)) {
        const ending = over
        const found = pattern.exec(output)
        if (found) return found
        if (ending || Date.now() > until) throw new Error(`"${command}" did not print ${pattern}, but:\n${output}`)
      }
    },
    ended,
    interrupt: async () => {
      signal('SIGINT')
      const inTime = await Promise.race([ended.then(() => true), sleep(MAX_EXIT_MS, false, { ref: false })])
      if (!inTime) signal('SIGKILL')
      await ended
    },
    kill: () => signal('SIGKILL'),
  }
}
