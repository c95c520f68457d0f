/**
 * Credentials of the fake: issue, refresh, rotate, revoke and check them, as the service does.
 * docs/interface/credentials.md, "Credentials".
 */
import {
  type FakeAnswer,
  type FakeFields,
  type FakeParameters,
  FakeRefused,
  parseScope,
  required,
} from './fake-answer.ts'
import { authenticate, type FakeCredential, type FakeGrant, type FakeWorld, randomText } from './fake-world.ts'

/** How long at least the previous refresh token gets the same token set again. */
const REFRESH_GRACE_MS = 30_000
const KEY_OVERLAP_SECONDS = 86_400

/** Issues the next generation of a grant's credentials. The previous generation stays known. */
export function issue(world: FakeWorld, grant: FakeGrant): Record<string, string | number> {
  const now = world.now()
  grant.generation += 1
  const add = (is: FakeCredential['is'], prefix: string, length: number, lifetime: number | null): string => {
    const text = `${prefix}0000${randomText(length)}`
    const expiresAt = lifetime === null ? null : now + lifetime * 1000
    world.credentials.set(text, { is, grant, generation: grant.generation, issuedAt: now, expiresAt })
    return text
  }
  const scope = grant.scopes.join(',')
  const fields: Record<string, string | number> =
    grant.variant === 'access_key'
      ? { access_key: add('access_key', 'lkk_', 50, null), scope }
      : {
          access_token: add('access_token', 'lka_', 56, world.lifetimes.accessToken),
          refresh_token: add('refresh_token', 'lkr_', 50, null),
          expires_in: world.lifetimes.accessToken,
          scope,
        }
  grant.issued = { fields, at: now }
  return fields
}

/** The same refresh token, with a new access token if the last one has expired. */
function issueAgain(world: FakeWorld, grant: FakeGrant): Record<string, string | number> | null {
  if (!grant.issued) return null
  const again = remaining(world, grant.issued.fields, grant.issued.at)
  if (again.expires_in !== 0) return again
  const { refresh_token = '' } = grant.issued.fields
  grant.generation -= 1
  const renewed = issue(world, grant)
  world.credentials.delete(String(renewed.refresh_token))
  renewed.refresh_token = refresh_token
  return renewed
}

/** The fields issued at `issuedAt`, with `expires_in` reduced to the whole seconds left now. */
export function remaining<Fields extends FakeFields>(world: FakeWorld, fields: Fields, issuedAt: number): Fields {
  if (fields.expires_in === undefined) return fields
  const left = Math.floor((issuedAt + world.lifetimes.accessToken * 1000 - world.now()) / 1000)
  return { ...fields, expires_in: Math.max(0, left) }
}

export function refresh(world: FakeWorld, parameters: FakeParameters): FakeAnswer {
  authenticateForm(world, parameters)
  const token = required(parameters, 'refresh_token')
  const { grant, again } = renewable(world, token, 'refresh_token', REFRESH_GRACE_MS)
  if (!parseScope(parameters.get('scope') ?? '').every((name) => grant.scopes.includes(name))) {
    throw new FakeRefused('invalid_scope')
  }
  return { fields: again ?? issue(world, grant) }
}

export function rotateKey(world: FakeWorld, parameters: FakeParameters): FakeAnswer {
  authenticateForm(world, parameters)
  const key = required(parameters, 'access_key')
  const { grant, again } = renewable(world, key, 'access_key', KEY_OVERLAP_SECONDS * 1000)
  return { fields: { ...(again ?? issue(world, grant)), overlap: KEY_OVERLAP_SECONDS } }
}

/**
 * The current credential gets a new one, the previous one the same again within `graceMs`, and a refresh token also
 * until its successor is used. An older refresh token revokes the grant.
 */
function renewable(
  world: FakeWorld,
  text: string,
  is: FakeCredential['is'],
  graceMs: number,
): { grant: FakeGrant; again: Record<string, string | number> | null } {
  const credential = world.credentials.get(text)
  if (credential?.is !== is || credential.grant.revoked) throw new FakeRefused('invalid_grant')
  const { grant, generation } = credential
  if (generation === grant.generation) return { grant, again: null }
  const recent = grant.issued !== null && world.now() - grant.issued.at <= graceMs
  const unused = is === 'refresh_token' && grant.usedGeneration < grant.generation
  if ((recent || unused) && generation === grant.generation - 1) return { grant, again: issueAgain(world, grant) }
  if (is === 'refresh_token') grant.revoked = true
  throw new FakeRefused('invalid_grant')
}

