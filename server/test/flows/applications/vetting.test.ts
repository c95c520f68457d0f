/** An application from the developer console is limited outside its own account until an operator has looked at it. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { MAX_OUTSIDE_GRANTS, MAX_UNVETTED_APPLICATIONS } from '../../../src/core/applications/vetting.ts'
import { setApplicationPublisher } from '../../../src/flows/applications/manage.ts'
import { type NewOwnApplication, registerApplication } from '../../../src/flows/applications/own.ts'
import { showDeviceCode } from '../../../src/flows/device/decide.ts'
import { foreseeDecision } from '../../../src/flows/device/foresee-decision.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { makeSettings } from '../../rig/application-settings.ts'
import { createScope } from '../../rig/create.ts'
import { openQuestion } from '../../rig/dialog.ts'
import {
  CALLBACK,
  type MadeApplication,
  type MadeUser,
  makeAccount,
  makeApplication,
  makeUser,
} from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { makeSignedInUser, makeSignedInUsers, signedFor, signInAs } from '../../rig/signed-in.ts'
import { textOf, type Web } from '../../rig/web.ts'
import { grantsOf } from '../../rig/witness.ts'

const { t } = wordsFor('en')

let service: TestService
let makers: { readonly id: string; readonly slug: string }
let maker: MadeUser
beforeAll(async () => {
  service = await startTestService({ OPERATOR_ACCOUNT: 'operators' })
  await createScope(service.context.db, { name: 'orders:erase', title: 'Erase all orders', dangerous: true })
})
afterAll(() => service.stop())
/** An account of its own for each test. */
beforeEach(async () => {
  const { db } = service.context
  makers = await makeAccount(db)
  maker = await makeUser(db, makers.slug)
})

const wish: NewOwnApplication = {
  ...makeSettings({
    name: 'Kitchen display',
    allowedScopes: ['orders:read', 'orders:erase'],
    redirectUris: [CALLBACK],
  }),
  public: false,
}

/** From the console of another account, granted this often by users of other accounts. */
async function register(outsideGrants = 0): Promise<MadeApplication> {
  const result = await registerApplication(service.context, maker.id, wish)
  if (result.outcome !== 'registered') throw new Error(result.outcome)
  await service.database.query('update application_vettings set outside_grants = $2 where application_id = $1', [
    result.id,
    outsideGrants,
  ])
  await service.context.applications.refresh()
  return { id: result.id, secret: result.secret ?? '' }
}

const codeOf = async (application: MadeApplication, scope = 'orders:read') =>
  service.device('oauth', application).code({ scope })

const counted = async ({ id }: MadeApplication) => {
  const [row] = await service.database.query<{ outside_grants: number }>(
    'select outside_grants from application_vettings where application_id = $1',
    [id],
  )
  return row?.outside_grants
}

const grantIn = async (application: MadeApplication, user: MadeUser, scope?: string) =>
  service.grant((await codeOf(application, scope)).user_code, user)

/** The visible text of the page for a code of the application. */
const consentOf = async (web: Web, application: MadeApplication, scope?: string) => {
  const code = await codeOf(application, scope)
  return { code, text: textOf((await web.enterCode(code.user_code)).text) }
}

const TOO_MANY = 'has not been reviewed by the operators of this service yet'

