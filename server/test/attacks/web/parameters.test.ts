/** Attacks on parsing and formats, by id. */
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connect as connectApplication } from '../../rig/connect.ts'
import { post } from '../../rig/device.ts'
import { readXml } from '../../rig/dialects.ts'
import { sendRaw } from '../../rig/network/raw-request.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

const FORM = 'application/x-www-form-urlencoded'

/** Types that a parser might take for a form in UTF-8, or for something else that it knows how to read. */
const OTHER_TYPES = [
  ...['json', 'json\ta', 'json; charset=utf-8', 'ld+json', 'problem+json', 'xml', 'soap+xml', 'octet-stream'].map(
    (subtype) => `application/${subtype}`,
  ),
  ...['javascript', 'yaml', 'x-yaml', 'msgpack', 'cbor', 'graphql', 'pdf', 'zip', 'x-ndjson'].map(
    (subtype) => `application/${subtype}`,
  ),
  ...['text/plain', 'text/xml', 'text/html', 'text/csv', 'text/x-www-form-urlencoded', 'text/json'],
  ...[
    'multipart/mixed; boundary=x',
    'multipart/related; boundary=x',
    'multipart/form-data; charset=utf-16; boundary=x',
  ],
  ...['utf-7', 'utf-16', 'utf-16le', 'utf-32', 'iso-8859-1', 'windows-1252', 'us-ascii', 'shift_jis', 'gbk'].map(
    (charset) => `${FORM}; charset=${charset}`,
  ),
  ...['utf-8-sig', '"utf-16"', 'utf-8,utf-16', "'utf-8'", '', 'utf 8'].map((charset) => `${FORM};charset=${charset}`),
  ...[`${FORM}; charset=utf-8; charset=utf-7`, `${FORM}; charset=utf-7; charset=utf-8`],
  ...[`${FORM}x`, `x${FORM}`, `${FORM}/x`, `${FORM} x`, `${FORM}\tx`, `${FORM},application/json`, `${FORM}, ${FORM}`],
  ...[`application/json, ${FORM}`, `application/json; ${FORM}`, `"${FORM}"`, `<${FORM}>`, `${FORM}\u00a0`],
  ...['application / x-www-form-urlencoded', 'application/ x-www-form-urlencoded', 'application/www-form-urlencoded'],
  ...['application/x-www-form', 'application/*', '*/*', 'application', '/', 'garbage', 'x-www-form-urlencoded'],
]

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

const CODE = '/auth/oauth/device/code'
const POLLING = '/auth/oauth/device/polling'
const credentials = () => service.device().credentials
const form = (pairs: string) => ({
  raw: pairs,
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
})
const codes = async () => (await service.database.query('select from device_codes')).length

describe('methods and paths', () => {
  it.each(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE'])(
    'AP-05: %s is refused with 405 and Allow: POST',
    async (method) => {
      for (const path of [CODE, POLLING, `/1${CODE}.xml`]) {
        const before = await codes()
        const answer = await post(service.address, path, { method, query: credentials() })
        expect(answer.status).toBe(405)
        expect(answer.headers.allow).toBe('POST')
        expect(answer.text).not.toContain(credentials().SVCsecret)
        expect(await codes()).toBe(before)
      }
    },
  )

  it.each([
    '.XML',
    '.xml/',
    '.json.xml',
    '.xml.xml',
    '%2exml',
    '%2Exml',
    ';.xml',
    '/',
    '.json',
    '/.xml',
    '%00.xml',
    '.xml%20',
  ])('AP-15: the suffix %j is not a format', async (suffix) => {
    const answer = await post(service.address, `${CODE}${suffix}`, { form: credentials() })
    expect(answer.status).toBe(404)
    expect(answer.headers['cache-control']).toBe('no-store')
  })

  it.each([
    '/2/auth/oauth/device/code',
    '/1/1/auth/oauth/device/code',
    '/AUTH/oauth/device/code',
    '//auth/oauth/device/code',
    '/1',
  ])('%s answers 404 with the usual error body', async (path) => {
    const answer = await post(service.address, path, { form: credentials() })
    expect([answer.status, answer.body.error]).toEqual([404, 'not_found'])
  })
})

