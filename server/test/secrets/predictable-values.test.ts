/** SC-01: nothing that must not be guessed is drawn from a generator that can be foreseen. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..', '..')

test('SC-01 no file uses Math.random, but for those of the client library that spread pauses', () => {
  const files = globSync('{server,sdk}/src/**/*.{ts,tsx}', { cwd: ROOT })
  expect(files.length).toBeGreaterThan(300)
  const using = files.filter((file) => readFileSync(join(ROOT, file), 'utf8').includes('Math.random'))
  const pausing = ['ask-again', 'device-polling', 'node/file-lock', 'tokens']
  expect(using.sort()).toEqual(pausing.map((name) => `sdk/src/${name}.ts`))
})
