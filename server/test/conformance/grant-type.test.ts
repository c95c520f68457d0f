/**
 * "The grant_type parameter is never needed: it is derived from the path and any supplied value is ignored." Whatever the
 * value is made of. `/oauth/token` has one path for three grant types and follows RFC 6749. docs/interface.md, "Parameters".
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { grant } from '../rig/connect.ts'
import { post, type WireAnswer, type WireVariant } from '../rig/device.ts'
import { allow, makeDialogApplication } from '../rig/dialog.ts'
import { CALLBACK } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'

let service: TestService
beforeAll(async () => {
  // Longer than fifty requests take: the polls between them have to be early.
  service = await startTestService({ POLL_INTERVAL: '60' })
})
afterAll(() => service.stop())

const FORM = 'application/x-www-form-urlencoded'
const BOUNDARY = 'x-boundary'

type Send = (path: string, fields: Record<string, string>, value: Buffer) => Promise<WireAnswer>

/** The parameters, and `grant_type` with exactly these bytes, in each of the three places where parameters may be. */
const places: Record<string, Send> = {
  'the query': (path, fields, value) =>
    post(service.address, `${path}?grant_type=${value.toString('latin1')}`, { form: fields }),
  'a form': (path, fields, value) => {
    const rest = Buffer.from(`&${new URLSearchParams(fields)}`)
    const raw = Buffer.concat([Buffer.from('grant_type='), value, rest])
    return post(service.address, path, { raw, headers: { 'content-type': FORM } })
  },
  'a multipart form': (path, fields, value) => {
    const part = (name: string, content: Buffer, more = '') => [
      Buffer.from(`--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n`),
      content,
      Buffer.from('\r\n'),
    ]
    const parts = Object.entries(fields).flatMap(([name, text]) => part(name, Buffer.from(text)))
    const raw = Buffer.concat([...part('grant_type', value), ...parts, Buffer.from(`--${BOUNDARY}--\r\n`)])
    return post(service.address, path, {
      raw,
      headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
    })
  },
}

/** Made of characters that an address may hold; a body may also hold bytes that are none. */
const encoded = ['', 'anything', 'password', 'a%20b', '%FF', '%C3', '%', '%zz', '%00', '+', '%ED%A0%80'].map((text) =>
  Buffer.from(text),
)
const raw = [Buffer.from([0xff]), Buffer.from([0xc3, 0x28]), Buffer.from('ü'), Buffer.from([0x00])]

const cases = Object.entries(places).flatMap(([place, send]) =>
  (place === 'the query' ? encoded : [...encoded, ...raw]).map((value) => ({
    place,
    send,
    value,
    shown: JSON.stringify(value.toString('latin1')),
  })),
)

describe.each(['oauth', 'key'] as const)('grant_type, %s variant', (variant: WireVariant) => {
  it.each(cases)(
    'with the value $shown in $place is ignored by the code request and by polls',
    async ({ send, value }) => {
      const device = service.device(variant)
      const requested = await send(`/auth/${variant}/device/code`, { ...device.credentials, state: 'ü' }, value)
      expect([requested.status, requested.body.state]).toEqual([200, 'ü'])
      const { device_code, user_code } = requested.body
      const poll = () => send(`/1/auth/${variant}/device/polling`, { ...device.credentials, device_code }, value)
      expect((await poll()).body.error).toBe('auth_pending')
      expect(await service.grant(user_code)).toBe('granted')
      expect((await poll()).status).toBe(200)
    },
  )

  it.each(Object.keys(places))('given three times, twice in the query and once in %s, is ignored', async (place) => {
    const { credentials } = service.device(variant)
    const path = `/auth/${variant}/device/code?grant_type=a&grant_type=b`
    const send = (path: string) =>
      place === 'the query'
        ? post(service.address, `${path}&grant_type=%FF`, { form: credentials })
        : places[place]?.(path, credentials, Buffer.from('%FF'))
    expect((await send(path))?.status).toBe(200)
  })
})