/** Always answers `{}`: an unknown credential counts as revoked. */
export function revoke(name: 'token' | 'access_key', world: FakeWorld, parameters: FakeParameters): FakeAnswer {
  authenticateForm(world, parameters)
  const credential = world.credentials.get(required(parameters, name))
  if (credential && (credential.is === 'access_key') === (name === 'access_key')) credential.grant.revoked = true
  return { fields: {} }
}

/** Id and secret under the names of the device flow or of the dialog; under both, they must be equal. */
export function authenticateForm(world: FakeWorld, parameters: FakeParameters): void {
  const either = (name: string, other: string) => {
    const [one, two] = [parameters.get(name), parameters.get(other)]
    if (one !== undefined && two !== undefined && one !== two) throw new FakeRefused('invalid_request')
    return one ?? two ?? ''
  }
  const [id, secret] = [either('SVCappid', 'client_id'), either('SVCsecret', 'client_secret')]
  if (id === '') throw new FakeRefused('invalid_request')
  authenticate(world, id, secret)
}

/** The credential if it is valid now, null otherwise. */
export function check(world: FakeWorld, text: string): FakeCredential | null {
  const credential = world.credentials.get(text)
  if (!credential || credential.is === 'refresh_token' || credential.grant.revoked) return null
  if (credential.expiresAt !== null && world.now() >= credential.expiresAt) return null
  const { grant, generation } = credential
  const replacedAt = grant.issued?.at ?? 0
  const overlapping = generation === grant.generation - 1 && world.now() < replacedAt + KEY_OVERLAP_SECONDS * 1000
  if (credential.is === 'access_key' && generation !== grant.generation && !overlapping) return null
  grant.usedGeneration = Math.max(grant.usedGeneration, generation)
  return credential
}

function checkBearer(world: FakeWorld, request: Request): FakeCredential {
  const text = /^Bearer +(.+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
  const credential = text === undefined ? null : check(world, text)
  if (credential) return credential
  const challenge = text === undefined ? 'Bearer' : 'Bearer error="invalid_token"'
  throw new FakeRefused('invalid_credential', { 'www-authenticate': challenge })
}

export function me(world: FakeWorld, _: FakeParameters, request: Request): FakeAnswer {
  const { grant, expiresAt } = checkBearer(world, request)
  const left = expiresAt === null ? {} : { expires_in: Math.floor((expiresAt - world.now()) / 1000) }
  const { account, user, application } = world
  const scope = grant.scopes.join(',')
  return {
    fields: { account, user, application: application.id, grant: grant.id, scope, variant: grant.variant, ...left },
  }
}

/** Every method, with the scopes of the query and those of the header. */
export function verify(world: FakeWorld, request: Request): FakeAnswer {
  const { searchParams } = new URL(request.url)
  const required = searchParams.get('scope') ?? ''
  checkBearer(world, request)
  if (searchParams.size > new Set(searchParams.keys()).size) throw new FakeRefused('invalid_request')
  return verifyScope(world, request, `${required},${request.headers.get(REQUIRED_SCOPE) ?? ''}`)
}

/** Below /auth/verify/: the header alone says what is required. */
export function verifyBelow(world: FakeWorld, request: Request): FakeAnswer {
  const required = request.headers.get(REQUIRED_SCOPE)
  if (required === null) throw new FakeRefused('invalid_request')
  return verifyScope(world, request, required)
}

const REQUIRED_SCOPE = 'x-latchkey-require-scope'

function verifyScope(world: FakeWorld, request: Request, required: string): FakeAnswer {
  const { grant } = checkBearer(world, request)
  const needed = parseScope(required)
  if (!needed.every((name) => grant.scopes.includes(name))) {
    const challenge = `Bearer error="insufficient_scope", scope="${needed.join(' ')}"`
    throw new FakeRefused('insufficient_scope', { 'www-authenticate': challenge })
  }
  const headers = {
    'x-latchkey-account': world.account,
    'x-latchkey-user': world.user,
    'x-latchkey-account-external-id': '',
    'x-latchkey-user-external-id': '',
    'x-latchkey-application': world.application.id,
    'x-latchkey-scope': grant.scopes.join(','),
    'x-latchkey-variant': grant.variant,
  }
  return { bare: true, headers }
}
