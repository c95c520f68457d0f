/** Which tests apply to users of which origin: what Latchkey does for the users of an origin is a rule of core/sign-in/origin.ts. */
import { describe, it } from 'vitest'
import { appliesTo, type SignInPart } from '../../../src/core/sign-in/origin.ts'
import { USERS_FROM } from './users-from.ts'

/**
 * What a test needs of its users to be applicable. `own_origin`: it brings the origin of its users itself. `own_service`: it starts
 * its service without the rig.
 */
export type Need = SignInPart | 'own_origin' | 'own_service'

declare module 'vitest' {
  interface TaskMeta {
    /** Why the test is skipped for users of this origin. */
    notApplicable?: Need
  }
}

function applies(need: Need): boolean {
  return need === 'own_origin' || need === 'own_service' ? USERS_FROM === 'own' : appliesTo(USERS_FROM, need)
}

/** Options of a test or a suite, which is skipped where Latchkey does not do this for the users. */
export function needs(need: Need): { skip: boolean; meta: { notApplicable?: Need } } {
  return applies(need) ? { skip: false, meta: {} } : { skip: true, meta: { notApplicable: need } }
}

/** The same for all tests of a file: in place of the functions of Vitest. */
export function testsThatNeed(need: Need): { describe: typeof describe; it: typeof it; test: typeof it } {
  const tests = it.skipIf(!applies(need)) as typeof it
  return { describe: describe.skipIf(!applies(need)) as typeof describe, it: tests, test: tests }
}
