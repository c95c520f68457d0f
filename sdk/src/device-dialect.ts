/**
 * Device flow requests in two dialects. Latchkey's own has both variants and requires a secret; a public application
 * has no secret and requests a token set in the standard dialect (RFC 8628). docs/interface/standard-dialect.md.
 */
import type { Context } from './context.ts'
import type { Variant } from './credentials.ts'
import { wordOf } from './wire.ts'

/** The six outcomes of a poll; null for any other response. */
export type Outcome = 'accepted' | 'pending' | 'slow_down' | 'expired' | 'rejected' | 'invalid' | null

export interface Dialect {
  readonly codePath: string
  readonly pollPath: string
  readonly codeFields: Readonly<Record<string, string>>
  readonly pollFields: Readonly<Record<string, string>>
  /** Whether responses repeat `state`, which tells them from responses to other requests. */
  readonly echoesState: boolean
  readonly separator: ',' | ' '
}

export function dialectFor({ application }: Context, variant: Variant): Dialect {
  if (application.SVCsecret !== undefined) {
    const path = `/auth/${pathOf(variant)}/device`
    const fields = { ...application }
    return {
      codePath: `${path}/code`,
      pollPath: `${path}/polling`,
      codeFields: fields,
      pollFields: fields,
      echoesState: true,
      separator: ',',
    }
  }
  const fields = { client_id: application.SVCappid }
  return {
    codePath: '/oauth/device_authorization',
    pollPath: '/oauth/token',
    codeFields: fields,
    pollFields: { ...fields, grant_type: 'urn:ietf:params:oauth:grant-type:device_code' },
    echoesState: false,
    separator: ' ',
  }
}

/** The part of the path that selects the variant. */
export function pathOf(variant: Variant): 'oauth' | 'key' {
  return variant === 'access_key' ? 'key' : 'oauth'
}

const OUTCOMES: Readonly<Record<string, Outcome>> = {
  auth_pending: 'pending',
  slow_down: 'slow_down',
  auth_expired: 'expired',
  auth_rejected: 'rejected',
  invalid: 'invalid',
  // The names of the standard dialect.
  authorization_pending: 'pending',
  expired_token: 'expired',
  access_denied: 'rejected',
  invalid_grant: 'invalid',
}

export function outcomeOf({ status, body }: { status: number; body: Readonly<Record<string, unknown>> }): Outcome {
  return status === 200 ? 'accepted' : (OUTCOMES[wordOf(body.error) ?? ''] ?? null)
}
