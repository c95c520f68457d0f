/** AD-08, AD-09: decisions of operators are bound to what they saw, and need two operators where required. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { appeal } from '../../../src/flows/reviews/appeal.ts'
import { readReviewedApplication } from '../../../src/flows/reviews/list.ts'
import { type MadeApplication, type MadeUser, makeAccount, makeApplication, makeUser } from '../../rig/make.ts'
import { judgeNow, makeStrangers, type Stranger } from '../../rig/scenes/fleet.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { signedFor, signInAs } from '../../rig/signed-in.ts'
import { formFields, type Web } from '../../rig/web.ts'

let service: TestService
let strangers: Stranger[]
let application: MadeApplication
let account: { id: string; slug: string }
let operators: { user: MadeUser; web: Web }[]
beforeAll(async () => {
  service = await startTestService({ OPERATOR_ACCOUNT: 'operators' })
  account = await makeAccount(service.context.db, { slug: 'operators' })
  operators = []
  for (let each = 0; each < 2; each += 1) {
    const user = await makeUser(service.context.db, account.slug)
    operators.push({ user, web: await signInAs(service, user, { account }) })
  }
  strangers = await makeStrangers(service, 3)
})
afterAll(() => service.stop())

/** Suspended because of reports. */
beforeEach(async () => {
  application = await makeApplication(service.context.db, service.config, service.account.slug)
  for (const stranger of strangers) {
    await service.database.query(
      "insert into audit_events (at, kind, actor_kind, actor_id, via, account_id, application_id) values (now(), 'code.reported', 'service', 'test', 'job', $1, $2)",
      [stranger.account.id, application.id],
    )
  }
  await judgeNow(service)
  expect((await submit(webOf(0), 'keep')).status).toBe(200)
  expect(await reviewed()).toMatchObject({ suspended: true, review: { reason: 'reports' } })
})

const webOf = (index: number) => (operators[index] as { web: Web }).web
const pathOf = () => `/operator/application?application=${application.id}`
const reviewed = async () => readReviewedApplication(service.context, application.id)

/** Reads the application and decides at once. */
async function submit(web: Web, decision: string) {
  await web.get(pathOf())
  return web.submit('/operator/application/decide', { decision, reason: 'other', words: 'As I see it.' })
}

describe('AD-08: decisions are bound to what was seen', () => {
  it('a form that was opened before the owner appealed changes nothing', async () => {
    const web = webOf(0)
    const shown = await web.get(pathOf())
    const fields = formFields(shown.text, '/operator/application/decide')
    await appeal(service.context, service.user.id, application.id, 'Please look again.')
    const late = await web.send('POST', '/operator/application/decide', {
      ...fields,
      ...{ decision: 'keep_and_revoke', reason: 'other', words: 'Enough.' },
    })
    expect(late.status).toBe(400)
    expect((await reviewed())?.decisions).toHaveLength(1)
  })

  it('the version cannot be forged: the form is signed for it', async () => {
    const web = webOf(0)
    const shown = await web.get(pathOf())
    const fields = formFields(shown.text, '/operator/application/decide')
    const forged = { ...fields, seen: 'none.0.1', decision: 'reinstate', reason: 'other', words: 'Quick.' }
    expect((await web.send('POST', '/operator/application/decide', forged)).status).toBeGreaterThanOrEqual(400)
    expect((await reviewed())?.suspended).toBe(true)
  })
})

describe('AD-09: one operator alone', () => {
  it('cannot lift a suspension of a reported application; two can, and both are recorded', async () => {
    expect((await submit(webOf(0), 'reinstate')).status).toBe(200)
    const [proposed] = (await reviewed())?.decisions ?? []
    expect(await reviewed()).toMatchObject({ suspended: true, review: { waitsForSecond: true } })
    const first = operators[0]?.user as MadeUser
    const bound = { application: application.id, decision: proposed?.id ?? '' }
    const alone = await webOf(0).send(
      'POST',
      '/operator/application/confirm',
      await signedFor(service, first, '/operator/application/confirm', bound),
    )
    expect(alone.status).toBe(400)
    expect((await reviewed())?.suspended).toBe(true)

    await webOf(1).get(pathOf())
    expect((await webOf(1).submit('/operator/application/confirm')).status).toBe(200)
    const after = await reviewed()
    expect(after).toMatchObject({
      suspended: false,
      decisions: [{ by: first.email, confirmedBy: operators[1]?.user.email }, {}],
    })
    expect(after?.timeline.slice(0, 3).map(({ kind, by }) => [kind, by])).toEqual([
      ['review.decided', operators[1]?.user.email],
      ['application.restored', operators[1]?.user.email],
      ['review.proposed', first.email],
    ])
  })

  it('cannot lift it by restoring connections either, also who suspended it', async () => {
    for (const web of [webOf(0), webOf(1)]) {
      expect((await submit(web, 'reinstate_and_restore')).status).toBe(200)
      expect(await reviewed()).toMatchObject({ suspended: true, review: { waitsForSecond: true } })
    }
  })
})
