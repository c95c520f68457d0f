/**
 * docs/interface.md, "Parameters": names that are given more than once, at every endpoint and page that an application
 * calls. On the contract's paths a known name may be repeated with equal values; everywhere else no name may be repeated.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pathsOf } from '../../src/http/route.ts'
import { endpoints } from '../../src/http/routes.ts'
import { post, type WireAnswer } from '../rig/device.ts'
import { readXml } from '../rig/dialects.ts'
import { startTestService, type TestService } from '../rig/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

/** The right application, and a value for every other parameter. */
function valuesOf(form: object): Record<string, string> {
  const { id, secret } = service.application
  const own: Record<string, string> = { SVCappid: id, SVCsecret: secret, client_id: id, client_secret: secret }
  return Object.fromEntries(Object.keys(form).map((name) => [name, own[name] ?? 'x']))
}

/** Sends what is in the query and what is in the form as it is. */
function send(path: string, query: string, form: string): Promise<WireAnswer> {
  return post(service.address, query === '' ? path : `${path}?${query}`, { raw: form, headers: FORM })
}

const encoded = (values: Record<string, string>) => new URLSearchParams(values).toString()
const pair = (name: string, value: string) => encoded({ [name]: value })

/** What differs in each answer, although the request is the same. */
const told = ({ status, text }: WireAnswer) => [status, text.replace(/[A-Za-z0-9_-]{59}|\b\d{9,15}\b/g, '…')]
const fieldsOf = ({ text }: WireAnswer): Record<string, string> => (text[0] === '<' ? readXml(text) : JSON.parse(text))

const tolerant = endpoints.flatMap((route) => {
  const { dialect, operation } = route
  if (dialect !== 'interface' || !('form' in operation)) return []
  const { form = {} } = operation
  return pathsOf(route).map((path) => ({ path, form, poll: path.includes('polling') }))
})

it('all endpoints of the contract are among them, and /auth/verify is not', () => {
  expect(tolerant).toHaveLength(4 * 11)
  expect(tolerant.filter(({ path }) => path.endsWith('/verify'))).toEqual([])
})

describe.each(tolerant)('$path', ({ path, form, poll }) => {
  it('a known name with equal values, in the query, in the form or in both, changes nothing', async () => {
    const values = valuesOf(form)
    const once = told(await send(path, '', encoded(values)))
    for (const [name, value] of Object.entries(values)) {
      const same = pair(name, value)
      expect([name, told(await send(path, same, encoded(values)))]).toEqual([name, once])
      expect([name, told(await send(path, '', `${encoded(values)}&${same}&${same}`))]).toEqual([name, once])
      const { [name]: _, ...rest } = values
      expect([name, told(await send(path, `${same}&${same}`, encoded(rest)))]).toEqual([name, once])
    }
  })

  it('a known name with two values is refused by its name', async () => {
    const values = valuesOf(form)
    for (const name of Object.keys(form)) {
      for (const other of ['', 'y']) {
        const answers = [
          await send(path, pair(name, other), encoded(values)),
          await send(path, '', `${pair(name, other)}&${encoded(values)}`),
          await send(path, '', `${encoded(values)}&${pair(name, other)}`),
        ]
        for (const answer of answers) {
          const { error, message } = fieldsOf(answer)
          expect([answer.status, error]).toEqual([400, poll ? 'invalid' : 'invalid_request'])
          expect(message).toBe(`The parameter ${name} is given twice with different values.`)
        }
      }
    }
  })

  it('unknown names, and grant_type, may be repeated with any values', async () => {
    const values = valuesOf(form)
    const once = told(await send(path, '', encoded(values)))
    for (const more of [
      'x=1&x=1',
      'x=1&x=2',
      'grant_type=a&grant_type=b&grant_type=%FF&grant_type',
      '__proto__=1&__proto__=2',
    ]) {
      expect(told(await send(path, more, encoded(values)))).toEqual(once)
      expect(told(await send(path, '', `${more}&${encoded(values)}`))).toEqual(once)
    }
  })

  it('what cannot be read is refused by its name, known or not, unless the name may be a value', async () => {
    const values = encoded(valuesOf(form))
    const [known = ''] = Object.keys(form)
    const secret = service.application.secret
    for (const [text, named] of [
      [`${known}=%FF`, `The parameter ${known}`],
      ['other=%C3%28', 'The parameter other'],
      ['%FF=1', 'A parameter'],
      [`${secret}=%FF`, 'A parameter'],
      ['%3Cscript%3E=%FF', 'A parameter'],
    ]) {
      for (const answer of [await send(path, `${text}`, values), await send(path, '', `${values}&${text}`)]) {
        const { error, message } = fieldsOf(answer)
        expect([answer.status, error]).toEqual([400, poll ? 'invalid' : 'invalid_request'])
        expect(message).toBe(`${named} is not form-encoded UTF-8.`)
      }
    }
    const raw = await post(service.address, path, { raw: Buffer.from(`${values}&other=\xff`, 'latin1'), headers: FORM })
    expect(fieldsOf(raw).message).toBe('The parameter other is not form-encoded UTF-8.')
    const file = '--b\r\ncontent-disposition: form-data; name="other"; filename="x"\r\n\r\nhello\r\n--b--\r\n'
    const multipart = { 'content-type': 'multipart/form-data; boundary=b' }
    const sent = await post(service.address, path, { raw: file, headers: multipart })
    expect(fieldsOf(sent).message).toBe('The parameter other is a file; files are not accepted.')
    const broken = await post(service.address, path, { raw: 'nonsense', headers: multipart })
    expect(fieldsOf(broken).message).toBe('The multipart form cannot be read.')
  })

  it('the fifty-first parameter refuses the request, repetitions included', async () => {
    const values = valuesOf(form)
    const many = Array(51 - Object.keys(values).length)
      .fill('x=1')
      .join('&')
    const answer = await send(path, '', `${encoded(values)}&${many}`)
    expect(fieldsOf(answer).message).toBe('There are more than 50 parameters.')
    expect(answer.status).toBe(400)
  })
})

