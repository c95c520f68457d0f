/** flows/applications/cache.ts: the copy of all applications follows PostgreSQL, also backwards. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ApplicationCopy, createApplicationCopy } from '../../../src/flows/applications/cache.ts'
import { suspendApplication } from '../../../src/flows/applications/manage.ts'
import { rotateSecret } from '../../rig/create.ts'
import { makeApplication } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

let service: TestService
let copy: ApplicationCopy
beforeAll(async () => {
  service = await startTestService()
  copy = createApplicationCopy(service.context.db, service.context.config.keys)
})
afterAll(() => service.stop())

it('a suspension and a revoked secret are heard also when rows and sequence were set back before them', async () => {
  const { context, database, account } = service
  const application = await makeApplication(context.db, context.config, account.slug)
  expect(await copy.refresh()).toBe('continued')
  expect(copy.authenticate(application.id, application.secret)?.suspended).toBe(false)
  await database.query('create table kept_applications as table applications')
  await database.query('create table kept_secrets as table application_secrets')
  const [kept] = await database.query<{ last: number }>('select last_value as last from application_changes')

  for (let change = 0; change < 10; change += 1) {
    await rotateSecret(context, application.id)
    expect(await copy.refresh()).toBe('continued')
  }
  expect(copy.authenticate(application.id, application.secret), 'the fourth newer secret revoked it').toBeNull()

  await database.query('delete from application_secrets where id not in (select id from kept_secrets)')
  await database.query(
    'update application_secrets s set revoked_at = k.revoked_at from kept_secrets k where k.id = s.id',
  )
  await database.query(
    'update applications a set change_number = k.change_number from kept_applications k where k.id = a.id',
  )
  await database.query("select setval('application_changes', $1)", [kept?.last])
  expect(await copy.refresh()).toBe('reloaded')
  expect(copy.authenticate(application.id, application.secret)?.suspended).toBe(false)

  expect((await suspendApplication(context.db, application.id, 'after')).outcome).toBe('done')
  expect(await copy.refresh()).toBe('continued')
  expect(copy.find(application.id)?.suspended).toBe(true)
})
