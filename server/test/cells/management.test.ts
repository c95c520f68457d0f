/** The management API across cells: which request is answered where. docs/scale.md, "Cells". */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createCellLink } from '../../src/cell-link.ts'
import { reserveBucket } from '../../src/flows/cells/commission.ts'
import { findAccount } from '../../src/store/accounts/accounts.ts'
import { PUBLISHER, startTestCells, type TestCells } from '../rig/cells.ts'
import { makeManagementKey, manageClient } from '../rig/manage.ts'
import { A, B, cellOf, HOME } from './cells-scene.ts'

let all: TestCells
beforeAll(async () => {
  all = await startTestCells()
}, 300_000)
afterAll(() => all?.stop())

const keyIn = async (cell: number, account?: string) => {
  const { context } = cellOf(all, cell).service
  return (await makeManagementKey({ context, config: context.config }, account === undefined ? {} : { account })).key
}
const clientAt = (cell: number, key: string) => manageClient(cellOf(all, cell).service.address, key)

test('a key of an account works in every cell for the account by its slug: the request is forwarded', async () => {
  const { slug } = await all.makeMember(A)
  const key = await keyIn(A, slug)
  for (const cell of [HOME, A, B]) {
    const call = clientAt(cell, key)
    expect((await call('GET', `/accounts/${slug}/users`)).body.items).toHaveLength(1)
    const name = `role ${cell}`
    expect((await call('POST', `/accounts/${slug}/roles`, { name, scopes: [] })).status).toBe(201)
  }
  expect((await clientAt(B, key)('GET', `/accounts/${slug}/roles`)).body.items).toHaveLength(4)
})

test('by its id, and with SCIM, which name no slug, the account is known in its own cell only', async () => {
  const { slug } = await all.makeMember(A)
  const key = await keyIn(A, slug)
  const account = await findAccount(cellOf(all, A).service.context.db, slug)
  for (const path of [`/accounts/${account?.id}/users`, '/scim/2/Users']) {
    expect((await clientAt(A, key)('GET', path)).status).toBe(200)
    expect((await clientAt(B, key)('GET', path)).status).toBe(401)
  }
})

test('a key of the whole service reaches the accounts of the cell in which it was made', async () => {
  const [inA, inB] = [await all.makeMember(A), await all.makeMember(B)]
  const call = clientAt(A, await keyIn(A))
  expect((await call('GET', `/accounts/${inA.slug}`)).status).toBe(200)
  expect((await call('GET', `/accounts/${inB.slug}`)).status).toBe(401)
  const slugs = (await call('GET', '/accounts?limit=100')).body.items.map(({ slug }: { slug: string }) => slug)
  expect(slugs).toContain(inA.slug)
  expect(slugs).not.toContain(inB.slug)
})

test('no bucket is reserved for an account that another cell has, also a closed one, or may have', async () => {
  const { db, config, cells } = cellOf(all, HOME).service.context
  const link = createCellLink(config.keys, () => null)
  const reserve = (slug: string) => reserveBucket(db, link, slug, B)
  const [known, closed] = [await all.makeMember(A), await all.makeMember(A)]
  await cellOf(all, A).pool.query('update accounts set closed_at = now() where slug = $1', [closed.slug])
  for (const { slug } of [known, closed])
    expect(await reserve(slug)).toMatchObject({
      exists: true,
      reason: expect.stringContaining('in cell 1, cell-1'),
    })
  let unused = 'unused'
  while (cells?.cellOfAccount(unused)?.id !== A) unused += 'd'
  cellOf(all, A).proxy.cut()
  expect(await reserve(unused)).toMatchObject({
    outcome: 'refused',
    reason: expect.stringContaining('does not answer'),
  })
  cellOf(all, A).proxy.heal()
  expect(await reserve(unused)).toMatchObject({ outcome: 'done' })
  expect(await reserve(unused)).toMatchObject({ exists: true })
  link.close()
})

test('applications and scopes are changed with a key of the home cell, and refused with the reason elsewhere', async () => {
  const atHome = clientAt(HOME, await keyIn(HOME))
  const name = `reports-${Date.now()}:read`
  expect((await atHome('POST', '/scopes', { name, title: 'Reports' })).status).toBe(201)
  const wish = { name, allowed_scopes: [name], default_scopes: [name] }
  expect((await atHome('POST', `/accounts/${PUBLISHER}/applications`, wish)).status).toBe(201)
  const { slug } = await all.makeMember(A)
  const inA = clientAt(A, await keyIn(A))
  const refused = await inA('POST', `/accounts/${slug}/applications`, wish)
  expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  expect(refused.body.message).toContain('in the home cell: cell 0')
})
