/** A pending question: an application requested a code, a user entered it and has not decided yet. */
import type { CodeRecord, Device } from '../device.ts'
import { makeApplication } from '../make.ts'
import type { TestService } from '../service.ts'
import { makeSignedInUser, type SignedInUser } from '../signed-in.ts'
import { formFields } from '../web.ts'

export type Asked = SignedInUser & {
  readonly code: CodeRecord
  readonly device: Device
  /** Fields of the decision form, as the page has them. */
  readonly form: Record<string, string>
  /** Path of the consent page. */
  readonly path: string
}

/** Each with an application of its own: ten users with codes of one application would be a crowd (UC-12). */
export async function someDevice(service: TestService): Promise<Device> {
  const application = await makeApplication(service.context.db, service.config, service.account.slug)
  await service.context.applications.refresh()
  return service.device('oauth', application)
}

export async function ask(service: TestService, by?: SignedInUser): Promise<Asked> {
  const { user, web } = by ?? (await makeSignedInUser(service))
  const device = await someDevice(service)
  const code = await device.code()
  const entry = await web.get('/connect/code')
  const fields = { ...formFields(entry.text, '/connect/code'), code: code.user_code }
  const path = (await web.send('POST', '/connect/code', fields)).location ?? ''
  const question = await web.get(path)
  return { user, web, code, device, form: formFields(question.text, '/connect/decision'), path }
}