describe('an application that no operator has looked at', () => {
  it('is granted by a hundred users outside its own account', async () => {
    const application = await register(MAX_OUTSIDE_GRANTS - 2)
    const outcomes = []
    for (let time = 0; time < 4; time += 1) {
      outcomes.push(await grantIn(application, await makeUser(service.context.db, service.account.slug)))
    }
    expect(outcomes).toEqual(['granted', 'granted', 'too_many_grants', 'too_many_grants'])
    expect(await counted(application)).toBe(MAX_OUTSIDE_GRANTS)
  })

  it('counts a user once, however often they connect, by code or in the dialog', async () => {
    const application = await register()
    const { user } = await makeSignedInUser(service)
    const inDialog = async () => {
      const { window } = await openQuestion(service, { application, user, parameters: { scope: 'orders:read' } })
      return (await window.submit(window.account, '/dialog/decision', { decision: 'allow' })).left
    }
    expect(await grantIn(application, user)).toBe('granted')
    await service.database.query(
      "update grants set revoked_at = now(), revocation_reason = 'removed_by_user' where application_id = $1",
      [application.id],
    )
    expect(await grantIn(application, user)).toBe('granted')
    expect(await inDialog()).not.toBeNull()
    expect(await counted(application)).toBe(1)
  })

  it('is granted again by those who did before, when the hundred is reached, by code or in the dialog', async () => {
    const application = await register(MAX_OUTSIDE_GRANTS - 1)
    const { user, web } = await makeSignedInUser(service)
    expect(await grantIn(application, user)).toBe('granted')
    expect(await grantIn(application, await makeUser(service.context.db, service.account.slug))).toBe('too_many_grants')
    expect(await grantIn(application, user), 'by code').toBe('granted')
    await consentOf(web, application)
    expect(web.last?.text, 'on the page').toContain('value="allow"')
    const { window } = await openQuestion(service, { application, user, parameters: { scope: 'orders:read' } })
    const { left } = await window.submit(window.account, '/dialog/decision', { decision: 'allow' })
    expect(left, 'in the dialog').not.toBeNull()
    expect(await counted(application)).toBe(MAX_OUTSIDE_GRANTS)
  })

  it('counts a user once who grants it twice at the same moment', async () => {
    const application = await register()
    const { user } = await makeSignedInUser(service)
    const codes = [await codeOf(application), await codeOf(application), await codeOf(application)]
    const outcomes = await Promise.all(codes.map(({ user_code }) => service.grant(user_code, user)))
    expect([...new Set(outcomes), await counted(application)]).toEqual(['granted', 1])
  })

  it('at 99, one of many grants at the same moment passes', async () => {
    const application = await register(MAX_OUTSIDE_GRANTS - 1)
    const users = await makeSignedInUsers(service, 8)
    const codes: string[] = []
    for (const _ of users) codes.push((await codeOf(application)).user_code)
    const outcomes = await Promise.all(users.map(({ user }, at) => service.grant(codes[at] ?? '', user)))
    expect(outcomes.filter((outcome) => outcome === 'granted')).toHaveLength(1)
    expect(outcomes.filter((outcome) => outcome === 'too_many_grants')).toHaveLength(7)
    expect(await counted(application)).toBe(MAX_OUTSIDE_GRANTS)
  })

  it('the 101st user reads why, is not offered to allow it, and the device is rejected when they cancel', async () => {
    const application = await register(MAX_OUTSIDE_GRANTS)
    const { user, web } = await makeSignedInUser(service)
    const { code, text } = await consentOf(web, application)
    expect(text).toContain(
      `Kitchen display ${TOO_MANY}. Until then, 100 users of other accounts can connect it, and that number is reached`,
    )
    expect(web.last?.text).not.toContain('value="allow"')
    await web.submit('/connect/decision', { decision: 'allow' })
    expect(await grantsOf(service, user)).toEqual([])
    const foreseen = await showDeviceCode(service.context.db, service.config.keys, code.user_code)
    expect(foreseen && (await foreseeDecision(service.context, foreseen, user.id))?.prevented).toBe('too_many_grants')
    await web.submit('/connect/decision', { decision: 'cancel' })
    const { body } = await service.device('oauth', application).poll(code.device_code)
    expect(body).toMatchObject({ error: 'auth_rejected' })
  })

  it('gets no dangerous scope outside its own account, on the page or on the command line', async () => {
    const application = await register()
    const user = await makeUser(service.context.db, service.account.slug)
    const web = await signInAs(service, user)
    const { code, text } = await consentOf(web, application, 'orders:read,orders:erase')
    expect(text).toContain('asks for a high-risk permission but has not been reviewed')
    const foreseen = await showDeviceCode(service.context.db, service.config.keys, code.user_code)
    expect(foreseen && (await foreseeDecision(service.context, foreseen, user.id))?.prevented).toBe('dangerous_scope')
    await web.submit('/connect/decision', { decision: 'allow' })
    expect(await grantIn(application, user, 'orders:erase')).toBe('dangerous_scope')
    expect([await grantsOf(service, user), await counted(application)]).toEqual([[], 0])
    expect(await grantIn(application, user, 'orders:read')).toBe('granted')
  })

  it('is limited in the dialog in the same way', async () => {
    const application = await register(MAX_OUTSIDE_GRANTS - 1)
    const ask = async () => {
      const { user } = await makeSignedInUser(service)
      return { user, ...(await openQuestion(service, { application, user, parameters: { scope: 'orders:read' } })) }
    }
    const allow = ({ window }: Awaited<ReturnType<typeof ask>>) =>
      window.submit(window.account, '/dialog/decision', { decision: 'allow' })
    const [first, second] = [await ask(), await ask()]
    for (const { at } of [first, second]) expect(at.page.text).toContain('value="allow"')
    expect((await allow(first)).left).not.toBeNull()
    const refused = await allow(second)
    expect([refused.left, textOf(refused.page.text)]).toEqual([null, expect.stringContaining(TOO_MANY)])
    const third = (await ask()).at.page.text
    expect([textOf(third).includes(TOO_MANY), third.includes('value="allow"')]).toEqual([true, false])
    expect([await grantsOf(service, second.user), await counted(application)]).toEqual([[], MAX_OUTSIDE_GRANTS])
  })
})