describe('parameters', () => {
  const id = () => `SVCappid=${credentials().SVCappid}`
  const secret = () => `SVCsecret=${credentials().SVCsecret}`

  it.each<[string, () => { query: string; body: string }]>([
    ['in the query', () => ({ query: `${id()}&SVCappid=app_x`, body: secret() })],
    ['in the query, the other way round', () => ({ query: `SVCappid=app_x&${id()}`, body: secret() })],
    ['in the form', () => ({ query: '', body: `${id()}&${secret()}&SVCsecret=x` })],
    ['once empty', () => ({ query: '', body: `${id()}&${secret()}&SVCsecret=` })],
    ['once without a value', () => ({ query: 'SVCsecret', body: `${id()}&${secret()}` })],
    ['once escaped', () => ({ query: '', body: `${id()}&SVCapp%69d=x&${secret()}` })],
    ['in other letter case', () => ({ query: '', body: `${id()}&${id().replace('app_', 'APP_')}&${secret()}` })],
    ['equal but for a space', () => ({ query: '', body: `${id()}&${secret()}&${secret()}+` })],
    ['in the query and in the form', () => ({ query: 'state=a', body: `${id()}&${secret()}&state=b` })],
    ['three times, the last one other', () => ({ query: 'state=a&state=a', body: `${id()}&${secret()}&state=b` })],
  ])('AP-06: a name with two values is refused, whichever layer reads which: %s', async (_, make) => {
    const { query, body } = make()
    const before = await codes()
    const path = (base: string) => (query ? `${base}?${query}` : base)
    const request = await post(service.address, path(CODE), body ? form(body) : {})
    expect([request.status, request.body.error]).toEqual([400, 'invalid_request'])
    expect(await codes()).toBe(before)
    // A poll does not read `state`.
    if (path('').includes('state')) return
    const poll = await post(service.address, path(POLLING), body ? form(`${body}&device_code=x`) : {})
    expect([poll.status, poll.body.error, poll.body.message]).toEqual([400, 'invalid', request.body.message])
  })

  it('two Authorization headers are refused, whichever of them is right and in either order', async () => {
    const { SVCappid, SVCsecret } = credentials()
    const basic = (secret: string) => `Authorization: Basic ${Buffer.from(`${SVCappid}:${secret}`).toString('base64')}`
    const { credential } = await connectApplication(service)
    const bearer = (text: string) => `authorization: Bearer ${text}`
    const ask = async (line: string, ...headers: string[]) =>
      (
        await sendRaw(service.address, [line, 'Host: localhost', 'Connection: close', 'Content-Length: 0', ...headers])
      ).split(' ')[1]
    const asCode = (...headers: string[]) => ask('POST /oauth/device_authorization HTTP/1.1', ...headers)
    expect(await asCode(basic(SVCsecret))).toBe('200')
    expect(await asCode(basic(SVCsecret), basic('lks_wrong'))).toBe('400')
    expect(await asCode(basic('lks_wrong'), basic(SVCsecret))).toBe('400')
    for (const path of ['/1/me', '/auth/verify']) {
      expect(await ask(`GET ${path} HTTP/1.1`, bearer(credential))).toMatch(/^20/)
      expect(await ask(`GET ${path} HTTP/1.1`, bearer(credential), bearer('lka_wrong'))).toBe('400')
      expect(await ask(`GET ${path} HTTP/1.1`, bearer(credential), bearer(credential))).toBe('400')
    }
  })

  it.each(['SVCsecret[]', 'SVCsecret[0]', 'SVCsecret[$ne]', 'svcsecret', 'SVCsecret.a', 'SVCsecret '])(
    'AP-07: %j is another name, not the secret',
    async (name) => {
      const answer = await post(service.address, CODE, {
        form: { SVCappid: credentials().SVCappid, [name]: credentials().SVCsecret },
      })
      expect([answer.status, answer.body.error]).toEqual([400, 'invalid_request'])
    },
  )

  it('AP-08: names of Object.prototype are ordinary names', async () => {
    const answer = await post(service.address, CODE, {
      form: { ...credentials(), __proto__x: '1', constructor: 'x', prototype: 'y', toString: 'z' },
    })
    expect(answer.status).toBe(200)
    const raw = await post(service.address, CODE, form(`${id()}&${secret()}&__proto__=polluted&__proto__.x=1`))
    expect(raw.status).toBe(200)
    expect(({} as Record<string, unknown>).x).toBeUndefined()
  })

  it(`AP-09, AP-14: a body of another type than a form in UTF-8 is not read, in ${OTHER_TYPES.length} spellings`, async () => {
    expect(OTHER_TYPES.length).toBeGreaterThanOrEqual(60)
    for (const type of OTHER_TYPES) {
      for (const path of [CODE, POLLING]) {
        const answer = await post(service.address, path, {
          raw: `${id()}&${secret()}`,
          headers: { 'content-type': type },
        })
        expect([type, answer.status, answer.body.error]).toEqual([type, 415, 'unsupported_media_type'])
      }
    }
  })

  it('an empty body is accepted with any type, and utf8 means UTF-8', async () => {
    const empty = { query: credentials(), raw: '', headers: { 'content-type': 'application/json' } }
    expect((await post(service.address, CODE, empty)).status).toBe(200)
    const headers = { 'content-type': 'application/x-www-form-urlencoded; charset="UTF8"' }
    expect((await post(service.address, CODE, { raw: `${id()}&${secret()}`, headers })).status).toBe(200)
  })

  it('AP-09: a body without a type is not read either', async () => {
    const answer = await post(service.address, CODE, { raw: `${id()}&${secret()}` })
    expect(answer.status).toBe(415)
  })

  it('AP-10: a large body, many parameters and a long request line are refused', async () => {
    const large = await post(service.address, CODE, form(`state=${'x'.repeat(20_000)}`))
    expect([large.status, large.body.error]).toEqual([413, 'payload_too_large'])
    const many = await post(service.address, CODE, form(Array.from({ length: 100 }, (_, n) => `p${n}=1`).join('&')))
    expect([many.status, many.body.error]).toEqual([400, 'invalid_request'])
    const long = await post(service.address, `${CODE}?state=${'x'.repeat(20_000)}`, {})
    expect([long.status, long.body.error]).toEqual([431, 'headers_too_large'])
  })

  it('AP-10: an endless body is cut off, and so is one that is not read', async () => {
    const { hostname, port } = new URL(service.address)
    for (const [type, status] of [
      ['application/x-www-form-urlencoded', 413],
      ['application/json', 415],
    ] as const) {
      const socket = connect(Number(port), hostname)
      let received = ''
      socket.on('data', (data) => {
        received += data
      })
      socket.on('error', () => {})
      socket.write(`POST ${CODE} HTTP/1.1\r\nhost: x\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`)
      const timer = setInterval(() => socket.write(`1000\r\n${'x'.repeat(4096)}\r\n`), 5)
      await new Promise((resolve) => socket.on('close', resolve))
      clearInterval(timer)
      expect(received).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    }
  })

  it('an absolute URL in the request line counts as its path', async () => {
    const answer = await post(service.address, CODE, { form: credentials() })
    const { hostname, port } = new URL(service.address)
    const received = await new Promise<string>((resolve) => {
      const socket = connect(Number(port), hostname, () =>
        socket.write(`GET http://any.example/health/live HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`),
      )
      let text = ''
      socket.on('data', (data) => {
        text += data
      })
      socket.on('close', () => resolve(text))
    })
    expect([answer.status, received.slice(0, 15)]).toEqual([200, 'HTTP/1.1 200 OK'])
  })

  it.each(['%ff', '%c0%af', '%ed%a0%80', '%', '%zz', '%e2%82', '\xff'])(
    'AP-11: %j is not UTF-8 and is refused, never fixed',
    async (value) => {
      const raw = Buffer.from(`${id()}&${secret()}&state=${value}`, 'latin1')
      const answer = await post(service.address, CODE, { ...form(''), raw })
      expect([answer.status, answer.body.error]).toEqual([400, 'invalid_request'])
    },
  )

  it('a file in a multipart form is refused', async () => {
    const raw = '--b\r\ncontent-disposition: form-data; name="state"; filename="x"\r\n\r\nhello\r\n--b--\r\n'
    const headers = { 'content-type': 'multipart/form-data; boundary=b' }
    expect((await post(service.address, CODE, { raw, headers })).body.error).toBe('invalid_request')
    const broken = await post(service.address, CODE, { raw: 'nonsense', headers })
    expect(broken.body.error).toBe('invalid_request')
  })
})

