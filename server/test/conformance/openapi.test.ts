/**
 * The description at /openapi.json is what the service does: every route is in it and nothing else, every refusal is, and real
 * answers are held against its schemas, where a field too many fails as well as one too few.
 */
import type { TObject } from 'typebox'
import { Value } from 'typebox/value'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RefusalCode, refusals } from '../../src/core/refusal.ts'
import { describeRoutes, objectSchema } from '../../src/http/openapi/document.ts'
import type {
  MediaType,
  OperationObject,
  Reference,
  ResponseObject,
  Schema,
} from '../../src/http/openapi/document-types.ts'
import type { Operation } from '../../src/http/openapi/operation.ts'
import { pathsOf } from '../../src/http/route.ts'
import { basePages, endpoints, type OperationId, routes } from '../../src/http/routes.ts'
import type { Properties } from '../../src/http/schema.ts'
import { post, type WireAnswer } from '../rig/device.ts'
import { readXml } from '../rig/dialects.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { describedRequests, type Requests, type Sent } from './openapi-requests.ts'

const PUBLIC_URL = 'https://service.example'
const document = describeRoutes(routes, PUBLIC_URL)

type Listed = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** Beginnings of the path: '', or '' and '/1'. */
  readonly versions: readonly string[]
  readonly operation: OperationObject
}

const listed: readonly Listed[] = Object.entries(document.paths).flatMap(([path, item]) =>
  (['get', 'post'] as const).flatMap((method) => {
    const operation = item[method]
    const versions = (item.servers ?? document.servers).map(({ url }) => url.replace(PUBLIC_URL, ''))
    return operation ? [{ method: method === 'get' ? 'GET' : 'POST', path, versions, operation } as const] : []
  }),
)
const inXml = ({ path }: Listed) => path.endsWith('.xml')
const idOf = ({ operation }: Listed) => operation.operationId.replace(/InXml$/, '') as OperationId

const operations = Object.fromEntries(
  routes.flatMap(({ operation }) => (operation ? [[operation.id, operation]] : [])),
) as Readonly<Record<OperationId, Operation>>

function resolve(response: ResponseObject | Reference): ResponseObject {
  if (!('$ref' in response)) return response
  return document.components.responses[response.$ref.split('/').at(-1) ?? ''] as ResponseObject
}

function schemaOf(schema: Schema): TObject {
  const named = document.components.schemas[String(schema.$ref).split('/').at(-1) ?? '']
  return (named ?? schema) as unknown as TObject
}

describe('the table', () => {
  it('every route for programs is described, under every address it has, and so are the dialog and /activate', () => {
    const described = listed.flatMap(({ method, path, versions }) => versions.map((each) => `${method} ${each}${path}`))
    const forApplications = basePages.filter(({ path }) => path.endsWith('/authorize') || path === '/activate')
    const served = [...endpoints, ...forApplications].flatMap((route) =>
      pathsOf(route).map((path) => `${route.method} ${path}`),
    )
    expect(described.toSorted()).toEqual(served.toSorted())
  })

  it('is described in its own order', () => {
    const paths = listed.filter((each) => !inXml(each)).map(({ method, path }) => `${method} ${path}`)
    const own = routes.filter(({ operation }) => operation).map(({ method, path }) => `${method} ${path}`)
    expect(paths).toEqual(own)
  })

  it('every operation that was written down is behind a route', () => {
    expect(new Set(listed.map(idOf))).toEqual(new Set(Object.keys(operations)))
  })

  it('the ways to authenticate are three, and each is used', () => {
    const used = new Set(listed.flatMap(({ operation }) => operation.security.flatMap((each) => Object.keys(each))))
    expect([...used].sort()).toEqual(Object.keys(document.components.securitySchemes).sort())
    expect(document.components.securitySchemes).toMatchObject({
      credential: { type: 'http', scheme: 'bearer' },
      applicationInForm: { name: 'SVCsecret' },
      applicationBasic: { type: 'http', scheme: 'basic' },
    })
  })
})

type Spoken = { readonly code: string; readonly status: string; readonly value: unknown; readonly summary: string }

const spoken: readonly Spoken[] = listed.flatMap(({ operation }) =>
  Object.entries(operation.responses).flatMap(([status, response]) =>
    Object.values(resolve(response).content ?? {}).flatMap(({ examples = {} }) =>
      Object.entries(examples).map(([code, { value, summary }]) => ({ code, status, value, summary })),
    ),
  ),
)

