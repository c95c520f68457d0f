/** Outcomes of flows that are not successes, as refusals of the management API. */
import { Refusal, type ScimType } from '../../core/refusal.ts'
import type { Registered } from '../../flows/accounts/register.ts'

/** The value of a registration. Throws a Refusal with its reason. */
export function registered<T>(result: Registered<T>): T {
  if (result.outcome === 'done') return result.value
  throw new Refusal(result.exists ? 'conflict' : 'invalid_request', result.reason)
}

const NO_ACCOUNT = 'The key reaches no such account.'

type Refused = readonly [
  code: 'invalid_request' | 'conflict' | 'not_found' | 'too_many_requests',
  message: string,
  scimType?: ScimType,
]

/** Code and message by outcome. Outcomes that only the consoles can have are left out. */
const REFUSED: Readonly<Record<string, Refused>> = {
  not_found: ['not_found', 'There is no such resource.'],
  forbidden: ['not_found', NO_ACCOUNT],
  email: ['invalid_request', 'The e-mail address is not one.'],
  name: ['invalid_request', 'The name is empty, too long, or has characters that are not allowed.'],
  title: ['invalid_request', 'The title has 1 to 100 characters, without line breaks.'],
  external_id: ['invalid_request', 'An external id has 1 to 200 characters; a user who signs in elsewhere needs one.'],
  scope: ['invalid_request', 'A scope is not in the catalogue.'],
  role: ['invalid_request', 'Choose at least one role.'],
  exists: ['conflict', 'Another one has this name, address or external id.', 'uniqueness'],
  last_administrator: ['conflict', 'The account would have no administrator left.'],
  holds_every_scope: ['conflict', 'The role with every scope cannot be removed.'],
  too_many: ['too_many_requests', 'There are too many of them, or too many were sent within the hour.'],
  too_many_unvetted: ['conflict', 'The account has too many applications that no operator has approved.'],
  public: ['conflict', 'A public application has no secrets.'],
  has_operators: ['conflict', 'The operators’ account cannot be closed.'],
  had_operators: ['conflict', 'Its users decided as operators: reviews and changes of operators refer to them.'],
  was_operator: ['conflict', 'The user decided as an operator: reviews and changes of operators refer to them.'],
  last: ['conflict', 'The last secret cannot be revoked: add another one first.'],
}

/** Throws the Refusal of an outcome. */
export function refuse({ outcome }: { readonly outcome: string }): never {
  const [code, message, scimType] = REFUSED[outcome] ?? (['conflict', 'The change is not possible now.'] as const)
  throw new Refusal(code, message, scimType)
}

export function notFound(what: string): never {
  throw new Refusal('not_found', `There is no such ${what}.`)
}