describe('applications that no operator has looked at', () => {
  const registered = async () => (await registerApplication(service.context, maker.id, wish)).outcome

  it('are at most ten per account, also at the same moment and with those deleted lately', async () => {
    const made: MadeApplication[] = []
    while (made.length < MAX_UNVETTED_APPLICATIONS - 1) made.push(await register())
    const outcomes = await Promise.all([registered(), registered(), registered()])
    expect(outcomes.toSorted()).toEqual(['registered', 'too_many_unvetted', 'too_many_unvetted'])
    const [first, second] = made
    const remove = "update applications set deleted_at = now() - $2 * interval '1 day' where id = $1"
    await service.database.query(remove, [first?.id, 29])
    expect(await registered(), 'deleted lately').toBe('too_many_unvetted')
    await service.database.query(remove, [first?.id, 31])
    expect([await registered(), await registered()], 'deleted long ago').toEqual(['registered', 'too_many_unvetted'])
    await setApplicationPublisher(service.context.db, second?.id ?? '', { status: 'verified', name: 'acme.example' })
    expect(await registered(), 'another one is verified').toBe('registered')
    // The other tests use the same name.
    await setApplicationPublisher(service.context.db, second?.id ?? '', { status: 'unverified', name: null })
  })

  it('are refused on the page, which says to request a review', async () => {
    for (let count = 0; count < MAX_UNVETTED_APPLICATIONS; count += 1) await register()
    const developer = await signInAs(service, maker, { account: makers })
    await developer.get('/developer/new')
    await developer.submit('/developer/new', { name: 'One more', kind: 'device' })
    const refused = await developer.submit('/developer/new', { 'use.orders:read': 'default' })
    expect(refused.status).toBe(400)
    const text = t('register.problem_too_many_unvetted', { max: MAX_UNVETTED_APPLICATIONS })
    expect(textOf(refused.text)).toContain(text)
  })
})

describe('there is no limit', () => {
  it('inside its own account, also for dangerous scopes', async () => {
    const application = await register(MAX_OUTSIDE_GRANTS)
    expect(await grantIn(application, maker, 'orders:read,orders:erase')).toBe('granted')
    expect(await counted(application)).toBe(MAX_OUTSIDE_GRANTS)
  })

  it('for a verified publisher, until it is not verified any more', async () => {
    const application = await register(MAX_OUTSIDE_GRANTS)
    const { db } = service.context
    await setApplicationPublisher(db, application.id, { status: 'verified', name: 'acme.example' })
    expect(await grantIn(application, service.user, 'orders:erase')).toBe('granted')
    await setApplicationPublisher(db, application.id, { status: 'unverified', name: null })
    expect(await grantIn(application, await makeUser(db, service.account.slug))).toBe('too_many_grants')
  })

  it('for an application that an operator registered on the command line', async () => {
    const { context, config } = service
    const application = await makeApplication(context.db, config, makers.slug, { allowedScopes: wish.allowedScopes })
    await context.applications.refresh()
    expect(await grantIn(application, service.user, 'orders:read,orders:erase')).toBe('granted')
  })

  it('and no lock once an operator approved it: grants do not wait for one another', async () => {
    const application = await register()
    await service.database.query(
      `update application_vettings v set vetted_at = now(), vetted_name = a.name, vetted_scopes = a.allowed_scopes
       from applications a where a.id = v.application_id and a.id = $1`,
      [application.id],
    )
    await service.context.db.transaction(async (tx) => {
      await tx.query('select from application_vettings where application_id = $1 for update', [application.id])
      expect(await grantIn(application, service.user)).toBe('granted')
    })
    expect(await counted(application)).toBe(0)
  })
})

