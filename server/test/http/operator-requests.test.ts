/** AD-02, AD-08 in the operators' console: requests of developers are in the queue, approved as shown, or declined with a reason. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { changeLogo } from '../../src/flows/applications/logo.ts'
import { setApplicationPublisher } from '../../src/flows/applications/manage.ts'
import { changeSettings, registerApplication } from '../../src/flows/applications/own.ts'
import { askForVetting } from '../../src/flows/applications/vetting.ts'
import { answerRequest } from '../../src/flows/reviews/answer-request.ts'
import { readReviewedApplication } from '../../src/flows/reviews/list.ts'
import { findApplication } from '../../src/store/applications/applications.ts'
import { readVetting } from '../../src/store/applications/vettings.ts'
import { listQueue } from '../../src/store/reviews/queue.ts'
import { drawLogo } from '../rig/corpora/logo.ts'
import { type MadeApplication, type MadeUser, makeAccount, makeApplication, makeUser } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { signInAs } from '../rig/signed-in.ts'
import { textOf, type Web } from '../rig/web.ts'

const ANSWER = '/operator/application/answer'

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

const SETTINGS = {
  ...{ allowedScopes: ['orders:read'], defaultScopes: ['orders:read'], requiredScopes: [] },
  ...{ deviceFlow: true, redirectUris: [], pkceRequired: false },
}
const rename = (name: string) => changeSettings(service.context, service.user.id, application.id, { ...SETTINGS, name })
const nameNow = async () => (await findApplication(service.context.db, application.id))?.name
const open = (id = application.id) => web.get(`/operator/application?application=${id}`)
const answer = (said: 'approve' | 'decline', words = '') => web.submit(ANSWER, { answer: said, words })
const lastMail = async () => {
  const [mail] = await service.database.query<{ detail: object }>(
    "select detail from mails where kind = 'application_review' order by id desc limit 1",
  )
  return mail?.detail
}

/** Registered in the console of its account; its developer asks for a review. */
async function requestVetting(name: string): Promise<string> {
  const { context, user } = service
  const result = await registerApplication(context, user.id, { ...SETTINGS, name, public: false })
  if (result.outcome !== 'registered') throw new Error(result.outcome)
  expect(await askForVetting(context, user.id, result.id)).toEqual({ outcome: 'requested' })
  return result.id
}

it('AD-02: a new name is shown to operators while users see the old one, and to users once approved', async () => {
  await rename('Acme Displays')
  const { status, text } = await open()
  expect([status, text.includes('Acme Signage'), text.includes('Acme Displays')]).toEqual([200, true, true])
  expect(await nameNow()).toBe('Acme Signage')
  expect((await answer('approve')).text).toContain('Approved. The developers will be notified')
  expect(await nameNow()).toBe('Acme Displays')
  expect(await lastMail()).toMatchObject({ what: 'profile_accepted', application: 'Acme Displays', words: null })
})

it('AD-08: a proposal edited meanwhile is not accepted, but shown again', async () => {
  await rename('Acme Screens')
  await open()
  await rename('Acme Bank')
  const late = await answer('approve')
  expect([late.status, late.text.includes('has changed since you opened this page')]).toEqual([400, true])
  expect(late.text).toContain('Acme Bank')
  expect(await nameNow()).toBe('Acme Displays')
})

it('a proposal is declined only with a reason, which the developer sees', async () => {
  await open()
  const wordless = await answer('decline', ' ')
  expect([wordless.status, wordless.text.includes('Enter a message of at most')]).toEqual([400, true])
  expect((await answer('decline', 'You are no bank.')).text).toContain('Declined.')
  expect(await nameNow()).toBe('Acme Displays')
  expect(await lastMail()).toMatchObject({ what: 'profile_declined', words: 'You are no bank.' })
})

