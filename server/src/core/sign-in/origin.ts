/**
 * Where the users of an account come from, and what Latchkey does for them itself.
 * docs/decisions/0046-users-of-the-host-service.md.
 */

/** `own`: signs in at Latchkey. `host`: signs in at the host service, which hands the sign-in over. */
export type Origin = 'own' | 'host'

/** `confirmation`: authenticating again for a sensitive action. `roles`: administrators choose them. */
export type SignInPart = 'password' | 'passkey' | 'second_factor' | 'recovery' | 'invitation' | 'confirmation' | 'roles'

const PARTS: Readonly<Record<Origin, readonly SignInPart[]>> = {
  own: ['password', 'passkey', 'second_factor', 'recovery', 'invitation', 'confirmation', 'roles'],
  host: [],
}

/** Whether Latchkey does this for users of the origin; otherwise it is done where they come from. */
export function appliesTo(origin: Origin, part: SignInPart): boolean {
  return PARTS[origin].includes(part)
}

/**
 * The origin of users who may sign in to the account. The host service never opens the operators' account, because it
 * could make operators.
 */
export function allowedOrigin(account: { readonly operators: boolean }, handOver: boolean): Origin {
  return handOver && !account.operators ? 'host' : 'own'
}
