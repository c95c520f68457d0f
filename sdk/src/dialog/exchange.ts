/** A code becomes a token set. docs/interface.md, "Exchange the code". */
import type { Context } from '../context.ts'
import { readTokenSet, type TokenSet } from '../credentials.ts'
import { LatchkeyError } from '../errors.ts'
import { refused } from '../refusal.ts'
import { type Answer, isTransient } from '../wire.ts'

/** What the dialog returned with, for whoever exchanges it. Good for a minute, and once. */
export interface DialogCode {
  readonly code: string
  readonly verifier: string
  readonly redirectUri: string
}

/**
 * What was not answered is asked again: a code whose answer could not be sent is still good. The pauses let an exchange that
 * is still under way end first, because two at once are one too many.
 */
const PAUSES_MS = [1_000, 3_000, 6_000]

export async function exchangeCode(context: Context, { code, verifier, redirectUri }: DialogCode): Promise<TokenSet> {
  const form = { ...context.application, code, redirect_uri: redirectUri, code_verifier: verifier }
  const answer = await askPatiently(context, form)
  if (answer.status === 200) return readTokenSet(answer, context.clock.now(), String(answer.body.state ?? ''))
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

async function askPatiently({ wire, clock }: Context, form: Record<string, string>): Promise<Answer> {
  for (const pauseMs of PAUSES_MS) {
    try {
      return await wire.ask('/auth/oauth/token', { form })
    } catch (error) {
      if (!isTransient(error)) throw error
      await clock.sleep(Math.max(pauseMs, (error.retryAfter ?? 0) * 1000))
    }
  }
  return wire.ask('/auth/oauth/token', { form })
}
