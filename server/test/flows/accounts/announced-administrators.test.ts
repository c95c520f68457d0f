/** Administrators whom the command line makes: the others are told, but for operators, who are told as such. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { disablePerson, enablePerson } from '../../../src/flows/accounts/people.ts'
import { markOperatorsAccount } from '../../../src/store/accounts/accounts.ts'
import { byCommandLine, createUser } from '../../rig/create.ts'
import { makeAccount, makeUser } from '../../rig/make.ts'
import { makeManagementKey, manageClient } from '../../rig/manage.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { mailsOf } from '../../rig/witness.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService({ OPERATOR_ACCOUNT: 'operators', LOG_LEVEL: 'silent' })
})
afterAll(() => service.stop())

const create = (account: string, email: string, role: string) =>
  createUser(service.context.db, { account, email, roles: [role], password: null }, 'operators')

it('are mailed when they are created and when they are enabled, and no other user is', async () => {
  const { slug } = service.account
  // The last one who can sign in is not disabled.
  await makeUser(service.context.db, slug, { password: 'a quiet green harbour' })
  const made = await create(slug, 'new@acme.example', 'administrator')
  const id = made.outcome === 'done' ? made.value.id : ''
  expect(await mailsOf(service, service.user)).toEqual(['administrator_made'])
  expect(await mailsOf(service, { id, email: 'new@acme.example' })).toEqual([])
  await disablePerson(service.context, service.user.id, id)
  await enablePerson(service.context, await byCommandLine(service.context.db, slug), id)
  expect(await mailsOf(service, service.user)).toEqual(['administrator_made', 'administrator_made'])
})

it('of the operators are mailed as operators only', async () => {
  await makeAccount(service.context.db, { slug: 'operators' })
  await markOperatorsAccount(service.context.db, 'operators')
  const operator = await makeUser(service.context.db, 'operators')
  await create('operators', 'second@operators.example', 'administrator')
  expect(await mailsOf(service, operator)).toEqual(['operator_change'])
})

it('made by the hundred end in a few hundred mails, and the first ones are among them', async () => {
  const account = await makeAccount(service.context.db)
  const admin = await makeUser(service.context.db, account.slug)
  const { key } = await makeManagementKey(service)
  const call = manageClient(service.address, key)
  const [role] = (await call('GET', `/accounts/${account.slug}/roles`)).body.items
  for (let count = 0; count < 30; count += 1)
    await call('POST', `/accounts/${account.slug}/users`, { email: `user${count}@acme.example`, roles: [role.id] })
  const [row] = await service.database.query<{ mails: number; first: boolean }>(
    `select count(*)::int as mails, bool_or(user_id = $2) as first from mails where account_id = $1`,
    [account.id, admin.id],
  )
  expect(row?.first).toBe(true)
  expect(row?.mails).toBeLessThan(230)
})
