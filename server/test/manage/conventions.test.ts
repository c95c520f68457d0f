/** docs/management.md: what all endpoints of the management API have in common. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describedManagement } from '../../src/http/manage/routes.ts'
import { describeManagement } from '../../src/http/openapi/management-document.ts'
import { everyEndpoint } from '../../src/http/routes.ts'
import { makeScopes } from '../rig/make.ts'
import { type ManageClient, makeManagedAccount, makeManagementKey, manageClient } from '../rig/manage.ts'
import { startTestService, type TestService } from '../rig/service.ts'

let service: TestService
let call: ManageClient
beforeAll(async () => {
  service = await startTestService()
  await makeScopes(service.context.db, ['orders:read', 'orders:write'])
  call = manageClient(service.address, (await makeManagementKey(service)).key)
})
afterAll(() => service.stop())

let count = 0
const fresh = (name: string) => {
  count += 1
  return `${name}-${count}`
}

describe('all of them', () => {
  it('pages end where the next begins, and new items move nothing', async () => {
    const { id } = await makeManagedAccount(call)
    const users = `/accounts/${id}/users`
    const add = (number: number) => call('POST', users, { email: `u${number}@acme.example` })
    for (let number = 1; number <= 5; number += 1) await add(number)
    const first = (await call('GET', `${users}?limit=2`)).body
    await add(6)
    const second = (await call('GET', `${users}?limit=2&cursor=${first.next}`)).body
    const third = (await call('GET', `${users}?limit=2&cursor=${second.next}`)).body
    const emails = [first, second, third].flatMap(({ items }) => items.map((each: { email: string }) => each.email))
    expect(emails).toEqual([1, 2, 3, 4, 5, 6].map((number) => `u${number}@acme.example`))
    expect(third.next).toBeNull()
    expect((await call('GET', `${users}?cursor=nonsense`)).status).toBe(400)
    expect((await call('GET', `${users}?limit=1000`)).status).toBe(400)
  })

  it('a repeated POST with the same Idempotency-Key gets the same answer, secrets included, and creates nothing', async () => {
    const { id } = await makeManagedAccount(call)
    const wish = { name: fresh('Printer'), allowed_scopes: [] }
    const key = { 'idempotency-key': fresh('request') }
    const repeat = () => call('POST', `/accounts/${id}/applications`, wish, key)
    const answers = [await repeat(), ...(await Promise.all([repeat(), repeat()]))]
    expect(answers.map(({ status, body }) => [status, body])).toEqual(answers.map(() => [201, answers[0]?.body]))
    expect((await call('GET', `/accounts/${id}/applications`)).body.items).toHaveLength(1)
    const other = await call('POST', `/accounts/${id}/applications`, { ...wish, name: fresh('Board') }, key)
    expect(other.body).toMatchObject({ error: 'conflict' })
  })

  it('the same Idempotency-Key at the same moment creates one', async () => {
    const slug = fresh('twin')
    const key = { 'idempotency-key': fresh('request') }
    const answers = await Promise.all([1, 2, 3, 4].map(() => call('POST', '/accounts', { slug, name: 'Twin' }, key)))
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201])
  })

  it('a response that is kept for a repetition cannot be read in the database', async () => {
    const { id } = await makeManagedAccount(call)
    const key = { 'idempotency-key': fresh('request') }
    const { body } = await call(
      'POST',
      `/accounts/${id}/applications`,
      { name: fresh('Till'), allowed_scopes: [] },
      key,
    )
    const { rows } = await service.context.db.query<{ response: Buffer }>(
      'select response from management_requests order by created_at desc limit 1',
    )
    expect(rows[0]?.response.includes(body.secret)).toBe(false)
    expect(rows[0]?.response.includes(body.id)).toBe(false)
  })

  it('a refused request is not kept: the next one may succeed', async () => {
    const key = { 'idempotency-key': fresh('request') }
    const slug = fresh('late')
    expect((await call('POST', '/accounts', { slug, name: '' }, key)).status).toBe(400)
    expect((await call('POST', '/accounts', { slug, name: 'Late' }, key)).status).toBe(201)
  })

  it('a change with the ETag of an older version is refused, with the current one it is made', async () => {
    const { id } = await makeManagedAccount(call)
    const first = (await call('GET', `/accounts/${id}`)).headers.get('etag') ?? ''
    const changed = await call('PATCH', `/accounts/${id}`, { name: 'One' }, { 'if-match': first })
    expect(changed.status).toBe(200)
    const stale = await call('PATCH', `/accounts/${id}`, { name: 'Two' }, { 'if-match': first })
    expect([stale.status, stale.body.error]).toEqual([412, 'precondition_failed'])
    const current = { 'if-match': changed.headers.get('etag') ?? '' }
    expect((await call('PATCH', `/accounts/${id}`, { name: 'Two' }, current)).status).toBe(200)
  })

  it('of many changes with one ETag, one is made', async () => {
    const { id } = await makeManagedAccount(call)
    const etag = (await call('GET', `/accounts/${id}`)).headers.get('etag') ?? ''
    const names = ['A', 'B', 'C', 'D']
    const answers = await Promise.all(
      names.map((name) => call('PATCH', `/accounts/${id}`, { name }, { 'if-match': etag })),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 412, 412, 412])
  })

  it('a dry run answers as usual, without secrets, and changes nothing', async () => {
    const { id } = await makeManagedAccount(call)
    const applications = `/accounts/${id}/applications`
    const answer = await call('POST', `${applications}?dry_run=true`, { name: fresh('Ghost'), allowed_scopes: [] })
    expect([answer.status, answer.body.dry_run]).toEqual([201, true])
    expect(answer.body).not.toHaveProperty('secret')
    expect((await call('GET', applications)).body.items).toEqual([])
    const refused = await call('POST', `${applications}?dry_run=true`, { name: '', allowed_scopes: [] })
    expect(refused.status).toBe(400)
  })

  it('unknown members, wrong types and bodies that are no JSON are refused', async () => {
    expect((await call('POST', '/accounts', { slug: 'x', name: 'X', nmae: 'X' })).body.message).toContain('nmae')
    expect((await call('POST', '/accounts', { slug: 'x', name: 7 })).body.message).toContain('name')
    expect((await call('POST', '/accounts', [])).status).toBe(400)
    const form = await call('POST', '/accounts', {}, { 'content-type': 'application/x-www-form-urlencoded' })
    expect(form.status).toBe(415)
    expect((await call('GET', '/nothing')).status).toBe(404)
    expect((await call('DELETE', '/accounts')).status).toBe(405)
  })
})

describe('the description', () => {
  it('is served to anybody, has every route, and an id of its own for each', async () => {
    const response = await fetch(`${service.address}/manage/1/openapi.json`)
    const document = await response.json()
    expect(document).toEqual(
      JSON.parse(JSON.stringify(describeManagement(describedManagement, service.config.publicUrl))),
    )
    const paths = document.paths as Record<string, Record<string, { operationId: string }>>
    const listed = Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    )
    const served = everyEndpoint.filter(({ dialect }) => dialect === 'manage' || dialect === 'scim')
    expect(listed.toSorted()).toEqual(served.map(({ method, path }) => `${method} ${path}`).toSorted())
    const ids = Object.values(paths).flatMap((item) => Object.values(item).map(({ operationId }) => operationId))
    expect(new Set(ids).size).toBe(ids.length)
  })
})
