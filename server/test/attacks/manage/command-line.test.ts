/** MK-09: what a request may say to pass for the command line, whose calls of the same endpoints have no key. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callManagement } from '../../../src/app.ts'
import { BY_COMMAND_LINE } from '../../../src/core/audit/actor.ts'
import { COMMAND_LINE_CALLER } from '../../../src/flows/accounts/administrator.ts'
import { describedManagement } from '../../../src/http/manage/routes.ts'
import { makeAccount, makeUser } from '../../rig/make.ts'
import { makeManagementKey } from '../../rig/manage.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { everyRow } from '../../rig/witness.ts'

let service: TestService
let operator: { id: string }
let key: { id: string; key: string }
beforeAll(async () => {
  service = await startTestService({ OPERATOR_ACCOUNT: 'operators', LOG_LEVEL: 'silent', TRUST_PROXY: '127.0.0.1' })
  await makeAccount(service.context.db, { slug: 'operators' })
  operator = await makeUser(service.context.db, 'operators')
  key = await makeManagementKey(service)
})
afterAll(() => service.stop())

/** The words by which the code knows the command line. */
const CLAIMS: Readonly<Record<string, string>> = {
  caller: JSON.stringify(COMMAND_LINE_CALLER),
  actor: JSON.stringify(BY_COMMAND_LINE),
  by: 'cli',
  via: 'cli',
  in_process: 'true',
  command_line: 'true',
  account_id: '',
  has_operators: 'false',
}

const HEADERS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(CLAIMS).map(([name, value]) => [name.replace('_', '-'), value])),
  ...Object.fromEntries(Object.entries(CLAIMS).map(([name, value]) => [`x-latchkey-${name.replace('_', '-')}`, value])),
  'x-forwarded-for': '127.0.0.1',
  'x-real-ip': '127.0.0.1',
  forwarded: 'for=127.0.0.1;by=cli',
  'user-agent': 'latchkey/cli',
  via: 'cli',
  from: 'cli',
  cookie: 'caller=cli; actor=cli',
}

/** No key, and texts that a key might be looked up by. */
const BEARERS = [
  '',
  'Bearer',
  'Bearer cli',
  'Bearer null',
  `Bearer ${JSON.stringify(COMMAND_LINE_CALLER)}`,
  'Basic Y2xpOg==',
]

const ids = () => ({ user: operator.id, account: 'operators' })

/** Every endpoint of the management API, about the operators' account where the path names one. */
const requests = () =>
  describedManagement
    .filter(({ dialect }) => dialect === 'manage')
    .map(({ method, path }) => ({
      method,
      path: path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids()[name as 'user'] ?? 'x'),
      ofAccount: path.includes('{account}'),
    }))

async function statusOf(method: string, path: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const hasBody = method === 'POST' || method === 'PATCH'
  const given = { ...CLAIMS, slug: 'operators', email: 'mallory@evil.example', name: 'Mallory', disabled: false }
  const answer = await fetch(`${service.address}${path}?${new URLSearchParams(CLAIMS)}`, {
    method,
    headers: { ...HEADERS, ...headers, ...(hasBody ? { 'content-type': 'application/json' } : {}) },
    ...(hasBody ? { body: JSON.stringify(given) } : {}),
  })
  return answer.status
}

describe('a request that says it is the command line', () => {
  it.each(BEARERS)('MK-09: has no access to any endpoint: %j', async (authorization) => {
    const before = await everyRow(service)
    for (const { method, path } of requests()) {
      const status = await statusOf(method, path, authorization === '' ? {} : { authorization })
      expect([method, path, status]).toEqual([method, path, 401])
    }
    expect(await everyRow(service)).toEqual(before)
  })

  it('MK-09: with a key of every scope, does not reach the operators’ account', async () => {
    const authorization = { authorization: `Bearer ${key.key}` }
    await statusOf('GET', '/manage/1/scopes', authorization)
    const before = await everyRow(service)
    const ofAccount = requests().filter((each) => each.ofAccount)
    expect(ofAccount.length).toBeGreaterThan(20)
    for (const { method, path } of ofAccount) {
      const status = await statusOf(method, path, { ...authorization, 'x-http-method-override': 'GET' })
      expect([method, path, status]).toEqual([method, path, 404])
    }
    expect(await statusOf('POST', '/manage/1/accounts', authorization)).toBe(400)
    expect(await everyRow(service)).toEqual(before)
  })

  it('MK-09: is recorded as of its key', async () => {
    const { slug } = await makeAccount(service.context.db)
    const path = `/manage/1/accounts/${slug}?${new URLSearchParams(CLAIMS)}`
    const answer = await fetch(`${service.address}${path}`, {
      method: 'PATCH',
      headers: { ...HEADERS, authorization: `Bearer ${key.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'Renamed' }),
    })
    expect(answer.status).toBe(200)
    const events = await service.database.query(
      "select actor_kind, actor_id, via from audit_events where kind = 'account.changed'",
    )
    expect(events).toEqual([{ actor_kind: 'management_key', actor_id: key.id, via: 'api' }])
  })
})

it('MK-09: the same calls in process, which no request makes, do reach the operators’ account', async () => {
  const { items } = await callManagement(service.context, 'GET', '/accounts/operators/users')
  expect(items).toEqual([expect.objectContaining({ id: operator.id })])
})
