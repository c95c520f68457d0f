/**
 * Description of this machine's access, as the service reports it now.
 * docs/interface/credentials.md, "Check a credential".
 */
import { type Client, LatchkeyError } from '@latchkey/sdk'
import type { ChosenApplication } from './client-settings.ts'

export type Described = {
  readonly account: string
  readonly user: string
  /** Absent if the access has no scope `email`. */
  readonly email?: string
  readonly application: string
  readonly grant: string
  readonly scope: string
  readonly variant: 'token_set' | 'access_key'
  /** Absent for an access key, which does not expire. */
  readonly expires_in?: number
}

/** Throws `reauthorize` if the access has ended, and the client library's errors if the service cannot be reached. */
export async function describeAccess(
  client: Client,
  { server }: Pick<ChosenApplication, 'server'>,
): Promise<Described> {
  const response = await client.fetch(`${server}/1/me`, { signal: AbortSignal.timeout(15_000) }).catch(unreached)
  if (response.status === 401) throw new LatchkeyError('reauthorize')
  if (response.status >= 500) throw new LatchkeyError('unavailable')
  const body: unknown = response.ok ? await response.json().catch(() => null) : null
  if (!isDescription(body)) throw new LatchkeyError('unexpected_answer')
  return body
}

function isDescription(body: unknown): body is Described {
  const { account, user, application, grant, scope, variant } = { ...(body as Record<string, unknown> | null) }
  return [account, user, application, grant, scope, variant].every((one) => typeof one === 'string')
}

/** Turns an error of the platform's `fetch`, which the client's `fetch` passes through, into a `network` error. */
function unreached(error: Error): never {
  if (error instanceof LatchkeyError) throw error
  const { code } = (error.cause ?? {}) as { code?: string }
  throw new LatchkeyError('network', { message: `The service could not be reached (${code ?? error.name}).` })
}

/** Formats the access as text, one field per line. */
export function describedInWords(access: Partial<Described>, profile: string, keptIn: string): string {
  const { account, user, email, application, scope, expires_in: seconds } = access
  const lines = [
    ['profile', profile],
    ['application', application],
    ['account', account],
    ['user', email ? `${email} (${user})` : user],
    ['scope', scope],
    ['valid until', access.variant === undefined ? undefined : untilWhen(seconds)],
    ['stored in', keptIn === 'keyring' ? 'the system keyring' : keptIn],
  ]
  return lines.flatMap(([name, value]) => (value ? [`  ${name?.padEnd(13)}${value}`] : [])).join('\n')
}

function untilWhen(seconds: number | undefined): string {
  if (seconds === undefined) return 'revoked: log out, or remove it on your account’s page'
  const at = new Date(Date.now() + seconds * 1000).toTimeString().slice(0, 5)
  return `${at}, renewed automatically while in use`
}
