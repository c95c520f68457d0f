/** The command line: the built executable in a process of its own, with pipes or in a real terminal. */
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { removeFolder } from '../../../../tools/remove-folder.ts'

export const EXECUTABLE = new URL('../../../dist/latchkey.js', import.meta.url).pathname
const TERMINAL = new URL('./terminal.py', import.meta.url).pathname

export type Ended = { readonly status: number; readonly stdout: string; readonly stderr: string }

export type Command = {
  /** Output so far. In a terminal, both streams are one. */
  stdout(): string
  stderr(): string
  /** Waits until the output matches. */
  until(words: RegExp): Promise<RegExpExecArray>
  type(keys: string): void
  kill(signal: NodeJS.Signals): void
  readonly ended: Promise<Ended>
}

export type CommandOptions = {
  readonly environment?: Readonly<Record<string, string | undefined>>
  readonly input?: string
  readonly terminal?: boolean
}

const TIMEOUT_MS = 60_000

export function startCommand(args: readonly string[], options: CommandOptions = {}): Command {
  const [command, ...before] = options.terminal ? ['python3', TERMINAL, process.execPath] : [process.execPath]
  const child = spawn(command ?? '', [...before, EXECUTABLE, ...args], {
    env: { PATH: process.env.PATH, ...options.environment },
    stdio: 'pipe',
  })
  let [stdout, stderr] = ['', '']
  const listeners = new Set<() => void>()
  const hear = () => {
    for (const listener of listeners) listener()
  }
  child.stdout.on('data', (data) => {
    stdout += data
    hear()
  })
  child.stderr.on('data', (data) => {
    stderr += data
    hear()
  })
  child.stdin.on('error', () => {})
  // A command that waits for a decision would run for ten minutes. Closing the terminal ends what runs in it.
  onTestFinished(() => void child.kill('SIGKILL'))
  if (!options.terminal) child.stdin.end(options.input ?? '')
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (status, signal) => {
      resolve({ status: status ?? (signal === null ? -1 : 128), stdout, stderr })
      hear()
    })
  })
  return {
    stdout: () => stdout,
    stderr: () => stderr,
    type: (keys) => child.stdin.write(keys),
    kill: (signal) => child.kill(signal),
    ended,
    until: (words) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`it never said ${words}:\n${stdout}${stderr}`)), TIMEOUT_MS)
        const look = () => {
          const found = words.exec(stdout) ?? words.exec(stderr)
          if (!found) return
          clearTimeout(timer)
          listeners.delete(look)
          resolve(found)
        }
        listeners.add(look)
        look()
      }),
  }
}

export function runCommand(args: readonly string[], options: CommandOptions = {}): Promise<Ended> {
  return startCommand(args, options).ended
}

/** A user's machine: a folder for settings, a browser that records the addresses it should open, and no keyring. */
export type Home = {
  readonly folder: string
  readonly environment: Readonly<Record<string, string>>
  opened(): string
  remove(): void
}

export function makeHome(): Home {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-home-'))
  const [bin, opened] = [join(folder, 'bin'), join(folder, 'opened')]
  mkdirSync(bin)
  writeFileSync(join(bin, 'xdg-open'), `#!/bin/sh\necho "$1" >> '${opened}'\n`)
  chmodSync(join(bin, 'xdg-open'), 0o755)
  return {
    folder,
    environment: {
      HOME: folder,
      XDG_CONFIG_HOME: join(folder, 'config'),
      LATCHKEY_STORE: 'file',
      PATH: `${bin}:${process.env.PATH}`,
    },
    opened: () => (existsSync(opened) ? readFileSync(opened, 'utf8') : ''),
    remove: () => removeFolder(folder),
  }
}
