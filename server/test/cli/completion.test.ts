/** `latchkey completion`: the scripts, in the shells that they are for. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { removeFolder } from '../../../tools/remove-folder.ts'
import { EXECUTABLE, runCommand } from '../rig/process/command.ts'

const folder = mkdtempSync(join(tmpdir(), 'latchkey-completion-'))
const scriptOf = (shell: string) => join(folder, shell)
const scriptFrom = (shell: string) => execFileSync(process.execPath, [EXECUTABLE, 'completion', shell])

beforeAll(() => {
  for (const shell of ['bash', 'zsh', 'fish']) writeFileSync(scriptOf(shell), scriptFrom(shell))
})
afterAll(() => removeFolder(folder))

const lines = (file: string, args: readonly string[]) =>
  execFileSync(file, args, { encoding: 'utf8', env: { PATH: process.env.PATH, HOME: folder } })
    .split('\n')
    .filter(Boolean)

const quoted = (words: readonly string[]) => words.map((word) => `'${word}'`).join(' ')

/** What each shell offers for the last of the words. */
const OFFERED: Readonly<Record<string, (words: readonly string[]) => readonly string[]>> = {
  bash: (words) => {
    const typed = `COMP_WORDS=(${quoted(words)}); COMP_CWORD=${words.length - 1}`
    return lines('bash', [
      '--norc',
      '-c',
      `source ${scriptOf('bash')}; ${typed}; _latchkey; printf '%s\\n' "\${COMPREPLY[@]}"`,
    ])
  },
  // Outside an interactive zsh there is no completion system to hand the words to.
  zsh: (words) => {
    const around = `compdef() {}; _describe() { print -l -- \${(P)2} }`
    const typed = `words=(${quoted(words)}); CURRENT=${words.length}`
    const offered = lines('zsh', ['-f', '-c', `${around}; source ${scriptOf('zsh')}; ${typed}; _latchkey`])
    const all = offered.map((line) => line.replace(/:.*/, ''))
    return all.filter((word) => word.startsWith(words.at(-1) ?? ''))
  },
  fish: (words) =>
    lines('fish', ['--no-config', '-c', `source ${scriptOf('fish')}; complete -C '${words.join(' ')}'`]).map((line) =>
      line.replace(/\t.*/, ''),
    ),
}

describe.each(Object.entries(OFFERED))('in %s', (_shell, offered) => {
  it.each([
    [['latchkey', 'st'], ['status']],
    [['latchkey', 'key', 'a'], ['announce']],
    [['latchkey', 'app', 'rotate'], ['rotate-secret']],
    [['latchkey', 'key', 'retire', '--f'], ['--force']],
    [
      ['latchkey', 'audit', 'export', '--format', ''],
      ['csv', 'ndjson'],
    ],
    [['latchkey', 'completion', 'z'], ['zsh']],
  ])('%j is completed to %j', (words, expected) => {
    expect([...offered(words)].sort()).toEqual(expected)
  })

  it('every command is offered', async () => {
    const { stdout } = await runCommand(['--help'])
    const commands = Array.from(stdout.matchAll(/^ {2}([a-z-]+)(?: \[|\s{2})/gm), ([, name]) => name)
    const usable = commands.filter((name) => name !== 'help')
    expect(usable.length).toBeGreaterThan(15)
    const words = offered(['latchkey', '']).filter((word) => /^[a-z]/.test(word))
    expect(words.sort()).toEqual(usable.sort())
  })
})

it('an unknown shell is refused, with the known ones', async () => {
  const { status, stderr } = await runCommand(['completion', 'tcsh'])
  expect(status).toBe(1)
  expect(stderr).toContain('bash, zsh, fish')
})
