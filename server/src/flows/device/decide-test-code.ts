/**
 * Test mode: an application decides its own codes, so that its developer's tests need no browser.
 * docs/interface/device-flow.md, "Test mode".
 */
import { runningTestMode } from '../../core/applications/test-mode.ts'
import { isTestSecret } from '../../secrets/test-secret.ts'
import type { Context } from '../context.ts'
import { grantDeviceCode, rejectDeviceCode } from './decide.ts'
import { enterUserCode } from './enter-code.ts'

export type TestDecision = {
  readonly applicationId: string
  /** Null for a public application. */
  readonly secret: string | null
  readonly testSecret: string
  readonly userCode: string
  readonly decision: 'grant' | 'reject'
}

export type TestDecisionResult =
  | { readonly outcome: 'granted'; readonly scopes: readonly string[] }
  | { readonly outcome: 'rejected' }
  | { readonly outcome: 'invalid_application' | 'invalid_test_secret' }
  /** Not a pending code of this application, or one that its test user cannot grant. */
  | { readonly outcome: 'invalid' }

const INVALID_SECRET: TestDecisionResult = { outcome: 'invalid_test_secret' }

const INVALID: TestDecisionResult = { outcome: 'invalid' }

export async function decideTestCode(context: Context, given: TestDecision): Promise<TestDecisionResult> {
  const application = context.applications.authenticate(given.applicationId, given.secret)
  if (!application) return { outcome: 'invalid_application' }
  const test = runningTestMode(application, context.applications.now())
  // The same answer for a wrong secret: the application's own must not tell whether test mode is on.
  if (!isTestSecret(context.config.keys, test?.secret ?? null, given.testSecret) || !test) return INVALID_SECRET
  const by = { kind: 'test', applicationId: application.id, test } as const
  const entered = await enterUserCode(context, test.userId, given.userCode, by)
  if (entered.outcome !== 'claimed') return INVALID
  if (given.decision === 'reject') {
    const { outcome } = await rejectDeviceCode(context, test.userId, entered.code, by)
    return outcome === 'rejected' ? { outcome: 'rejected' } : INVALID
  }
  const granted = await grantDeviceCode(context, test.userId, entered.code, by)
  return granted.outcome === 'granted' ? { outcome: 'granted', scopes: granted.consent.granted } : INVALID
}
