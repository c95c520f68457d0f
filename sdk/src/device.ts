/**
 * Device flow: requests a code, or resumes a session that another process started.
 * docs/interface/device-flow.md, "Request a device code".
 */
import type { Context } from './context.ts'
import { scopeText, seconds, text, type Variant } from './credentials.ts'
import { dialectFor } from './device-dialect.ts'
import type { SavedSession } from './device-polling.ts'
import { DeviceSession } from './device-session.ts'
import { LatchkeyError } from './errors.ts'
import { refused } from './refusal.ts'
import type { Tokens } from './tokens.ts'

export interface StartOptions<V extends Variant> {
  /** `token_set`: renewed by this library. `access_key`: one credential that does not expire. */
  readonly variant: V
  /** Default: the application's default scopes. */
  readonly scope?: readonly string[] | string | undefined
  /** Free text of the application, at most 1024 bytes; returned with the credentials. */
  readonly state?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * The device flow of a client.
 *
 * @example Show the progress while the user decides
 * ```ts
 * import { createClient } from '@latchkey/sdk'
 *
 * const client = createClient({
 *   baseUrl: 'https://service.example',
 *   appId: 'app_n61zbfpywkrj',
 *   appSecret: process.env.LATCHKEY_APP_SECRET,
 * })
 * const session = await client.device.start({ variant: 'access_key' })
 * console.log(`Enter ${session.displayCode} at ${session.verificationUrl}`)
 * for await (const event of session) {
 *   if (event.type === 'pending') console.log(`waiting, ${session.remaining()} s left`)
 *   if (event.type === 'accepted') console.log(`connected for ${event.credentials.scope.join(', ')}`)
 * }
 * ```
 */
export interface Device {
  /** Requests a code. Call it when the user asks for one: the library never requests a code again by itself. */
  start<V extends Variant>(options: StartOptions<V>): Promise<DeviceSession<V>>
  /** Resumes a session from `session.toJSON()` or parsed `JSON.stringify(session)`, also in another process. */
  resume<V extends Variant>(saved: SavedSession<V>): DeviceSession<V>
}

export function createDevice(context: Context, tokens: Tokens): Device {
  return {
    start: async ({ variant, scope, state, signal }) => {
      checkVariant(context, variant)
      const dialect = dialectFor(context, variant)
      // Detects a response that was meant for another device: its `state` differs, unless the application sends the
      // same `state` from all its devices.
      const sentState = dialect.echoesState ? (state ?? crypto.randomUUID()) : undefined
      const wanted = scopeText(scope)?.replaceAll(',', dialect.separator)
      const form = { ...dialect.codeFields, scope: wanted, state: sentState }
      const answer = await context.wire.ask(dialect.codePath, { form, signal })
      if (answer.status !== 200) throw refused(answer, form)
      if (sentState !== undefined && answer.body.state !== sentState) {
        const message = 'The answer does not belong to this code request. Ask for a new code.'
        throw new LatchkeyError('unexpected_answer', { message, requestId: answer.requestId })
      }
      return new DeviceSession(context, tokens, {
        version: 1,
        variant,
        deviceCode: text(answer, 'device_code'),
        userCode: text(answer, 'user_code'),
        verificationUrl: pageOf(answer.body.verification_uri) ?? `${context.wire.baseUrl}/activate`,
        expiresAt: context.clock.now() + seconds(answer, 'expires_in') * 1000,
        expiresIn: seconds(answer, 'expires_in'),
        interval: seconds(answer, 'interval'),
        state: state ?? '',
        sentState: sentState ?? null,
        idempotencyKey: crypto.randomUUID(),
        slowDowns: 0,
      })
    },
    resume: (saved) => {
      checkVariant(context, saved.variant)
      return new DeviceSession(context, tokens, checkSaved(saved))
    },
  }
}

/** Returns only http(s) addresses, which can be shown to users. */
function pageOf(address: unknown): string | null {
  return typeof address === 'string' && /^https?:\/\//.test(address) ? address : null
}

function checkVariant({ application }: Context, variant: unknown): void {
  if (variant !== 'token_set' && variant !== 'access_key') {
    throw new LatchkeyError('invalid_request', { message: 'variant must be "token_set" or "access_key".' })
  }
  if (variant === 'access_key' && application.SVCsecret === undefined) {
    const message = 'A public application cannot have an access key: without appSecret, variant must be "token_set".'
    throw new LatchkeyError('invalid_request', { message })
  }
}

function checkSaved<V extends Variant>(saved: SavedSession<V>): SavedSession<V> {
  const { version, deviceCode, userCode, verificationUrl, state, sentState, idempotencyKey } = saved
  const texts = [deviceCode, userCode, verificationUrl, state, idempotencyKey, sentState ?? '']
  const numbers = [saved.expiresAt, saved.expiresIn, saved.interval, saved.slowDowns]
  if (version === 1 && texts.every((one) => typeof one === 'string') && numbers.every(Number.isFinite)) return saved
  throw new LatchkeyError('invalid_request', {
    message: 'This is not a session that this library saved. Start with a new code.',
  })
}
