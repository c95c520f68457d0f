/** The answer of an accepted poll, checked as an application sees it, and its grant in PostgreSQL. */
import { verifyCredential } from '../../src/secrets/credentials.ts'
import type { WireAnswer, WireVariant } from '../rig/device.ts'
import type { TestService } from '../rig/service.ts'

const FIELDS: Readonly<Record<WireVariant, string>> = {
  oauth: 'access_token,refresh_token,expires_in,scope,state',
  key: 'access_key,scope,state',
}

/** The fields of the path, the given state, and always the same grant. */
export function checkIssued(
  service: Pick<TestService, 'config'>,
  variant: WireVariant,
  answer: WireAnswer,
  before: WireAnswer | null,
): void {
  const { body, text } = answer
  if (Object.keys(body).join(',') !== FIELDS[variant]) throw new Error(`an accepted ${variant} poll was given ${text}`)
  if (body.state !== `state of ${variant}` || body.scope !== 'orders:read') {
    throw new Error(`an accepted poll was given another state or scope: ${text}`)
  }
  if (grantOf(service, answer) === undefined)
    throw new Error(`an accepted poll was given no genuine credential: ${text}`)
  if (before && grantOf(service, answer) !== grantOf(service, before)) {
    throw new Error('two answers of one code carry two grants')
  }
}

function grantOf(service: Pick<TestService, 'config'>, { body }: WireAnswer): string | undefined {
  return verifyCredential(service.config.keys, body.access_token ?? body.access_key)?.grantSecret
}
