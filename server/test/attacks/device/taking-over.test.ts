/** UC-25: a colleague may continue with a code instead of the user who entered it first, once, and with the warnings. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { ask } from '../../rig/scenes/asked.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { makeSignedInUsers } from '../../rig/signed-in.ts'
import { formFields, textOf, type Web } from '../../rig/web.ts'
import { codeRow, grantsOf } from '../../rig/witness.ts'

const { t } = wordsFor('en')

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

const here = () => ({ name: `Account ${service.account.slug}` })
const taken = () => t('enter_code.problem_taken', here())

const allow = (web: Web, form: Record<string, string>) =>
  web.send('POST', '/connect/decision', { ...form, decision: 'allow' })

it('UC-25: a colleague is offered to continue, once per code, with the warnings and with retyping, and the first page can do nothing any more', async () => {
  const first = await ask(service)
  const [second, third] = await makeSignedInUsers(service, 2)
  if (!second || !third) throw new Error('two were made')
  const offered = await second.web.enterCode(first.code.user_code)
  expect(textOf(offered.text)).toContain(t('enter_code.take_over_hint'))
  const question = await second.web.submit('/connect/code', { code: first.code.user_code, take_over: 'yes' })
  expect(textOf(question.text)).toContain(t('consent.shared'))
  expect(question.text, 'retyped').toContain('name="last_group"')

  for (const decision of ['allow', 'cancel', 'not_me']) {
    const answer = await first.web.send('POST', '/connect/decision', { ...first.form, decision })
    const page = await first.web.get(answer.location ?? '')
    expect(textOf(page.text), decision).toContain(t('decided.taken_over'))
    expect(page.text, 'without a name').not.toContain(second.user.email)
  }
  for (const { web } of [first, third]) {
    const again = await web.enterCode(first.code.user_code)
    expect([again.status, textOf(again.text)]).toEqual([400, expect.stringContaining(taken())])
    expect(again.text).not.toContain('name="take_over"')
    const forced = await web.submit('/connect/code', { code: first.code.user_code, take_over: 'yes' })
    expect([forced.status, textOf(forced.text)]).toEqual([400, expect.stringContaining(taken())])
  }

  const form = formFields(question.text, '/connect/decision')
  const refused = await allow(second.web, form)
  expect([refused.status, textOf(refused.text)]).toEqual([400, expect.stringContaining(t('consent.problem_retype'))])
  await allow(second.web, {
    ...formFields(refused.text, '/connect/decision'),
    last_group: first.code.user_code.slice(-3),
  })
  expect((await first.device.poll(first.code.device_code)).status).toBe(200)
  expect([await grantsOf(service, first.user), await grantsOf(service, second.user)].map((all) => all.length)).toEqual([
    0, 1,
  ])
  const row = await codeRow(service, first.code.user_code)
  const found = await service.database.query(
    "select user_id, account_id from audit_events where kind = 'code.taken_over' and device_code_id = $1",
    [row?.id],
  )
  expect(found).toEqual([{ user_id: second.user.id, account_id: service.account.id }])
})
