/** Nobody signs in again, or types the code again, only to learn that nothing can be granted. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { setSuspended } from '../../../src/store/applications/applications.ts'
import { openQuestion } from '../../rig/dialog.ts'
import { CALLBACK, type MadeApplication, makeApplication, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { signInAs } from '../../rig/signed-in.ts'
import { textOf } from '../../rig/web.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
  await service.database.query("update scopes set dangerous = true where name = 'orders:write'")
})
afterAll(() => service.stop())

const scope = 'orders:write'
const make = async () => {
  const { context, config, account } = service
  const application = await makeApplication(context.db, config, account.slug, { redirectUris: [CALLBACK] })
  await context.applications.refresh()
  return { application, user: await makeUser(context.db, account.slug) }
}
const suspend = ({ id }: MadeApplication) => service.context.db.transaction((tx) => setSuspended(tx, id, true))
const signedInLongAgo = ({ id }: { id: string }) =>
  service.database.query("update sessions set authenticated_at = now() - interval '1 day' where user_id = $1", [id])

it('a code of a suspended application shows the suspension, and nobody is asked to sign in again', async () => {
  const { application, user } = await make()
  const web = await signInAs(service, user)
  const [code, other] = [
    await service.device('key', application).code({ scope }),
    await service.device('key', application).code({ scope }),
  ]
  await signedInLongAgo(user)
  await web.enterCode(code.user_code)
  expect(textOf(web.last?.text ?? '')).toContain(wordsFor('en').t('confirm.title'))
  await suspend(application)
  await web.enterCode(other.user_code)
  expect(textOf(web.last?.text ?? '')).toContain('is suspended while we review it')
  expect(web.last?.text).not.toContain('value="allow"')
})

it('a dialog of a suspended application does the same', async () => {
  const { application, user } = await make()
  const { window, at } = await openQuestion(service, { application, user, parameters: { scope } })
  expect(at.page.text).toContain('value="allow"')
  await signedInLongAgo(user)
  const address = at.url.pathname + at.url.search
  expect((await window.account.send('GET', address)).location).toMatch(/^\/confirm\?/)
  await suspend(application)
  const page = await window.account.send('GET', address)
  expect(textOf(page.text)).toContain('is suspended while we review it')
  expect(page.text).not.toContain('value="allow"')
})

it('a user who lacks a required permission reads that, and is not asked to sign in again', async () => {
  const { application } = await make()
  await service.database.query("update applications set required_scopes = '{orders:read}' where id = $1", [
    application.id,
  ])
  const user = await makeUser(service.context.db, service.account.slug, { holds: [scope] })
  const { user_code } = await service.device('key', application).code({ scope: 'orders:read,orders:write' })
  const web = await signInAs(service, user)
  await signedInLongAgo(user)
  await web.enterCode(user_code)
  expect(textOf(web.last?.text ?? '')).toContain('needs permissions that you do not have')
})
