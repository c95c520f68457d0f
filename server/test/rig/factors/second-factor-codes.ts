/** Authenticator codes of the users whose sign-ins the rig completes, by e-mail address. */
const codes = new Map<string, () => Promise<string>>()

export function giveCodes(email: string, code: () => Promise<string>): void {
  codes.set(email, code)
}

/** The current code; null: the user has not been given an authenticator. */
export async function secondFactorOf(email: string): Promise<string | null> {
  return (await codes.get(email)?.()) ?? null
}
