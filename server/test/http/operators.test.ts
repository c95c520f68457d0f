/** AD-09 in the operators' console: pending changes of operators are shown with who may confirm them, and confirmed once. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type MadeUser, makeAccount } from '../rig/make.ts'
import { Operators } from '../rig/scenes/operators.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { signedFor, signInAs } from '../rig/signed-in.ts'

const PATH = '/operator/operators'

let service: TestService
let operators: Operators
let olga: MadeUser
let omar: MadeUser
beforeAll(async () => {
  service = await startTestService({ OPERATOR_ACCOUNT: 'operators' })
  await makeAccount(service.context.db, { slug: 'operators' })
  operators = await Operators.of(service)
  olga = await operators.make()
  omar = await operators.make()
})
afterAll(() => service.stop())

const browserOf = (user: MadeUser) => signInAs(service, user, { account: operators.account })

it('a proposed operator is shown to all operators, with the reason why its proposer cannot confirm', async () => {
  const email = await operators.propose(olga)
  const own = await (await browserOf(olga)).get(PATH)
  expect([own.status, own.text.includes(email)]).toEqual([200, true])
  expect(own.text).toContain('You proposed this yourself')
  expect(own.text).not.toContain(`action="${PATH}/confirm"`)
  expect(own.text).toContain('Withdraw')
  const others = await (await browserOf(omar)).get(PATH)
  expect(others.text).toContain(`action="${PATH}/confirm"`)
  expect(others.text).toContain('Decline')
})

it('a form of the proposer for confirming is refused', async () => {
  const [pending] = await operators.pending(olga)
  const web = await browserOf(olga)
  const form = await signedFor(service, olga, `${PATH}/confirm`, { change: pending?.id ?? '' })
  const answer = await web.send('POST', `${PATH}/confirm`, form)
  expect([answer.status, answer.text.includes('You cannot confirm this change')]).toEqual([400, true])
  expect(await operators.pending(olga)).toHaveLength(1)
})

it('another operator confirms with the button, and the new operator is told why they cannot confirm what was proposed before', async () => {
  const web = await browserOf(omar)
  const [pending] = await operators.pending(omar)
  await web.get(PATH)
  expect((await web.submit(`${PATH}/confirm`)).text).toContain('Change confirmed.')
  expect(await operators.pending(omar)).toEqual([])
  const invited = await operators.find(pending?.email ?? '')
  await operators.propose(olga)
  const shown = await (await browserOf(invited)).get(PATH)
  expect(shown.text).toContain(`${olga.email} invited you`)
})

it('another operator declines, the proposer withdraws', async () => {
  const web = await browserOf(omar)
  await web.get(PATH)
  expect((await web.submit(`${PATH}/reject`)).text).toContain('Change declined.')
  await operators.propose(olga)
  const own = await browserOf(olga)
  await own.get(PATH)
  expect((await own.submit(`${PATH}/reject`)).text).toContain('Change withdrawn.')
})

it('the page of an operator proposes a reset, and says so', async () => {
  const web = await browserOf(olga)
  const third = await operators.make()
  const shown = await web.get(`/account/person?user=${third.id}`)
  expect(shown.text).toContain('must be confirmed by another operator')
  const answer = await web.submit('/account/person/send-link')
  expect(answer.text).toContain('Another operator must confirm this change')
  await web.get(`/account/person?user=${third.id}`)
  const again = await web.submit('/account/person/send-link')
  expect([again.status, again.text.includes('already waiting for another operator')]).toEqual([400, true])
})

it('at another account’s address the page does not exist', async () => {
  expect((await (await signInAs(service, service.user)).get(PATH)).status).toBe(404)
})