/** Only the management API gives these; its description is held against it in server/test/manage/. */
const OF_MANAGEMENT: readonly string[] = ['conflict', 'precondition_failed']
const ofInterface = Object.entries(refusals).filter(([code]) => !OF_MANAGEMENT.includes(code))

describe('refusals', () => {
  it('every code is given by some operation, and nothing that is none', () => {
    expect([...new Set(spoken.map(({ code }) => code))].sort()).toEqual(ofInterface.map(([code]) => code).sort())
  })

  it.each(ofInterface)('%s is called what the table calls it, with its status', (code, refusal) => {
    const given = spoken.filter((each) => each.code === code)
    for (const { status, value, summary } of given) {
      const standard = typeof value === 'object' && value !== null && 'error_description' in value
      const page = typeof value === 'string'
      const expected = refusal.status === 403 && (standard || page) ? 400 : refusal.status
      expect(status === 'default' ? summary : status).toMatch(new RegExp(`^(HTTP )?${expected}\\b`))
      if (!page) expect((value as { error: string }).error).toBe(standard ? refusal.standard : code)
    }
    // Whoever reads one dialect finds the other's word beside it.
    expect(JSON.stringify(document)).toContain(`\`${refusal.standard}\``)
  })

  it('is described with what to do about it', () => {
    const text = JSON.stringify(document)
    for (const [, { remedy }] of ofInterface) expect(text).toContain(JSON.stringify(remedy).slice(1, -1))
  })
})

let service: TestService
let requests: Readonly<Record<OperationId, Requests>>
beforeAll(async () => {
  service = await startTestService({}, { clock: true })
  requests = await describedRequests(service)
})
afterAll(() => service.stop())

const send = ({ method, path }: Listed, version: string, sent: Sent) =>
  post(service.address, version + path, { method, ...sent })

/** Status, content type, fields and headers, as described; the error is one of those that are listed for the status. */
function expectDescribed({ operation }: Listed, answer: WireAnswer): void {
  const response = operation.responses[answer.status]
  expect(Object.keys(operation.responses), `${answer.status} ${answer.text.slice(0, 200)}`).toContain(
    `${answer.status}`,
  )
  const { content, headers = {} } = resolve(response as ResponseObject)
  for (const [name, { required, schema }] of Object.entries(headers)) {
    const value = [answer.headers[name.toLowerCase()] ?? []].flat()[0]
    if (required) expect(value, name).toBeDefined()
    if (value !== undefined && schema.type !== 'integer') expect([...Value.Errors(schema as never, value)]).toEqual([])
  }
  const ours = Object.keys(answer.headers).filter((name) => name.startsWith('x-latchkey-'))
  expect(ours.filter((name) => !Object.keys(headers).some((each) => each.toLowerCase() === name))).toEqual([])
  if (content) expectContent(content, answer)
  else expect(answer.text).toBe('')
}

function expectContent(content: Readonly<Record<string, MediaType>>, answer: WireAnswer): void {
  const [type = '', media] = Object.entries(content)[0] ?? []
  expect(answer.headers['content-type']).toBe(`${type}; charset=utf-8`)
  const schema = schemaOf(media?.schema ?? {})
  if (type === 'text/html') expect(answer.text).toMatch(/^<!doctype html>/)
  else if (type === 'application/xml') expectFields(schema, readXml(answer.text))
  else expect([...Value.Errors({ ...schema, additionalProperties: false }, answer.body)]).toEqual([])
  if (type === 'application/json' && answer.status >= 400) {
    const errors = Object.values(media?.examples ?? {}).map(({ value }) => (value as { error: string }).error)
    expect(errors).toContain(answer.body.error)
  }
}

/** In XML everything is text, so only the names are compared. */
function expectFields(schema: TObject, fields: object): void {
  const { properties, required = [] } = schema as { properties: object; required?: string[] }
  expect(Object.keys(properties)).toEqual(expect.arrayContaining(Object.keys(fields)))
  expect(Object.keys(fields)).toEqual(expect.arrayContaining(required))
}

/** What is sent is what the description says can be sent. */
function expectSendable(id: OperationId, { form = {}, query = {} }: Sent): void {
  const named = operations[id]
  const pairs: [Properties | undefined, object][] = [
    [named.form, form],
    [named.query, query],
  ]
  for (const [properties = {}, given] of pairs) {
    const closed = { ...objectSchema(properties), additionalProperties: false }
    expect([...Value.Errors(closed as never, given)]).toEqual([])
  }
}