describe('a review', () => {
  it('is requested by the developer and granted by an operator, whose approval can be withdrawn', async () => {
    const application = await register(42)
    const { context, database } = service
    const operators = await makeAccount(context.db, { slug: 'operators' })
    const operator = await signInAs(service, await makeUser(context.db, 'operators'), { account: operators })
    const developer = await signInAs(service, maker, { account: makers })
    const own = `/developer/application?application=${application.id}`
    const eventsOf = async () =>
      (
        await database.query<{ kind: string }>(
          "select kind from audit_events where application_id = $1 and kind like '%vett%' order by id",
          [application.id],
        )
      ).map(({ kind }) => kind)

    expect(textOf((await developer.get(own)).text)).toContain('Not reviewed')
    expect(textOf(developer.last?.text ?? '')).toContain('42 of 100')
    expect((await operator.get('/operator/reviews')).text).not.toContain(application.id)
    const requested = await developer.submit('/developer/application/vetting')
    expect(textOf(requested.text)).toContain(t('vetting.state_requested'))
    expect(requested.text).not.toContain('action="/developer/application/vetting"')

    expect((await operator.get('/operator/reviews')).text).toContain(application.id)
    await operator.get(`/operator/application?application=${application.id}`)
    expect(textOf(operator.last?.text ?? '')).toContain(maker.email)
    const approved = await operator.submit('/operator/application/answer')
    expect(textOf(approved.text)).toContain(t('operator.notice_approved'))
    expect(textOf((await developer.get(own)).text)).toContain(t('vetting.vetted_text'))
    expect(await grantIn(application, service.user, 'orders:erase')).toBe('granted')

    await database.query("update applications set name = 'Your Bank' where id = $1", [application.id])
    expect(await grantIn(application, service.user, 'orders:erase'), 'under another name').toBe('dangerous_scope')
    await database.query('update applications set name = $2 where id = $1', [application.id, wish.name])
    await database.query("update applications set allowed_scopes = allowed_scopes || '{orders:write}' where id = $1", [
      application.id,
    ])
    expect(await grantIn(application, service.user, 'orders:erase'), 'with a scope more').toBe('dangerous_scope')
    expect(textOf((await developer.get(own)).text)).toContain('Not reviewed')
    await database.query("update applications set allowed_scopes = array_remove(allowed_scopes, 'orders:write')")
    expect(await grantIn(application, service.user, 'orders:erase'), 'as it was seen').toBe('granted')

    expect((await operator.get('/operator/reviews?filter=closed')).text).toContain(application.id)
    await operator.get(`/operator/application?application=${application.id}`)
    const withdrawn = await operator.submit('/operator/application/answer', { words: 'It changed hands.' })
    expect(textOf(withdrawn.text)).toContain(t('operator.notice_declined'))
    expect(await grantIn(application, service.user, 'orders:erase')).toBe('dangerous_scope')
    expect(await eventsOf()).toEqual([
      'application.vetting_requested',
      'application.vetted',
      'application.vetting_withdrawn',
    ])
    const mails = await database.query<{ detail: object; user_id: string }>(
      "select user_id, detail from mails where kind = 'application_review' order by id",
    )
    const application_ = { applicationId: application.id, application: wish.name }
    expect(mails).toMatchObject([
      { user_id: maker.id, detail: { ...application_, what: 'vetted', words: null } },
      { user_id: maker.id, detail: { ...application_, what: 'vetting_withdrawn', words: 'It changed hands.' } },
    ])
  })

  it('cannot be requested for an application of another account', async () => {
    const application = await register()
    const other = await signInAs(service, service.user)
    const action = '/developer/application/vetting'
    const form = await signedFor(service, service.user, action, { application: application.id })
    expect((await other.send('POST', action, form)).status).toBe(404)
    const [row] = await service.database.query(
      'select requested_at from application_vettings where application_id = $1',
      [application.id],
    )
    expect(row).toEqual({ requested_at: null })
  })
})