describe('state is echoed exactly, or refused', () => {
  const echo = async (state: string) => {
    const answer = await post(service.address, `${CODE}.xml`, { form: { ...credentials(), state } })
    return answer.status === 200 ? readXml(answer.text).state : answer.status
  }

  it.each([
    '</state><access_token>x</access_token>',
    ']]>',
    '<![CDATA[x]]>',
    '&lt;&amp;&#13;',
    '<?pi x?>',
    '<!-- -->',
    'a\r\nb\rc\nd\te',
    ' x ',
    '"\'',
    '\u0085\u2028',
  ])('AP-12: %j is returned unchanged by an independent XML parser', async (state) => {
    expect(await echo(state)).toBe(state)
  })

  it('AP-13: characters that XML cannot contain are refused in both formats', async () => {
    const illegal = [
      ...Array.from({ length: 32 }, (_, point) => point).filter((point) => ![9, 10, 13].includes(point)),
      0xfffe,
      0xffff,
    ]
    for (const point of illegal) {
      const state = String.fromCharCode(point)
      expect(await echo(`a${state}b`)).toBe(400)
      expect((await service.device().request({ state })).status).toBe(400)
    }
  })

  it('AP-16: JSON is not sniffed as another type by a browser', async () => {
    const answer = await service.device().request({ state: '<script>alert(1)</script>' })
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(answer.headers['x-content-type-options']).toBe('nosniff')
    expect(answer.body.state).toBe('<script>alert(1)</script>')
  })
})