describe.each(listed.map((each) => ({ ...each, name: `${each.method} ${each.path}` })))('$name', (each) => {
  const id = idOf(each)

  it('what it takes succeeds, and is answered as described', async () => {
    for (const [about, make] of Object.entries(requests[id].succeed)) {
      for (const version of each.versions) {
        const sent = await make()
        expectSendable(id, sent)
        const answer = await send(each, version, sent)
        expect(answer.status, `${about}: ${answer.text.slice(0, 200)}`).toBeLessThan(400)
        expectDescribed(each, answer)
      }
    }
  })

  it('what it refuses is refused as described', async () => {
    for (const [error, make] of Object.entries(requests[id].refused)) {
      const answer = await send(each, each.versions.at(-1) ?? '', await make())
      expectDescribed(each, answer)
      expect(answer.status).toBeGreaterThanOrEqual(400)
      const told = inXml(each) ? readXml(answer.text).error : answer.body.error
      if (!error.startsWith('page')) expect(told).toBe(error)
    }
  })

  it('so are another method, a form that is none, and one that is too large', async () => {
    // Any method is answered where 405 is not described.
    if (!('405' in each.operation.responses)) return
    const wrongMethod = await post(service.address, each.path, { method: 'PUT' })
    expect([wrongMethod.status, wrongMethod.headers.allow]).toEqual([405, expect.stringContaining(each.method)])
    expectDescribed(each, wrongMethod)
    if (each.method === 'GET') return
    const headers = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' }
    expectDescribed(each, await post(service.address, each.path, { raw: '{}', headers }))
    const form = { name: 'x'.repeat(20_000) }
    const tooLarge = await post(service.address, each.path, { form, headers: { 'sec-fetch-site': 'same-origin' } })
    expect(tooLarge.status).toBe(413)
    expectDescribed(each, tooLarge)
  })

  it('without any one of what is required it is refused', async () => {
    const { form = {} } = operations[id]
    const [make] = Object.values(requests[id].succeed)
    for (const name of Object.keys(form).filter((each) => !form[each]?.optional)) {
      const sent = await make?.()
      const { [name]: _, ...rest } = sent?.form ?? {}
      const answer = await send(each, '', { ...sent, form: rest })
      expect(answer.status, name).toBeGreaterThanOrEqual(400)
      expectDescribed(each, answer)
    }
  })
})

it('an address that is none is refused in the words of its dialect', async () => {
  const missing = { native: '/auth/nothing', xml: '/auth/nothing.xml', standard: '/oauth/nothing' }
  const answers = await Promise.all(
    Object.values(missing).map((path) => post(service.address, path, { method: 'GET' })),
  )
  const [native, xml, standard] = answers.map(({ status, text }) => [status, text])
  const message = `${refusals.not_found.message} GET /reference lists all paths.`
  expect(native).toEqual([404, JSON.stringify({ error: 'not_found', message })])
  expect(readXml(String(xml?.[1]))).toEqual({ error: 'not_found' satisfies RefusalCode, message })
  expect(standard).toEqual([404, JSON.stringify({ error: 'invalid_request', error_description: message })])
})

it('/openapi.json is this document at the address of the service, and any page may read it', async () => {
  const answer = await post(service.address, '/openapi.json', { method: 'GET' })
  expect(answer.body).toEqual(JSON.parse(JSON.stringify(describeRoutes(routes, service.config.publicUrl))))
  expect(answer.headers['access-control-allow-origin']).toBe('*')
})

it('every command to copy begins with the address of the service and names only what can be sent', () => {
  for (const { path, operation } of listed.filter((each) => !inXml(each))) {
    for (const { source } of operation['x-codeSamples'] ?? []) {
      expect(source.split('\n')[0]).toMatch(new RegExp(`^curl (-[iG] )*${PUBLIC_URL}${path}( \\\\)?$`))
      const names = Array.from(source.matchAll(/(?:-d|--data-urlencode) '?(\w+)=/g), ([, name]) => name)
      const { form, query } = operations[operation.operationId as OperationId]
      expect(Object.keys({ ...form, ...query })).toEqual(expect.arrayContaining(names))
    }
  }
})
