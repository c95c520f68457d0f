/** The records of mutants match the sources. For their purpose see verify-mutants.ts. */
import { existsSync, readFileSync } from 'node:fs'
import { transformSync } from 'esbuild'
import { describe, expect, test } from 'vitest'
import { authorizationMutants } from './authorization-mutants.ts'
import { deviceFlowMutants } from './device-flow-mutants.ts'
import { deviceMutants } from './device-mutants.ts'
import { grantingMutants } from './granting-mutants.ts'
import { managementMutants } from './management-mutants.ts'
import { messageMutants } from './message-mutants.ts'
import { applyMutant, MisplacedMutant, type Mutant } from './mutant.ts'
import { mutants } from './mutants.ts'
import { operatorMutants } from './operator-mutants.ts'
import { providerMutants } from './provider-mutants.ts'
import { signInMutants } from './sign-in-mutants.ts'
import { testModeMutants } from './test-mode-mutants.ts'
import { vettingMutants } from './vetting-mutants.ts'

const all = [
  ...mutants,
  ...authorizationMutants,
  ...grantingMutants,
  ...testModeMutants,
  ...operatorMutants,
  ...vettingMutants,
  ...signInMutants,
  ...providerMutants,
  ...deviceMutants,
  ...deviceFlowMutants,
  ...messageMutants,
  ...managementMutants,
]
const at = (path: string) => new URL(`../../../${path}`, import.meta.url)

test('every mutant has an id of its own', () => {
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length)
})

test.each(all)('$id applies to its file as it is, still parses, and names tests that exist', (mutant) => {
  const source = readFileSync(at(mutant.file), 'utf8')
  const mutated = applyMutant(mutant, source)
  expect(mutated).not.toBe(source)
  expect(() => transformSync(mutated, { loader: 'ts' })).not.toThrow()
  expect(mutant.tests.filter((file) => !existsSync(at(file)))).toEqual([])
})

describe('a record', () => {
  const mutant: Mutant = { id: 'X', file: 'x.ts', text: 'b', replacement: 'c', tests: [], allows: '' }

  test('whose text occurs not at all or twice is refused', () => {
    expect(applyMutant(mutant, 'a b a')).toBe('a c a')
    for (const source of ['a a', 'a b b']) expect(() => applyMutant(mutant, source)).toThrow(MisplacedMutant)
  })
})