/** Grant types of RFCs and products, other types of values, and texts that some server takes for something else. */
const FIFTY_WAYS = [
  ...[
    'refresh_token',
    'client_credentials',
    'authorization_code',
    'password',
    'implicit',
    'device_code',
    'oauth',
    'key',
  ],
  ...['urn:ietf:params:oauth:grant-type:device_code', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
  ...['urn:ietf:params:oauth:grant-type:saml2-bearer', 'urn:ietf:params:oauth:grant-type:token-exchange'],
  ...['urn:openid:params:grant-type:ciba', 'http://oauth.net/grant_type/device/1.0', 'access_key', 'access_token'],
  ...['', ' ', ',', '.', '0', '-1', '1e9', 'null', 'undefined', 'true', 'false', 'NaN', '[]', '{}', '[object Object]'],
  ...['["refresh_token"]', '{"$ne":""}', '__proto__', 'constructor', 'REFRESH_TOKEN', 'refresh_token,password'],
  ...["' or '1'='1", '../key', '%2e%2e', '{{7*7}}', '<x/>', '\r\nx: y', '\u202e', '😀', 'a'.repeat(1_000)],
].map((value) => ['grant_type', value] as const)
const AS_ARRAYS = ['grant_type[]', 'grant_type[0]', 'grant_type[$ne]', 'grant_type.a'].map(
  (name) => [name, 'refresh_token'] as const,
)

it.each(['oauth', 'key'] as const)(
  `DC-19: ${FIFTY_WAYS.length + AS_ARRAYS.length} values of grant_type change no answer of the %s variant, arrays and objects included`,
  async (variant) => {
    const device = service.device(variant)
    const poll = (device_code: string, more: Record<string, string>) =>
      post(service.address, `/auth/${variant}/device/polling`, {
        form: { ...device.credentials, device_code, ...more },
      })
    const { device_code: pending } = await device.code()
    const usual = await poll('lkd_none', {})
    expect((await poll(pending, {})).body.error).toBe('auth_pending')
    const early = await poll(pending, {})
    expect(early.body.error).toBe('slow_down')
    for (const [name, value] of [...FIFTY_WAYS, ...AS_ARRAYS]) {
      const requested = await device.request({ [name]: value, state: 's' })
      expect([value, requested.status, Object.keys(requested.body)]).toEqual([
        value,
        200,
        ['device_code', 'user_code', 'verification_url', 'expires_in', 'interval', 'state'],
      ])
      expect([value, (await poll('lkd_none', { [name]: value })).text]).toEqual([value, usual.text])
      expect([value, (await poll(pending, { [name]: value })).text]).toEqual([value, early.text])
    }
  },
)

it('does not let anything else through that cannot be decoded', async () => {
  const { credentials } = service.device()
  const rest = new URLSearchParams(credentials)
  const bodies = [
    Buffer.from(`state=%FF&grant_type=%FF&${rest}`),
    Buffer.concat([Buffer.from(`grant_type=a&${rest}&state=`), Buffer.from([0xff])]),
    Buffer.concat([
      Buffer.from('grant_type='),
      Buffer.from([0xff]),
      Buffer.from(`&${rest}&state=`),
      Buffer.from([0xff]),
    ]),
    Buffer.concat([Buffer.from(`xgrant_type=`), Buffer.from([0xff]), Buffer.from(`&${rest}`)]),
  ]
  for (const body of bodies) {
    const answer = await post(service.address, '/auth/oauth/device/code', {
      raw: body,
      headers: { 'content-type': FORM },
    })
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_request'])
  }
  const multipart = await places['a multipart form']?.('/auth/oauth/device/code', credentials, Buffer.from('a'))
  expect(multipart?.status).toBe(200)
  const part = (name: string) => `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n`
  const parts = Object.entries(credentials).map(([name, text]) => `${part(name)}${text}\r\n`)
  const broken = Buffer.concat([
    Buffer.from(`${parts.join('')}${part('state')}`),
    Buffer.from([0xff]),
    Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
  ])
  const answer = await post(service.address, '/auth/oauth/device/code', {
    raw: broken,
    headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
  })
  expect([answer.status, answer.body.error]).toEqual([400, 'invalid_request'])
})

describe.each(Object.entries(places))(
  'grant_type in %s is ignored wherever the path says what is meant',
  (_place, send) => {
    const value = Buffer.from('%FF')

    it('exchange, refresh and revocation of a token set', async () => {
      const application = await makeDialogApplication(service)
      const { code, pkce } = await allow(service, { application })
      const by = { SVCappid: application.id, SVCsecret: application.secret }
      const form = { ...by, code, redirect_uri: CALLBACK, code_verifier: pkce.verifier }
      const exchanged = await send('/auth/oauth/token', form, value)
      expect(exchanged.status).toBe(200)
      const refreshed = await send('/auth/oauth/refresh', { ...by, refresh_token: exchanged.body.refresh_token }, value)
      expect(refreshed.status).toBe(200)
      expect((await send('/auth/oauth/revoke', { ...by, token: refreshed.body.access_token }, value)).status).toBe(200)
    })

    it('rotation and revocation of an access key', async () => {
      const { device, deviceCode } = await grant(service, { variant: 'key' })
      const { access_key } = (await device.poll(deviceCode)).body
      const rotated = await send('/auth/key/rotate', { ...device.credentials, access_key }, value)
      expect(rotated.status).toBe(200)
      const revoked = await send(
        '/auth/key/revoke',
        { ...device.credentials, access_key: rotated.body.access_key },
        value,
      )
      expect(revoked.status).toBe(200)
    })
  },
)

describe('/oauth/token follows RFC 6749, section 5.2', () => {
  const ask = (text: string) => {
    const { id, secret } = service.application
    const raw = `client_id=${id}&client_secret=${secret}&refresh_token=x${text}`
    return post(service.address, '/oauth/token', { raw, headers: { 'content-type': FORM } })
  }

  it.each([
    ['missing', '', 'invalid_request'],
    ['empty', '&grant_type=', 'invalid_request'],
    ['given twice', '&grant_type=refresh_token&grant_type=refresh_token', 'invalid_request'],
    ['not to be decoded', '&grant_type=%FF', 'invalid_request'],
    ['unknown', '&grant_type=password', 'unsupported_grant_type'],
    ['known', '&grant_type=refresh_token', 'invalid_grant'],
  ])('a grant_type that is %s', async (_what, text, error) => {
    const answer = await ask(text)
    expect([answer.status, answer.body.error]).toEqual([400, error])
  })
})