const strict = endpoints.flatMap(({ dialect, operation, path }) =>
  dialect === 'standard' && 'form' in operation ? [{ path, form: operation.form ?? {} }] : [],
)

describe.each(strict)('$path', ({ path, form }) => {
  it.each(['known', 'unknown', 'grant_type'])('refuses every name given twice, by its name: %s', async (kind) => {
    const [first = ''] = Object.keys(form)
    const name = kind === 'known' ? first : kind
    for (const other of ['x', 'y']) {
      const { grant_type: _, ...values } = valuesOf({ ...form, [name]: '' })
      const answer = await send(path, '', `${encoded({ ...values, [name]: 'x' })}&${pair(name, other)}`)
      expect([answer.status, answer.body]).toEqual([
        400,
        { error: 'invalid_request', error_description: `The parameter ${name} is given twice.` },
      ])
    }
  })
})

it('the address that a gateway asks refuses every name given twice', async () => {
  for (const query of ['scope=a&scope=a', 'scope=a&scope=b', 'x=1&x=1']) {
    const { credential } = await makeCredential()
    const headers = { authorization: `Bearer ${credential}` }
    const answer = await post(service.address, `/auth/verify?${query}`, { method: 'GET', headers })
    expect([query, answer.status, answer.body.error]).toEqual([query, 400, 'invalid_request'])
    expect(answer.body.message).toBe(`The parameter ${query.split('=')[0]} is given twice.`)
  }
})

it.each(['/auth/oauth/authorize', '/1/auth/oauth/authorize', '/oauth/authorize', '/activate'])(
  'the page %s refuses every name given twice',
  async (path) => {
    for (const query of ['client_id=a&client_id=a', 'x=1&x=1', 'grant_type=a&grant_type=b']) {
      expect((await post(service.address, `${path}?${query}`, { method: 'GET' })).status).toBe(400)
    }
  },
)

async function makeCredential(): Promise<{ readonly credential: string }> {
  const device = service.device('key')
  const code = await device.code({ scope: 'orders:read' })
  await service.grant(code.user_code)
  return { credential: (await device.poll(code.device_code)).body.access_key }
}
