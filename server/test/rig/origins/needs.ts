/** Which tests apply to users of which origin: what Latchkey does for the users of an origin is a rule of core/sign-in/origin.ts. */
import { appliesTo, type Origin, type SignInPart } from '../../../src/core/sign-in/origin.ts'
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

export function fits(origin: Origin, need: Need): boolean {
  return need === 'own_origin' || need === 'own_service' ? origin === 'own' : appliesTo(origin, need)
}

/** Options of a test or a suite, which is skipped where Latchkey does not do this for the users. */
export function needs(need: Need): { skip: boolean; meta: { notApplicable?: Need } } {
  return fits(USERS_FROM, need) ? { skip: false, meta: {} } : { skip: true, meta: { notApplicable: need } }
}
