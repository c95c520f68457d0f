/** Commands load only what they need: people and scripts wait for them. */
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { EXECUTABLE } from '../rig/process/command.ts'

const PRELOAD = new URL('../rig/process/tell-imports.ts', import.meta.url).href

const importedBy = (...args: string[]) => {
  const { stdout } = spawnSync(process.execPath, ['--import', PRELOAD, EXECUTABLE, ...args], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, XDG_CONFIG_HOME: '/nonexistent', LATCHKEY_MANAGEMENT_KEY: 'lkm_none' },
  })
  return Array.from(stdout.matchAll(/^imported (\S+)$/gm), ([, name]) => name)
}

it.each([
  [['--version'], ['commander']],
  [['--help'], ['commander']],
  [['help'], ['commander']],
  [['status'], ['commander', '@latchkey/sdk']],
  [['account', 'list'], ['commander']],
  [['user', 'erase', 'ann@acme.example'], ['commander']],
  [
    ['apply', '/nonexistent.yaml'],
    ['commander', 'yaml'],
  ],
  [
    ['switch', 'work'],
    ['commander', '@latchkey/sdk'],
  ],
])('latchkey %j imports %j and no other package', (args, packages) => {
  const imported = importedBy(...args)
  expect(imported.filter((name) => !packages.includes(name ?? ''))).toEqual([])
  expect(imported).toContain('commander')
})

it('--version prints the version of the package', () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  expect(execFileSync(process.execPath, [EXECUTABLE, '--version'], { encoding: 'utf8' })).toBe(`${version}\n`)
})

/** Measured on a quiet machine: 1.9 (--version) to 2.9 (status) times the processor time of Node alone. */
const MAX_RATIO = 4

it.each(['--version', '--help', 'status'])('%s takes little more processor time than Node alone', (argument) => {
  const seconds = (args: readonly string[]) => {
    const { stderr } = spawnSync(
      'bash',
      ['--norc', '-c', 'TIMEFORMAT="%U %S"; time "$@" >/dev/null 2>&1', 'bash', ...args],
      {
        encoding: 'utf8',
        env: { PATH: process.env.PATH, XDG_CONFIG_HOME: '/nonexistent' },
      },
    )
    return stderr
      .trim()
      .split(' ')
      .map(Number)
      .reduce((sum, each) => sum + each, 0)
  }
  const rounds = Array.from({ length: 9 }, () => ({
    bare: seconds([process.execPath, '-e', '0']),
    command: seconds([process.execPath, EXECUTABLE, argument]),
  }))
  const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
  const ratio = median(rounds.map(({ command }) => command)) / median(rounds.map(({ bare }) => bare))
  expect(ratio).toBeLessThan(MAX_RATIO)
})

/** Measured: 1.3 (--version) to 1.4 (status) times the memory of Node alone. */
const MAX_MEMORY_RATIO = 1.6

it.each(['--version', '--help', 'status'])('%s takes little more memory than Node alone', (argument) => {
  const tell = 'process.on("exit", () => console.error("kilobytes", process.resourceUsage().maxRSS))'
  const kilobytes = (args: readonly string[]) => {
    const words = ['--import', `data:text/javascript,${encodeURIComponent(tell)}`, ...args]
    const env = { PATH: process.env.PATH, XDG_CONFIG_HOME: '/nonexistent' }
    const { stderr } = spawnSync(process.execPath, words, { encoding: 'utf8', env })
    return Number(/^kilobytes (\d+)$/m.exec(stderr)?.[1])
  }
  expect(kilobytes([EXECUTABLE, argument]) / kilobytes(['-e', '0'])).toBeLessThan(MAX_MEMORY_RATIO)
})
