/**
 * AP-19, AP-25, AP-26 at the management API and SCIM: paths, queries, headers and JSON bodies of which some pieces are right and others
 * break parsers and statements. None is answered by an internal error, and nothing changes in an account that the requests do not name.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { manageEndpoints } from '../../../src/http/manage/routes.ts'
import type { Endpoint } from '../../../src/http/route.ts'
import type { Property } from '../../../src/http/schema.ts'
import { connect } from '../../rig/connect.ts'
import { makeAccount, makeUser } from '../../rig/make.ts'
import { makeManagementKey, manageClient } from '../../rig/manage.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { figure, sized } from '../../rig/size.ts'
import { anyOf, type Dice, HEADERS, sendFuzzed, VALUES } from '../web/fuzzing.ts'

const PER_ENDPOINT = sized(10_000, 40)
const TOTAL = PER_ENDPOINT * manageEndpoints.length

let service: TestService
let server: ServerProcess
let keys: { service: string; account: string }
let segments: Readonly<Record<string, string>>
let untouched: readonly string[]
beforeAll(async () => {
  service = await startTestService({ OPERATOR_ACCOUNT: 'operators', LOG_LEVEL: 'silent' })
  server = await startServerProcess({
    ...{ DATABASE_URL: service.database.url, PUBLIC_URL: service.config.publicUrl, OPERATOR_ACCOUNT: 'operators' },
    OVERLOAD_DELAY: '0',
  })
  const { db } = service.context
  const accounts = [await makeAccount(db), await makeAccount(db, { slug: 'operators' })]
  for (const { slug } of accounts) await makeUser(db, slug)
  // As the server's own job does.
  await service.database.query("update accounts set has_operators = true where slug = 'operators'")
  untouched = accounts.map(({ id }) => id)
  const { slug } = service.account
  keys = {
    service: (await makeManagementKey(service)).key,
    account: (await makeManagementKey(service, { account: slug })).key,
  }
  await connect(service)
  const call = manageClient(service.address, keys.service)
  const post = async (path: string, body: object) => (await call('POST', `/accounts/${slug}${path}`, body)).body.id
  const application = service.device().credentials.SVCappid
  const grants = await call('GET', `/accounts/${slug}/grants`)
  segments = {
    account: slug,
    user: (await makeUser(db, slug)).id,
    role: await post('/roles', { name: 'Clerk', scopes: ['orders:read'] }),
    scope: 'orders:read',
    application,
    secret: await post(`/applications/${application}/secrets`, {}),
    webhook: await post(`/applications/${application}/webhooks`, { url: 'https://example.com/' }),
    grant: grants.body.items[0].id,
  }
})
afterAll(async () => {
  await server?.kill('SIGTERM')
  await service?.stop()
})

/** A value as the schema wants it, or, once in five, of what breaks parsers. */
function writeValue(property: Property, dice: Dice): unknown {
  if (dice(5) === 0) return writeBrokenValue(dice)
  const { type, examples, enum: listed, items, properties } = property
  if (listed) return anyOf(dice, listed)
  if (examples) return anyOf(dice, examples)
  if (type === 'array') return Array.from({ length: dice(3) }, () => writeValue(items ?? { type: 'string' }, dice))
  if (type === 'object') return writeMembers(properties ?? {}, dice)
  if (type === 'integer') return dice(100)
  if (type === 'boolean') return dice(2) === 0
  return dice(2) === 0 ? `a${dice(2 ** 31).toString(36)}` : anyOf(dice, VALUES)
}

function writeMembers(properties: Readonly<Record<string, Property>>, dice: Dice): object {
  const members = Object.entries(properties).filter(() => dice(5) > 0)
  const written = members.map(([name, property]) => [name, writeValue(property, dice)])
  if (dice(10) === 0)
    written.push([anyOf(dice, ['__proto__', 'constructor', 'id', '', '$ref']), writeBrokenValue(dice)])
  return Object.fromEntries(written)
}

const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
const BROKEN_BODIES = ['', '{', '[]', 'null', '"x"', '{"a":1,"a":2}', '\u00ff', nested(100_000)]