it('the proposed logo is shown to operators only', async () => {
  await changeLogo(service.context, service.user.id, application.id, await drawLogo())
  const { text } = await open()
  const path = /\/operator\/application\/logo\?[^"]+/.exec(text)?.[0]?.replace('&amp;', '&') ?? ''
  expect((await web.get(path)).status).toBe(200)
  const owner = await signInAs(service, service.user)
  expect((await owner.get(path)).status).toBe(404)
})

it('AD-08: an approval is for the name and the permissions that the operator saw', async () => {
  const id = await requestVetting('Kitchen display')
  await open(id)
  const more = { ...SETTINGS, name: 'Kitchen display', allowedScopes: ['orders:read', 'orders:write'] }
  expect(await changeSettings(service.context, service.user.id, id, more)).toEqual({ outcome: 'saved' })
  expect((await answer('approve')).status).toBe(400)
  expect(await readVetting(service.context.db, id)).toMatchObject({ vettedAt: null })
  expect(textOf(web.last?.text ?? '')).toContain('orders:write')
  expect((await answer('approve')).status).toBe(200)
  expect(await readVetting(service.context.db, id)).toMatchObject({ vettedAt: expect.any(Number) })
})

it('AD-08: of two answers to a request, the second one is stale', async () => {
  const id = await requestVetting('Counter display')
  const { seen = '' } = (await readReviewedApplication(service.context, id)) ?? {}
  const answers = [true, false].map((approve) =>
    answerRequest(service.context, operator.id, { applicationId: id, kind: 'vetting', seen, approve, words: 'No.' }),
  )
  const outcomes = (await Promise.all(answers)).map(({ outcome }) => outcome)
  expect(outcomes.filter((outcome) => outcome === 'stale')).toHaveLength(1)
})

it('a request for approval is declined with a reason, and can be made again', async () => {
  const id = await requestVetting('Shady display')
  await open(id)
  expect((await answer('decline', 'Whose display is it?')).text).toContain('Declined.')
  expect(await lastMail()).toMatchObject({ what: 'vetting_declined', words: 'Whose display is it?' })
  expect((await open(id)).text).not.toContain(ANSWER)
  const [event] = await service.database.query(
    "select kind, detail from audit_events where application_id = $1 and kind like '%vetting%' order by id desc limit 1",
    [id],
  )
  expect(event).toEqual({ kind: 'application.vetting_declined', detail: { reason: 'Whose display is it?' } })
  expect(await askForVetting(service.context, service.user.id, id)).toEqual({ outcome: 'requested' })
})

it('the queue has every kind in one list, and each kind alone', async () => {
  const { context, database } = service
  await database.query(
    `insert into reviews (id, application_id, opened_at, reason, verdict, harm, evidence, thresholds, judged_at, last_escalated_at)
     values ('rev_000000000001', $1, now(), 'reports', 'review', 60, '{"touched":0,"reports":3}', '{}', now(), now())`,
    [application.id],
  )
  const id = await requestVetting('Window display')
  const ofKind = async (kind: 'suspension' | 'vetting' | 'profile' | null, state: 'open' | 'closed' = 'open') =>
    (await listQueue(context.db, state, kind)).lines.map((line) => [line.kind, line.application])
  const [first, ...rest] = await ofKind(null)
  expect(first, 'the most harmful').toEqual(['suspension', 'Acme Displays'])
  expect(rest).toEqual(
    expect.arrayContaining([
      ['profile', 'Acme Displays'],
      ['vetting', 'Window display'],
    ]),
  )
  expect(await ofKind('suspension')).toEqual([first])
  expect(await ofKind('profile')).toEqual([['profile', 'Acme Displays']])
  expect(await ofKind('vetting')).toContainEqual(['vetting', 'Window display'])
  await database.query(
    "update application_vettings set requested_at = now() - interval '1 day' where application_id = $1",
    [id],
  )
  const oldest = { search: '', after: null, sort: 'opened', descending: false, lines: 1 } as const
  const page = await listQueue(context.db, 'open', null, oldest)
  expect(page.lines).toMatchObject([{ applicationId: id, outsideGrants: 0 }])
  const next = await listQueue(context.db, 'open', null, { ...oldest, after: page.after, lines: 99 })
  expect(next.lines.map(({ applicationId }) => applicationId)).not.toContain(id)
  expect(await ofKind('vetting', 'closed'), 'the approved one').toContainEqual(['vetting', 'Kitchen display'])
  await web.get('/operator/reviews?kind=vetting')
  expect(textOf(web.last?.text ?? '')).toContain('Window display')
  expect(textOf(web.last?.text ?? '')).not.toContain('Acme Displays')
})

it('only operators answer, from any page', async () => {
  const { context, user } = service
  const { seen = '' } = (await readReviewedApplication(context, application.id)) ?? {}
  for (const approve of [true, false]) {
    const given = { applicationId: application.id, kind: 'profile', seen, approve, words: 'No.' } as const
    expect(await answerRequest(context, user.id, given)).toEqual({ outcome: 'forbidden' })
  }
})
