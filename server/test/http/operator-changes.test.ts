/** AD-02, AD-08 in the operators' console: proposals are shown, accepted as shown, or declined with a reason. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { changeLogo } from '../../src/flows/applications/logo.ts'
import { setApplicationPublisher } from '../../src/flows/applications/manage.ts'
import { changeSettings } from '../../src/flows/applications/own.ts'
import { acceptAsOperator, declineAsOperator } from '../../src/flows/applications/proposals.ts'
import { findApplication } from '../../src/store/applications/applications.ts'
import { makeSettings } from '../rig/application-settings.ts'
import { drawLogo } from '../rig/corpora/logo.ts'
import { type MadeApplication, type MadeUser, makeAccount, makeApplication, makeUser } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { signInAs } from '../rig/signed-in.ts'
import type { Web } from '../rig/web.ts'

let service: TestService
let web: Web
let operator: MadeUser
let application: MadeApplication
beforeAll(async () => {
  service = await startTestService({ OPERATOR_ACCOUNT: 'operators' })
  const { db } = service.context
  const account = await makeAccount(db, { slug: 'operators' })
  operator = await makeUser(db, 'operators')
  web = await signInAs(service, operator, { account })
  application = await makeApplication(db, service.config, service.account.slug, { name: 'Acme Signage' })
  await setApplicationPublisher(db, application.id, { status: 'verified', name: 'acme.example' })
})
afterAll(() => service.stop())

const rename = (name: string) =>
  changeSettings(service.context, service.user.id, application.id, makeSettings({ name }))
const nameNow = async () => (await findApplication(service.context.db, application.id))?.name
const open = () => web.get(`/operator/change?application=${application.id}`)

it('AD-02: a new name is shown to operators while users see the old one, and to users once accepted', async () => {
  await rename('Acme Displays')
  const { status, text } = await open()
  expect([status, text.includes('Acme Signage'), text.includes('Acme Displays')]).toEqual([200, true, true])
  expect(await nameNow()).toBe('Acme Signage')
  const answer = await web.submit('/operator/changes/accept', {})
  expect(answer.text).toContain('Change approved and visible to users')
  expect(await nameNow()).toBe('Acme Displays')
})

it('AD-08: a proposal edited meanwhile is not accepted, but shown again', async () => {
  await rename('Acme Screens')
  await open()
  await rename('Acme Bank')
  const answer = await web.submit('/operator/changes/accept', {})
  expect([answer.status, answer.text.includes('The proposal was changed in the meantime')]).toEqual([400, true])
  expect(answer.text).toContain('Acme Bank')
  expect(await nameNow()).toBe('Acme Displays')
})

it('a proposal is declined only with a reason, which the developer sees', async () => {
  await open()
  const wordless = await web.submit('/operator/changes/decline', { words: ' ' })
  expect([wordless.status, wordless.text.includes('Enter a reason.')]).toEqual([400, true])
  const answer = await web.submit('/operator/changes/decline', { words: 'You are no bank.' })
  expect(answer.text).toContain('Change declined.')
  expect(await nameNow()).toBe('Acme Displays')
  const [mail] = await service.database.query<{ detail: object }>(
    "select detail from mails where kind = 'profile_decided' order by id desc limit 1",
  )
  expect(mail?.detail).toMatchObject({ reason: 'You are no bank.' })
})

it('the proposed logo is shown to operators only', async () => {
  await changeLogo(service.context, service.user.id, application.id, await drawLogo())
  const { text } = await open()
  const path = /\/operator\/changes\/logo\?[^"]+/.exec(text)?.[0]?.replace('&amp;', '&') ?? ''
  expect((await web.get(path)).status).toBe(200)
  const owner = await signInAs(service, service.user)
  expect((await owner.get(path)).status).toBe(404)
})

it('only operators accept or decline, from any page', async () => {
  const { context, user } = service
  expect(await acceptAsOperator(context, user.id, application.id, 1)).toEqual({ outcome: 'forbidden' })
  const declining = { applicationId: application.id, version: 1, words: 'No.' }
  expect(await declineAsOperator(context, user.id, declining)).toEqual({ outcome: 'forbidden' })
})
