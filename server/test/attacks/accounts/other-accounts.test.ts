/** TN-04: an id of another account is treated as unknown. Every id is swapped, in every flow that takes one. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { saveBranding } from '../../../src/flows/accounts/branding.ts'
import {
  disablePerson,
  enablePerson,
  invitePerson,
  listPeople,
  readPerson,
  sendPersonLink,
  setPersonRoles,
} from '../../../src/flows/accounts/people.ts'
import { savePolicy } from '../../../src/flows/accounts/policy.ts'
import { removeRole, saveRole } from '../../../src/flows/accounts/roles.ts'
import {
  listAccountGrants,
  listOwnGrants,
  readGrant,
  removeGrant,
} from '../../../src/flows/grants/connected-applications.ts'
import { listRoles, readRole } from '../../../src/store/accounts/roles.ts'
import { connect } from '../../rig/connect.ts'
import { type MadeUser, makeAccount, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

const after = (grantId: string) => ({ search: '', sort: 'connected', descending: true, after: grantId }) as const

type Side = {
  readonly account: { id: string; slug: string }
  readonly administrator: MadeUser
  readonly clerk: MadeUser
  readonly roleId: string
  readonly grantId: string
}

let service: TestService
let ours: Side
let theirs: Side
beforeAll(async () => {
  service = await startTestService()
  ours = await makeSide()
  theirs = await makeSide()
})
afterAll(() => service.stop())

async function makeSide(): Promise<Side> {
  const { db } = service.context
  const account = await makeAccount(db)
  const administrator = await makeUser(db, account.slug)
  const clerk = await makeUser(db, account.slug, { holds: ['orders:read', 'orders:write'] })
  const role = (await listRoles(service.context.db, account.id)).find((each) => !each.holdsEveryScope)
  const { grantId } = await connect(service, { user: clerk })
  return { account, administrator, clerk, roleId: role?.id ?? '', grantId }
}

/** Every row that belongs to an account, in one text. */
async function rowsOf(side: Side): Promise<string> {
  const belonging = [
    'select to_jsonb(a) as row from accounts a where id = $1',
    'select to_jsonb(u) from users u where account_id = $1',
    'select to_jsonb(r) from roles r where account_id = $1',
    'select to_jsonb(g) from grants g where account_id = $1',
    'select to_jsonb(e) from audit_events e where account_id = $1',
    'select to_jsonb(l) from links l where account_id = $1',
    'select to_jsonb(m) from mails m where account_id = $1',
    'select to_jsonb(ur) from user_roles ur join users u on u.id = ur.user_id where u.account_id = $1',
    'select to_jsonb(rs) from role_scopes rs join roles r on r.id = rs.role_id where r.account_id = $1',
  ]
  const rows = await service.database.query(
    `select string_agg(row::text, E'\\n' order by row::text) as text from (${belonging.join(' union all ')}) rows`,
    [side.account.id],
  )
  return rows[0]?.text
}

it('TN-04: every id of another account answers not_found, and no row of either account changes', async () => {
  const { context } = service
  const by = ours.administrator.id
  const before = [await rowsOf(ours), await rowsOf(theirs)]
  const swapped = {
    'a role for a new person': () =>
      invitePerson(context, by, { email: 'new@ours.example', roleIds: [theirs.roleId], language: 'en' }),
    'a role for a new person, beside one of ours': () =>
      invitePerson(context, by, {
        email: 'new@ours.example',
        roleIds: [ours.roleId, theirs.roleId],
        language: 'en',
      }),
    'a person’s roles': () => setPersonRoles(context, by, theirs.clerk.id, [ours.roleId]),
    'a role for our person': () => setPersonRoles(context, by, ours.clerk.id, [theirs.roleId]),
    'a person and their role': () => setPersonRoles(context, by, theirs.clerk.id, [theirs.roleId]),
    'a person to disable': () => disablePerson(context, by, theirs.clerk.id),
    'an administrator to disable': () => disablePerson(context, by, theirs.administrator.id),
    'a person to enable': () => enablePerson(context, by, theirs.clerk.id),
    'a person to send a link': () => sendPersonLink(context, by, theirs.clerk.id, 'en'),
    'a role to change': () => saveRole(context, by, { id: theirs.roleId, name: 'ours now', scopes: [] }),
    'a role to remove': () => removeRole(context, by, theirs.roleId),
    'a grant, as an administrator': () =>
      removeGrant(context, { by, grantId: theirs.grantId, asAdministrator: true, reported: true }),
    'a grant, as a user': () =>
      removeGrant(context, { by: ours.clerk.id, grantId: theirs.grantId, asAdministrator: false, reported: true }),
  }
  for (const [what, attempt] of Object.entries(swapped)) {
    expect([what, await attempt()]).toEqual([what, { outcome: 'not_found' }])
  }
  expect([await rowsOf(ours), await rowsOf(theirs)]).toEqual(before)
})

it('TN-04: nothing of another account is read', async () => {
  const { context } = service
  const by = ours.administrator.id
  expect(await readPerson(context, ours.account.id, theirs.clerk.id)).toBeNull()
  expect(await readRole(context.db, ours.account.id, theirs.roleId)).toBeNull()
  for (const asAdministrator of [true, false]) {
    expect(await readGrant(context, { by, grantId: theirs.grantId, asAdministrator })).toBeNull()
  }
  expect((await listAccountGrants(context, ours.account.id, after(theirs.grantId))).grants).toEqual([])
  expect((await listOwnGrants(context, ours.clerk.id, theirs.grantId)).grants).toEqual([])
  expect((await listAccountGrants(context, ours.account.id)).grants.map((each) => each.id)).toEqual([ours.grantId])
  const people = (await listPeople(context, ours.account.id)).lines.map((each) => each.id)
  expect(people.sort()).toEqual([ours.administrator.id, ours.clerk.id].sort())
})

it('TN-04: policy and branding are those of the administrator’s own account, whatever is sent', async () => {
  const before = await rowsOf(theirs)
  const by = ours.administrator.id
  const closed = {
    deviceFlow: false,
    secondFactor: 'optional' as const,
    unverifiedPublishers: false,
    onlyApplications: [],
    accountId: theirs.account.id,
  }
  await savePolicy(service.context, by, closed)
  await saveBranding(service.context, by, { name: 'Ours', colour: '#123456', logo: Buffer.of(1) })
  expect(await rowsOf(theirs)).toBe(before)
})