describe('unusual requests', () => {
  it('HEAD answers health as GET does', async () => {
    const answer = await post(service.address, '/health/live', { method: 'HEAD' })
    expect([answer.status, answer.text]).toEqual([200, ''])
  })

  it('AP-27: unexpected methods and bodies are refused without an internal error', async () => {
    for (const method of ['QUERY', 'LOCK', 'PROPFIND', 'MKCOL', 'REPORT']) {
      for (const raw of [undefined, 'x=1']) {
        const answer = await post(service.address, CODE, { method, ...(raw ? { raw } : {}) })
        expect(answer.status).toBeGreaterThanOrEqual(400)
        expect(answer.status).toBeLessThan(500)
      }
    }
  })
})

describe('raw sockets', () => {
  const raw = (text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(service.address)
      const socket = connect(Number(port), hostname, () => socket.write(text))
      let received = ''
      socket.on('data', (data) => {
        received += data
      })
      socket.on('error', reject)
      socket.on('close', () => resolve(received))
      socket.setTimeout(3_000, () => socket.destroy())
    })
  const head = `POST ${CODE} HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\n`

  it.each([
    ['two lengths', `${head}content-length: 5\r\ncontent-length: 6\r\n\r\nhello`],
    ['length and chunks', `${head}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['a disguised encoding', `${head}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n`],
    ['a folded header', `${head}x: a\r\n b\r\ncontent-length : 0\r\n\r\n`],
    ['nonsense', 'HELLO\r\n\r\n'],
  ])('AP-17: %s closes the connection with the usual error body', async (_, text) => {
    const received = await raw(text)
    expect(received).toMatch(/^HTTP\/1\.1 400 /)
    expect(received).toMatch(/connection: close/i)
    expect(received).toContain('{"error":"invalid_request"')
    expect(received.match(/HTTP\/1\.1/g)).toHaveLength(1)
  })
})
