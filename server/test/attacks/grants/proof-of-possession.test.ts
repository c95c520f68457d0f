/** TK-18: proofs of possession (DPoP, mutual TLS) are not offered, and nothing looks as if they were. docs/security.md, "Decided otherwise". */
import { generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { connect, grant } from '../../rig/connect.ts'
import { post } from '../../rig/device.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

/** A valid proof for this request (RFC 9449, section 4.2). */
function makeProof(method: string, address: string): string {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const header = encode({ typ: 'dpop+jwt', alg: 'ES256', jwk: publicKey.export({ format: 'jwk' }) })
  const claims = encode({ jti: randomUUID(), htm: method, htu: address, iat: Math.floor(Date.now() / 1_000) })
  const signed = sign('sha256', Buffer.from(`${header}.${claims}`), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${header}.${claims}.${signed.toString('base64url')}`
}

it('TK-18: the metadata announces neither DPoP nor certificates', async () => {
  const { body } = await post(service.address, '/.well-known/oauth-authorization-server', { method: 'GET' })
  expect(body.token_endpoint).toBeDefined()
  expect(Object.keys(body).filter((name) => /dpop|tls|certificate|mtls/i.test(name))).toEqual([])
  expect(body.token_endpoint_auth_methods_supported).toEqual(['client_secret_basic', 'client_secret_post', 'none'])
})

it('TK-18: tokens asked for with a proof are bearer tokens, and say so', async () => {
  const { deviceCode } = await grant(service)
  const { id: client_id, secret: client_secret } = service.application
  const by = { client_id, client_secret }
  const issued = await post(service.address, '/oauth/token', {
    form: { ...by, grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: deviceCode },
    headers: { dpop: makeProof('POST', `${service.config.publicUrl}/oauth/token`) },
  })
  expect([issued.status, issued.body.token_type]).toEqual([200, 'Bearer'])
  const described = await post(service.address, '/oauth/introspect', {
    form: { ...by, token: issued.body.access_token },
  })
  expect([described.body.active, described.body.token_type, described.body.cnf]).toEqual([true, 'Bearer', undefined])
})

it('TK-18: a token sent under the scheme DPoP is refused, with a proof and without', async () => {
  const { credential } = await connect(service)
  const address = `${service.config.publicUrl}/1/me`
  const proof = { dpop: makeProof('GET', address) }
  const ask = async (headers: Record<string, string>) =>
    (await post(service.address, '/1/me', { method: 'GET', headers })).status
  expect(await ask({ authorization: `Bearer ${credential}` })).toBe(200)
  expect(await ask({ authorization: `DPoP ${credential}`, ...proof })).toBe(401)
  expect(await ask({ authorization: `DPoP ${credential}` })).toBe(401)
})
