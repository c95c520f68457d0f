/** A connected application: requests a code, a user grants it, the application collects its credentials. */
import { post, type WireAnswer, type WireVariant } from './device.ts'
import type { MadeApplication, MadeUser } from './make.ts'
import type { TestService } from './service.ts'
import { digestOf } from './witness.ts'

export type Connected = {
  readonly grantId: string
  readonly userCode: string
  readonly deviceCode: string
  /** The access token or the access key. */
  readonly credential: string
  readonly refreshToken: string
}

type Wish = {
  readonly user?: MadeUser
  readonly application?: MadeApplication
  readonly variant?: WireVariant
  readonly scope?: string
}

/** Granted, but not collected. */
export async function grant(service: TestService, wish: Wish = {}) {
  const device = service.device(wish.variant, wish.application)
  const code = await device.code({ scope: wish.scope ?? 'orders:read,orders:write' })
  const outcome = await service.grant(code.user_code, wish.user)
  if (outcome !== 'granted') throw new Error(`the code was not granted: ${outcome}`)
  const [row] = await service.database.query<{ grant_id: string }>(
    'select grant_id from device_codes where user_code_digest = $1 order by created_at desc limit 1',
    [digestOf(service, code.user_code)],
  )
  return { device, userCode: code.user_code, deviceCode: code.device_code, grantId: row?.grant_id ?? '' }
}

export async function connect(service: TestService, wish: Wish = {}): Promise<Connected> {
  const { device, ...granted } = await grant(service, wish)
  const { body } = await device.poll(granted.deviceCode)
  const credential = body.access_token ?? body.access_key
  if (!credential) throw new Error(`the poll was answered ${JSON.stringify(body)}`)
  return { ...granted, credential, refreshToken: body.refresh_token ?? '' }
}

/** GET /me with a credential. */
export function askMe(service: TestService, credential: string, path = '/1/me'): Promise<WireAnswer> {
  return post(service.address, path, { method: 'GET', headers: { authorization: `Bearer ${credential}` } })
}
