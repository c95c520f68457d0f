/** The roles of an account: named sets of scopes, and the administrators' role with all scopes. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readTitles, removeRole, saveRole } from '../../../src/flows/accounts/roles.ts'
import { listRoles, readRole } from '../../../src/store/accounts/roles.ts'
import { readUser } from '../../../src/store/accounts/users.ts'
import { readScopeCatalogue } from '../../../src/store/applications/scopes.ts'
import { type MadeUser, makeAccount, makeScopes, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

let service: TestService
let account: { id: string; slug: string }
let ann: MadeUser
beforeAll(async () => {
  service = await startTestService({}, { listen: false })
  await makeScopes(service.context.db, ['orders:read', 'orders:write', 'stock:read'])
})
afterAll(() => service.stop())
beforeEach(async () => {
  account = await makeAccount(service.context.db)
  ann = await makeUser(service.context.db, account.slug)
})

const save = (name: string, scopes: readonly string[], id: string | null = null, by: { id: string } = ann) =>
  saveRole(service.context, by.id, { id, name, scopes })
const saved = async (...given: Parameters<typeof save>) => {
  const result = await save(...given)
  if (result.outcome !== 'saved') throw new Error(result.outcome)
  const role = (await listRoles(service.context.db, account.id)).find((each) => each.name === given[0].trim())
  return role?.id ?? ''
}
const everything = async () => (await listRoles(service.context.db, account.id)).find((role) => role.holdsEveryScope)
const held = async (user: MadeUser) => (await readUser(service.context.db, user.id))?.heldScopes
const roleOf = async (user: MadeUser) => {
  const [row] = await service.database.query<{ id: string }>(
    'select role_id as id from user_roles where user_id = $1',
    [user.id],
  )
  return row?.id ?? ''
}
const events = (kind: string) =>
  service.database.query<{ by: string; detail: object }>(
    'select actor_id as by, detail from audit_events where account_id = $1 and kind = $2 order by id',
    [account.id, kind],
  )

describe('saving', () => {
  it('adds a role, which is listed with its name, scopes and number of users', async () => {
    const roleId = await saved(' Clerk ', ['orders:write', 'orders:read', 'orders:read'])
    expect(await readRole(service.context.db, account.id, roleId)).toEqual({
      id: roleId,
      name: 'Clerk',
      holdsEveryScope: false,
      scopes: ['orders:read', 'orders:write'],
      people: 0,
    })
    const listed = await listRoles(service.context.db, account.id)
    expect(listed.map(({ name, people }) => [name, people]).sort()).toEqual([
      ['Clerk', 0],
      ['administrator', 1],
    ])
    expect(await events('role.created')).toEqual([
      { by: ann.id, detail: { role: roleId, scopes: ['orders:read', 'orders:write'] } },
    ])
  })

  it('changes a role and at once the scopes of its users; the change is recorded', async () => {
    const clerk = await makeUser(service.context.db, account.slug, { holds: ['orders:read', 'orders:write'] })
    const id = await roleOf(clerk)
    expect(await save('till', ['stock:read', 'orders:read'], id)).toEqual({ outcome: 'saved', id })
    expect(await held(clerk)).toEqual(['orders:read', 'stock:read'])
    expect(await readRole(service.context.db, account.id, id)).toMatchObject({ name: 'till', people: 1 })
    await save('till', ['orders:read', 'stock:read'], id)
    expect(await events('role.changed')).toEqual([
      { by: ann.id, detail: { role: id, added: ['stock:read'], removed: ['orders:write'], renamed: true } },
    ])
  })

  it('a role may be emptied', async () => {
    const clerk = await makeUser(service.context.db, account.slug, { holds: ['orders:read'] })
    await save('nothing', [], await roleOf(clerk))
    expect(await held(clerk)).toEqual([])
  })

  it.each([
    ['name', '  ', []],
    ['name', 'A'.repeat(101), []],
    ['name', 'clerk\u202e', []],
    ['exists', 'administrator', []],
    ['scope', 'clerk', ['orders:read', 'no:such']],
  ] as const)('answers %s to the name %j with %j, new or not, and changes nothing', async (outcome, name, scopes) => {
    const known = await saved('known', ['stock:read'])
    const before = await listRoles(service.context.db, account.id)
    expect(await save(name, scopes)).toEqual({ outcome })
    expect(await save(name, scopes, known)).toEqual({ outcome })
    expect(await listRoles(service.context.db, account.id)).toEqual(before)
  })

  it('a name is unique within its account only', async () => {
    const other = await makeAccount(service.context.db)
    await saved('clerk', [], null, await makeUser(service.context.db, other.slug))
    expect(await save('clerk', [])).toMatchObject({ outcome: 'saved' })
  })

  it('of five who save the same name at once, one succeeds', async () => {
    const known = await Promise.all([1, 2].map((number) => saved(`role ${number}`, [])))
    const results = await Promise.all([...known, null, null, null].map((id) => save('wanted', [], id)))
    expect(results.map(({ outcome }) => outcome).sort()).toEqual(['exists', 'exists', 'exists', 'exists', 'saved'])
  })
})

describe('the role that holds every scope', () => {
  it('can be renamed and keeps every scope, also later ones', async () => {
    const role = await everything()
    expect(await save('boss', ['stock:read'], role?.id)).toMatchObject({ outcome: 'saved' })
    await makeScopes(service.context.db, [`later:${account.id.slice(4)}`])
    expect(await everything()).toEqual({ ...role, name: 'boss' })
    expect(await held(ann)).toEqual(expect.arrayContaining(['orders:read', `later:${account.id.slice(4)}`]))
    expect((await readUser(service.context.db, ann.id))?.administrator).toBe(true)
  })

  it('cannot be removed', async () => {
    const role = await everything()
    expect(await removeRole(service.context, ann.id, role?.id ?? '')).toEqual({ outcome: 'holds_every_scope' })
    expect(await everything()).toEqual(role)
  })

  it('cannot be created: a new role holds the scopes that it lists', async () => {
    await save('all', ['orders:read', 'orders:write', 'stock:read'])
    const roles = await listRoles(service.context.db, account.id)
    expect(roles.filter((role) => role.holdsEveryScope).map((role) => role.name)).toEqual(['administrator'])
  })
})

describe('removing', () => {
  it('takes the scopes of this role from its users, and is recorded', async () => {
    const clerk = await makeUser(service.context.db, account.slug, { holds: ['orders:read', 'stock:read'] })
    const id = await roleOf(clerk)
    const other = await saved('other', ['stock:read'])
    await service.database.query('insert into user_roles values ($1, $2)', [clerk.id, other])
    expect(await removeRole(service.context, ann.id, id)).toEqual({ outcome: 'removed' })
    expect(await held(clerk)).toEqual(['stock:read'])
    expect(await readRole(service.context.db, account.id, id)).toBeNull()
    expect(await removeRole(service.context, ann.id, id)).toEqual({ outcome: 'not_found' })
    expect(await events('role.removed')).toEqual([
      { by: ann.id, detail: { role: id, name: expect.stringMatching(/^role/), people: 1 } },
    ])
  })
})

it('a role can hold every scope of the catalogue', async () => {
  const catalogue = await readScopeCatalogue(service.context.db)
  expect(catalogue).toContainEqual({ name: 'stock:read', title: 'May stock:read', dangerous: false, deviceFlow: true })
  const titles = await readTitles(service.context)
  expect([...titles]).toEqual(catalogue.map(({ name, title }) => [name, title]))
})

it('only administrators save or remove roles', async () => {
  const clerk = await makeUser(service.context.db, account.slug, { holds: ['orders:read'] })
  const id = await roleOf(clerk)
  const before = await listRoles(service.context.db, account.id)
  expect(await save('mine', ['orders:write'], id, clerk)).toEqual({ outcome: 'forbidden' })
  expect(await save('new', ['orders:write'], null, clerk)).toEqual({ outcome: 'forbidden' })
  expect(await removeRole(service.context, clerk.id, id)).toEqual({ outcome: 'forbidden' })
  expect(await listRoles(service.context.db, account.id)).toEqual(before)
})
