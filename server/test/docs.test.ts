/** The generated documents say what the sources say, and code in documents is what runs. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { documents } from '../../tools/docs.ts'
import { fillSamples, findSampled } from '../../tools/samples.ts'
import { options } from '../src/config.ts'
import { refusals } from '../src/core/refusal.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const DOCS = join(ROOT, 'docs')
const read = (name: string) => readFileSync(join(DOCS, name), 'utf8')

test.each(Object.entries(documents))('docs/%s is what "npm run docs" writes', (name, render) => {
  expect(read(name)).toBe(render())
})

test.each(Object.keys(documents))('docs/%s says in its first line that it is generated, and by what', (name) => {
  expect(read(name).split('\n')[0]).toMatch(/^(<!--|#) Generated from server\/src\/\S+ by `npm run docs`\./)
})

test.each(findSampled())('%s shows its samples as they stand in the files that they are taken from', (path) => {
  const text = readFileSync(join(ROOT, path), 'utf8')
  expect(text).toBe(fillSamples(text))
})

describe('docs/errors.md', () => {
  const sections = read('errors.md').split(/^### /m).slice(1)

  test('has a section for every error code and for nothing else, the outcomes of a poll first', () => {
    const codes = sections.map((section) => /^`(\w+)`\n/.exec(section)?.[1])
    expect([...codes].sort()).toEqual(Object.keys(refusals).sort())
    expect(codes.slice(0, 5)).toEqual(['auth_pending', 'slow_down', 'auth_expired', 'auth_rejected', 'invalid'])
  })

  test.each(Object.entries(refusals))(
    'tells status, message and what to do for %s',
    (code, { status, message, mend }) => {
      const section = sections.find((each) => each.startsWith(`\`${code}\`\n`))
      for (const text of [`HTTP ${status}.`, message, mend]) expect(section).toContain(text)
    },
  )
})

describe('docs/configuration.md', () => {
  const sections = read('configuration.md').split(/^## /m).slice(1)

  test('has a section for every variable and for nothing else', () => {
    const names = sections.map((section) => /^`(\w+)`\n/.exec(section)?.[1])
    expect(names).toEqual(Object.values(options).map(({ env }) => env))
  })

  test.each(Object.values(options))('tells meaning, default and example of $env', (option) => {
    const { env, about, example, fallback, secret } = option
    const section = sections.find((each) => each.startsWith(`\`${env}\`\n`))
    expect(section).toContain(`\n${about}\n`)
    expect(section).toContain(`- Example: \`${env}=${example}\`\n`)
    expect(section).toContain(`- Default: ${fallback ? `\`${fallback}\`` : 'none'}`)
    expect(section?.includes('has to be given')).toBe(fallback === null)
    expect(section?.includes(`\`${env}_FILE\``)).toBe(secret)
  })
})

test('docs/openapi.yaml follows every recommended rule of its linter', { timeout: 60_000 }, () => {
  const { status, stdout, stderr } = spawnSync('npm', ['run', '-s', 'lint:openapi'], { cwd: ROOT, encoding: 'utf8' })
  expect(stderr + stdout).not.toMatch(/warning/i)
  expect(status, stderr + stdout).toBe(0)
})
