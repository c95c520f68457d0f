/** Standard dialect of the fake: the device flow of public applications, and introspection. */
import { type FakeAnswer, type FakeFields, type FakeParameters, FakeRefused, required } from './fake-answer.ts'
import { check } from './fake-credentials.ts'
import { collect, placeCode } from './fake-device.ts'
import type { FakeWorld } from './fake-world.ts'

const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code'

/** Device authorization request (RFC 8628, section 3.1). */
export function authorizeDevice(world: FakeWorld, parameters: FakeParameters, request: Request): FakeAnswer {
  authenticateClient(readClient(parameters, request), world.application)
  const code = placeCode(world, 'token_set', parameters.get('scope'), '')
  return {
    fields: {
      device_code: code.deviceCode,
      user_code: code.userCode,
      verification_uri: `${world.baseUrl}/activate`,
      expires_in: world.lifetimes.code,
      interval: world.lifetimes.interval,
    },
  }
}

/**
 * Token request of the device flow (RFC 8628, section 3.4). For the other grant types this library uses the routes of
 * Latchkey's own dialect.
 */
export function token(world: FakeWorld, parameters: FakeParameters, request: Request): FakeAnswer {
  authenticateClient(readClient(parameters, request), world.application)
  if (required(parameters, 'grant_type') !== DEVICE_CODE) throw new FakeRefused('unsupported_grant_type')
  const key = request.headers.get('idempotency-key')
  const answer = collect(world, 'token_set', required(parameters, 'device_code'), key)
  return 'fields' in answer ? { ...answer, fields: standardFields(answer.fields) } : answer
}

function standardFields({ state: _, scope, ...fields }: FakeFields): FakeFields {
  return { ...fields, token_type: 'Bearer', scope: String(scope).replaceAll(',', ' ') }
}

/**
 * Introspection (RFC 7662). The resource server may ask about every credential, the application about its own, which
 * here are all.
 */
export function introspect(world: FakeWorld, parameters: FakeParameters, request: Request): FakeAnswer {
  const { application, resource } = world
  const client = readClient(parameters, request)
  authenticateClient(client, client.id === resource.id || application.secret === '' ? resource : application)
  const credential = check(world, required(parameters, 'token'))
  if (!credential) return { fields: { active: false } }
  const seconds = (moment: number) => Math.floor(moment / 1000)
  return {
    fields: {
      active: true,
      scope: credential.grant.scopes.join(' '),
      client_id: application.id,
      sub: world.user,
      account: world.account,
      grant: credential.grant.id,
      token_type: 'Bearer',
      iss: world.baseUrl,
      iat: seconds(credential.issuedAt),
      ...(credential.expiresAt === null ? {} : { exp: seconds(credential.expiresAt) }),
    },
  }
}

type Client = { readonly id: string; readonly secret: string }

function authenticateClient(client: Client, known: Client): void {
  if (client.id === known.id && client.secret === known.secret) return
  throw new FakeRefused('invalid_application', { 'www-authenticate': 'Basic realm="latchkey"' })
}

/** Reads client_secret_basic, client_secret_post or no client secret (RFC 6749, section 2.3.1). */
function readClient(parameters: FakeParameters, request: Request): Client {
  const basic = /^Basic +(\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
  if (basic === undefined)
    return { id: parameters.get('client_id') ?? '', secret: parameters.get('client_secret') ?? '' }
  const [id = '', secret = ''] = atob(basic).split(':')
  return { id: decodeURIComponent(id), secret: decodeURIComponent(secret) }
}
