/**
 * Test mode: an application's codes are decided by request, with a secret of its own, so that its developer's tests need
 * no browser. Whatever is granted so ends with it. docs/interface/device-flow.md, "Test mode".
 */

export type TestMode = {
  /** The administrator who switched it on. Codes are granted as this user. */
  readonly userId: string
  readonly secret: TestSecretDigest
  readonly endsAt: number
}

export type TestSecretDigest = { readonly keyId: number; readonly digest: Buffer }

/** Long enough for a working day; short enough that a forgotten one leaves nothing behind. */
export const TEST_MODE_MS = 24 * 60 * 60 * 1000

/** The test mode that is on now. Decided by time: the background job that ends it may be late. */
export function runningTestMode({ testMode }: { readonly testMode: TestMode | null }, now: number): TestMode | null {
  return testMode !== null && now < testMode.endsAt ? testMode : null
}

/** The scopes that test mode may grant: those of its user, without dangerous ones, which a person has to consent to. */
export function testableScopes(held: readonly string[], dangerous: readonly string[]): readonly string[] {
  return held.filter((name) => !dangerous.includes(name))
}
