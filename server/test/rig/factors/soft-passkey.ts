/**
 * A browser and its passkey in software (WebAuthn level 3, sections 5.1 and 6): ES256, resident, with user verification. It
 * follows the request, except for what `wrongly` names, and signs the result.
 */
import { createHash, generateKeyPairSync, type JsonWebKey, randomBytes, sign } from 'node:crypto'

type Wrongly = {
  /** Client data of the browser: type, challenge, origin and so on. */
  readonly clientData?: Readonly<Record<string, unknown>>
  readonly rpId?: string
  readonly userPresent?: boolean
  readonly userVerified?: boolean
  readonly counter?: number
  /** COSE identifier of the public key's algorithm. */
  readonly algorithm?: number
  /** `self`: signed by the passkey; `certified`: by an enclosed certificate. */
  readonly attestation?: 'none' | 'self' | 'certified' | { readonly fmt: string; readonly statement: Map<string, Cbor> }
}

type CreationOptions = {
  readonly challenge: string
  readonly rp: { readonly id?: string }
  readonly user: { readonly id: string }
}
type RequestOptions = { readonly challenge: string; readonly rpId?: string }

export type SoftPasskey = {
  readonly id: string
  /** navigator.credentials.create, then JSON.stringify. */
  create(options: CreationOptions, origin: string, wrongly?: Wrongly): string
  /** navigator.credentials.get, then JSON.stringify. */
  get(options: RequestOptions, origin: string, wrongly?: Wrongly): string
}

export function createSoftPasskey({ counts = true, idBytes = 16 } = {}): SoftPasskey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const credentialId = randomBytes(idBytes)
  const id = credentialId.toString('base64url')
  let userHandle: string | undefined
  let counter = 0

  const clientData = (type: string, challenge: string, origin: string, wrongly: Wrongly): Buffer =>
    Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false, ...wrongly.clientData }))

  function authenticatorData(rpId: string, wrongly: Wrongly, attested?: Buffer): Buffer {
    const { userPresent = true, userVerified = true } = wrongly
    if (counts) counter += 1
    const head = Buffer.alloc(5)
    head[0] = (userPresent ? 1 : 0) | (userVerified ? 4 : 0) | (attested ? 64 : 0)
    head.writeUInt32BE(wrongly.counter ?? counter, 1)
    return Buffer.concat([sha256(wrongly.rpId ?? rpId), head, attested ?? Buffer.alloc(0)])
  }
  const signed = (data: Buffer, client: Buffer) => sign('sha256', Buffer.concat([data, sha256(client)]), privateKey)
  function attest(how: Exclude<Wrongly['attestation'], undefined>, data: Buffer, client: Buffer) {
    if (typeof how === 'object') return how
    if (how === 'none') return { fmt: 'none', statement: new Map<string, Cbor>() }
    const own = { alg: -7, sig: signed(data, client) }
    const x5c = [certificate(publicKey.export({ type: 'spki', format: 'der' }))]
    return { fmt: 'packed', statement: mapOf(how === 'self' ? own : { ...own, x5c }) }
  }
  const answer = (response: Record<string, unknown>) =>
    JSON.stringify({
      id,
      rawId: id,
      type: 'public-key',
      authenticatorAttachment: 'platform',
      clientExtensionResults: {},
      response,
    })

  return {
    id,
    create: (options, origin, wrongly = {}) => {
      userHandle = options.user.id
      const client = clientData('webauthn.create', options.challenge, origin, wrongly)
      const idLength = Buffer.of(credentialId.length >> 8, credentialId.length & 255)
      const key = cosePublicKey(publicKey.export({ format: 'jwk' }), wrongly.algorithm ?? -7)
      const attested = Buffer.concat([Buffer.alloc(16), idLength, credentialId, key])
      const data = authenticatorData(options.rp.id ?? '', wrongly, attested)
      const { fmt, statement } = attest(wrongly.attestation ?? 'none', data, client)
      const attestation = cbor(mapOf({ fmt, attStmt: statement, authData: data }))
      return answer({
        clientDataJSON: client.toString('base64url'),
        attestationObject: attestation.toString('base64url'),
        transports: ['internal', 'hybrid'],
      })
    },
    get: (options, origin, wrongly = {}) => {
      const client = clientData('webauthn.get', options.challenge, origin, wrongly)
      const data = authenticatorData(options.rpId ?? '', wrongly)
      return answer({
        clientDataJSON: client.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: signed(data, client).toString('base64url'),
        userHandle,
      })
    },
  }
}

function sha256(content: string | Buffer): Buffer {
  return createHash('sha256').update(content).digest()
}

/** RFC 9053, section 7.1.1: key type EC2, the algorithm, curve P-256, x and y. */
function cosePublicKey({ x = '', y = '' }: JsonWebKey, algorithm: number): Buffer {
  return cbor(
    new Map<number, Cbor>([
      [1, 2],
      [3, algorithm],
      [-1, 1],
      [-2, Buffer.from(x, 'base64url')],
      [-3, Buffer.from(y, 'base64url')],
    ]),
  )
}

/** Attestation certificate (WebAuthn, section 8.2.1). Its issuer is not verified, so it is self-signed. */
function certificate(publicKeyInfo: Buffer): Buffer {
  const name = der(
    0x30,
    ...Object.entries({ 6: 'SE', 10: 'Soft', 11: 'Authenticator Attestation', 3: 'Soft' }).map(attribute),
  )
  const validity = der(0x30, der(0x17, Buffer.from('200101000000Z')), der(0x17, Buffer.from('491231235959Z')))
  const algorithm = der(0x30, der(0x06, Buffer.from('2a8648ce3d040302', 'hex')))
  const version = der(0xa0, der(0x02, Buffer.of(2)))
  const content = der(0x30, version, der(0x02, Buffer.of(1)), algorithm, name, validity, name, publicKeyInfo)
  return der(0x30, content, algorithm, der(0x03, Buffer.alloc(2)))
}

function attribute([type, value]: [string, string]): Buffer {
  return der(0x31, der(0x30, der(0x06, Buffer.of(0x55, 0x04, Number(type))), der(0x0c, Buffer.from(value))))
}

function der(tag: number, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.of(tag, ...size), content])
}

function mapOf(entries: Record<string, Cbor>): Map<string, Cbor> {
  return new Map(Object.entries(entries))
}

export type Cbor =
  | number
  | string
  | Buffer
  | readonly Cbor[]
  | Map<number | string, Cbor>
  | Map<string, Cbor>
  | Map<number, Cbor>

/** The part of CBOR (RFC 8949) that an authenticator needs. */
export function cbor(value: Cbor): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value)
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  if (value instanceof Map) {
    const entries = Array.from(value as Map<number | string, Cbor>, ([key, each]) =>
      Buffer.concat([cbor(key), cbor(each)]),
    )
    return Buffer.concat([head(5, entries.length), ...entries])
  }
  return Buffer.concat([head(4, value.length), ...value.map(cbor)])
}

function head(major: number, argument: number): Buffer {
  if (argument < 24) return Buffer.of((major << 5) | argument)
  if (argument < 256) return Buffer.of((major << 5) | 24, argument)
  return Buffer.of((major << 5) | 25, argument >> 8, argument & 255)
}
