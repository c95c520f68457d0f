/** The preview of a consent page: the permissions of the flow, and a user code that no device can have. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { readTypedCode } from '../../src/core/device/user-code.ts'
import { createScope } from '../rig/create.ts'
import { makeUser } from '../rig/make.ts'
import { makeOwn } from '../rig/scenes/publisher.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { signInAs } from '../rig/signed-in.ts'
import { textOf } from '../rig/web.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

it('the user code of a preview has a wrong check digit, so that no device has it', async () => {
  const owner = await makeUser(service.context.db, service.account.slug)
  const { id } = await makeOwn(service, owner, 'Frame')
  const web = await signInAs(service, owner)
  const { text } = await web.get(`/developer/application/preview?application=${id}&by=code`)
  const [shown = ''] = /\b\d{3} \d{3} \d{3}\b/.exec(textOf(text)) ?? []
  expect(readTypedCode(shown)).toEqual({ answer: 'mistyped', digits: 9 })
})

it('the preview of the dialog lists a permission that cannot be granted by a code; that of the device flow does not', async () => {
  const owner = await makeUser(service.context.db, service.account.slug)
  const { id } = await makeOwn(service, owner, 'Frame')
  const title = 'Close the account'
  await createScope(service.context.db, { name: 'account:close', title, deviceFlow: false })
  await service.database.query(
    "update applications set allowed_scopes = '{orders:read,account:close}', default_scopes = '{account:close}' where id = $1",
    [id],
  )
  const web = await signInAs(service, owner)
  const preview = async (by: string) =>
    textOf((await web.get(`/developer/application/preview?application=${id}&by=${by}`)).text)
  expect([(await preview('dialog')).includes(title), (await preview('code')).includes(title)]).toEqual([true, false])
})
