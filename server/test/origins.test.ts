/** The declarations of origins/files.ts: a new test in a browser or of an attack says to which users it applies. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FILES } from './origins/files.ts'

const read = (file: string) => readFileSync(join(import.meta.dirname, `${file}.test.ts`), 'utf8')

/** Parts of the rig by which somebody signs in. */
const SIGNS_IN =
  /rig\/(browser\/(browsing|clicks|dialog-browsing)|dialog|host-service|identity-provider|pages\/[\w-]+|provider-scene|scenes\/[\w-]+|signed-in|web)\.ts'|\.(signIn|web)\(/

test('every test file in a browser and of attacks is declared once', () => {
  const files = globSync('{browser,attacks}/**/*.test.ts', { cwd: import.meta.dirname })
  const declared = Object.values(FILES).flat()
  expect(declared.sort()).toEqual(files.map((file) => file.replace(/\.test\.ts$/, '')).sort())
})

test('nobody signs in where it is declared so', () => {
  expect(FILES.no_sign_in?.filter((file) => SIGNS_IN.test(read(file)))).toEqual([])
})