function writeBrokenValue(dice: Dice): unknown {
  const text = decodeBroken(anyOf(dice, VALUES))
  return anyOf(dice, [
    text,
    [text],
    { value: text },
    null,
    -1,
    1e308,
    2 ** 53,
    true,
    '\u0000',
    '\ud800',
    '',
    [],
    {},
    JSON.parse(nested(500)),
  ])
}

/** JSON carries what a path or query has to encode, a NUL or half a character included. */
function decodeBroken(value: string): string {
  return value.replaceAll(/%([0-9a-f]{2})/gi, (_all, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
}

function writeBody({ operation }: Endpoint, dice: Dice): string {
  if (dice(20) === 0) return anyOf(dice, BROKEN_BODIES)
  return JSON.stringify(writeMembers({ ...operation.json }, dice))
}

function writeRequest(endpoint: Endpoint, dice: Dice): Buffer {
  const any = <T>(values: readonly T[]): T => anyOf(dice, values)
  const { method, path, operation } = endpoint
  const target = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => {
    return dice(8) === 0 ? any(VALUES).replaceAll(/[ /?#]/g, '%20') : (segments[name] as string)
  })
  const query = Object.entries({ ...operation.query })
    .filter(() => dice(3) === 0)
    .map(([name, property]) => `${name}=${encodeURIComponent(String(writeValue(property, dice)).toWellFormed())}`)
  // Otherwise the first requests would delete what the later ones name.
  if (method === 'DELETE') query.push('dry_run=true')
  if (dice(6) === 0) query.push(`${any(['cursor', 'limit', 'filter', 'x'])}=${any(VALUES).replaceAll(' ', '%20')}`)
  const body = method === 'GET' || method === 'DELETE' ? '' : writeBody(endpoint, dice)
  const key = dice(10) === 0 || endpoint.dialect === 'scim' ? keys.account : keys.service
  const lines = [
    `${method} ${target}${query.length === 0 ? '' : `?${query.join('&')}`} HTTP/1.1`,
    `Host: ${new URL(service.config.publicUrl).host}`,
    ...(dice(20) === 0 ? [] : [`Authorization: Bearer ${key}`]),
    ...(dice(6) === 0 ? [`${any(['If-Match', 'Idempotency-Key'])}: ${any(VALUES)}`] : []),
    ...(dice(4) === 0 ? [any(HEADERS)] : []),
    ...(body === ''
      ? []
      : [`Content-Type: ${dice(10) === 0 ? any(['text/plain', '', 'application/scim+json']) : 'application/json'}`]),
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(body)])
}

it(`AP-19, AP-25, AP-26: ${figure(PER_ENDPOINT)} requests made of what breaks parsers to each endpoint of the management API end in no internal error and change no account that they do not name`, {
  timeout: sized(8 * 3_600_000, 120_000),
}, async () => {
  const before = await readUntouched()
  const endpointOf = (at: number) => manageEndpoints[at % manageEndpoints.length] as Endpoint
  const { failed, statuses } = await sendFuzzed(server.address, TOTAL, (at, dice) => writeRequest(endpointOf(at), dice))
  expect(failed.slice(0, 3)).toEqual([])
  expect([...statuses.keys()]).toEqual(expect.arrayContaining([200, 201, 400, 401, 403, 404, 409, 412, 415]))
  expect(statuses.get(0) ?? 0).toBe(0)
  expect(server.log()).not.toContain('"event":"unexpected"')
  expect(await readUntouched()).toEqual(before)
  expect((await fetch(`${server.address}/health/ready`)).status).toBe(200)
})

/** Every account, user and role of the accounts that no request names. */
function readUntouched(): Promise<unknown[]> {
  return service.database.query(
    `select (select json_agg(a order by a.id) from accounts a where a.id = any($1)) as accounts,
            (select json_agg(u order by u.id) from users u where u.account_id = any($1)) as users,
            (select json_agg(r order by r.id) from roles r where r.account_id = any($1)) as roles`,
    [untouched],
  )
}
