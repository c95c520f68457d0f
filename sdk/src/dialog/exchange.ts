/** Exchange of a dialog's code for a token set. docs/interface/dialog.md, "Exchange the code". */
import { askAgain } from '../ask-again.ts'
import type { Context } from '../context.ts'
import { readTokenSet, type TokenSet } from '../credentials.ts'
import { LatchkeyError } from '../errors.ts'
import { refused } from '../refusal.ts'

/** The result of a dialog, to be exchanged for a token set. Valid for one minute, and only once. */
export interface DialogCode {
  readonly code: string
  readonly verifier: string
  readonly redirectUri: string
}

/**
 * Retries if no response arrives. A server sends one `Idempotency-Key`, so that the service repeats a response that was
 * lost; a page cannot, because the header would need a CORS preflight.
 */
export async function exchangeCode(context: Context, { code, verifier, redirectUri }: DialogCode): Promise<TokenSet> {
  const form = { ...context.application, code, redirect_uri: redirectUri, code_verifier: verifier }
  const headers: Record<string, string> =
    context.application.SVCsecret === undefined ? {} : { 'idempotency-key': crypto.randomUUID() }
  const answer = await askAgain(context, '/auth/oauth/token', form, { headers })
  // The `state` in the response is the random one of the attempt and has no further use.
  if (answer.status === 200) return readTokenSet(answer, context.clock.now(), '')
  const error = refused(answer, form, { invalid_grant: 'code_used' })
  if (error.code !== 'invalid_application' || context.application.SVCsecret !== undefined) throw error
  const { requestId, refusal } = error
  throw new LatchkeyError('invalid_application', {
    requestId,
    refusal,
    message:
      'The service does not accept this application without a secret. Register it as public, or let its server exchange the code: exchange "server".',
  })
}
