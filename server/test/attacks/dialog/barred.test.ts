/** DG-29 and other reasons why a dialog cannot be granted: the account's policy, the user's scopes, a disabled user. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { AccountPolicy } from '../../../src/core/accounts/policy.ts'
import { disablePerson, enablePerson } from '../../../src/flows/accounts/people.ts'
import { savePolicy } from '../../../src/flows/accounts/policy.ts'
import {
  restoreApplication,
  setApplicationPublisher,
  suspendApplication,
} from '../../../src/flows/applications/manage.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { markApplicationChanged } from '../../../src/store/applications/applications.ts'
import { askMe } from '../../rig/connect.ts'
import { createScope } from '../../rig/create.ts'
import { post } from '../../rig/device.ts'
import {
  allow,
  allSettled,
  type DialogWindow,
  dialogAddress,
  exchange,
  makeDialogApplication,
  makePkce,
  openQuestion,
  refresh,
  traceOf,
} from '../../rig/dialog.ts'
import { type MadeApplication, type MadeUser, makeAccount, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { signedFor } from '../../rig/signed-in.ts'
import { type Page, textOf } from '../../rig/web.ts'
import { everyRow, grantsOf } from '../../rig/witness.ts'

const { t } = wordsFor('en')
const MINUTE = 60_000

let service: TestService
beforeAll(async () => {
  service = await startTestService({}, { clock: true })
})
afterEach(() => allSettled(service))
afterAll(() => service.stop())

const challenge = { code_challenge: makePkce().challenge, code_challenge_method: 'S256' }
const OPEN = { dialogs: ['open'], grants: [], events: [], mails: [] }

async function suspend({ id }: MadeApplication): Promise<void> {
  expect((await suspendApplication(service.context.db, id, 'looked into')).outcome).toBe('done')
  await service.context.applications.refresh()
}

const newUser = (holds?: readonly string[]) =>
  makeUser(service.context.db, service.account.slug, holds ? { holds } : {})

/** A grant signed as by its own user, whatever the page offered. */
async function forceYes(
  { account }: DialogWindow,
  user: MadeUser,
  { url, shown }: { url: URL; shown: string },
): Promise<Page> {
  const bound = { request: url.searchParams.get('request') ?? '', shown }
  const form = await signedFor(service, user, '/dialog/decision', bound)
  return account.send('POST', '/dialog/decision', { ...form, decision: 'allow' })
}

const offers = ({ text }: Page) => Array.from(text.matchAll(/name="decision" value="(\w+)"/g), ([, value]) => value)

describe('an application that is suspended', () => {
  it.each(['/auth/oauth/authorize', '/1/auth/oauth/authorize', '/oauth/authorize'])(
    'DG-29: %s says that it is looked into, and leads nowhere',
    async (path) => {
      const application = await makeDialogApplication(service)
      await suspend(application)
      const before = await everyRow(service)
      const address = new URL(dialogAddress(service, { application, path, parameters: challenge }))
      for (const method of ['GET', 'POST']) {
        const { status, headers, text } = await post(service.address, path + address.search, { method })
        expect([status, headers.location, headers['set-cookie']]).toEqual([400, undefined, undefined])
        expect(textOf(text)).toContain(t('dialog_problem.suspended'))
        expect(text, 'not even by a link').not.toContain('class="button"')
      }
      expect(await everyRow(service)).toEqual(before)
    },
  )

  it('DG-29: a wrong request is not reported to the application either', async () => {
    const application = await makeDialogApplication(service)
    await suspend(application)
    const asked = { ...challenge, scope: 'no:such', response_type: 'token' }
    const address = new URL(dialogAddress(service, { application, parameters: asked }))
    const { status, text } = await post(service.address, address.pathname + address.search, { method: 'GET' })
    expect([status, text.includes('class="button"')]).toEqual([400, false])
    expect(textOf(text)).toContain(t('dialog_problem.suspended'))
  })

  it('DG-29: while the consent page is open, only Cancel is offered, and a grant is refused', async () => {
    const [application, user] = [await makeDialogApplication(service), await newUser()]
    const { window, at } = await openQuestion(service, { application, user, parameters: challenge })
    expect(offers(at.page)).toEqual(['cancel', 'allow'])
    await suspend(application)
    const before = await everyRow(service)
    const again = await window.account.send('GET', at.url.pathname + at.url.search)
    expect(offers(again)).toEqual(['cancel'])
    const forced = await forceYes(window, user, { url: at.url, shown: 'orders:read' })
    expect([forced.status, forced.location, offers(forced)]).toEqual([200, null, ['cancel']])
    expect(textOf(forced.text)).toContain('is suspended while we review it')
    expect(await everyRow(service)).toEqual(before)

    expect((await restoreApplication(service.context.db, application.id, 'harmless')).outcome).toBe('done')
    expect((await forceYes(window, user, { url: at.url, shown: 'orders:read' })).status).toBe(303)
    expect((await traceOf(service, application, user)).grants).toEqual([null])
  })

  it('DG-29: a rejection is still sent to the application', async () => {
    const [application, user] = [await makeDialogApplication(service), await newUser()]
    const { window } = await openQuestion(service, { application, user, parameters: challenge })
    await suspend(application)
    const { left } = await window.submit(window.account, '/dialog/decision', { decision: 'cancel' })
    expect(left?.searchParams.get('error')).toBe('access_denied')
    expect(await traceOf(service, application, user)).toEqual({
      ...OPEN,
      dialogs: ['denied'],
      events: ['dialog.denied'],
    })
  })

  it('DG-29: codes granted before can be exchanged and refreshed: suspension stops new grants only', async () => {
    const [application, user] = [await makeDialogApplication(service), await newUser()]
    const given = await allow(service, { application, user })
    await suspend(application)
    const answer = await exchange(service, application, given)
    expect(answer.status).toBe(200)
    expect((await refresh(service, application, answer.body.refresh_token)).status).toBe(200)
  })

  it('DG-29: a deleted one is unknown, and its credentials are invalid', async () => {
    const [application, user] = [await makeDialogApplication(service), await newUser()]
    const { window, at } = await openQuestion(service, { application, user, parameters: challenge })
    await service.context.db.transaction(async (tx) => {
      await markApplicationChanged(tx, application.id)
      await tx.query('update applications set deleted_at = now() where id = $1', [application.id])
    })
    await service.context.applications.refresh()
    const forced = await forceYes(window, user, { url: at.url, shown: 'orders:read' })
    expect([forced.status, forced.location]).toEqual([400, null])
    const begun = await window.go(dialogAddress(service, { application, parameters: challenge }))
    expect(textOf(begun.page.text)).toContain(t('dialog_problem.unknown_application'))
    expect(await traceOf(service, application, user)).toEqual(OPEN)
  })
})

describe('the policy of the account', () => {
  const EVERYTHING: AccountPolicy = {
    deviceFlow: true,
    secondFactor: 'optional',
    unverifiedPublishers: true,
    onlyApplications: null,
  }

  it.each([
    ['only others', { onlyApplications: [] }],
    ['no unverified publishers', { unverifiedPublishers: false }],
  ])(
    'an account that allows %s refuses the dialog, before and after the consent page was shown',
    async (_what, ruled) => {
      const account = await makeAccount(service.context.db)
      const user = await makeUser(service.context.db, account.slug)
      const home = { ...service, account, user }
      const application = await makeDialogApplication(service)
      const { window, at } = await openQuestion(home, { application, user, parameters: challenge })
      expect(offers(at.page)).toEqual(['cancel', 'allow'])
      expect((await savePolicy(service.context, user.id, { ...EVERYTHING, ...ruled })).outcome).toBe('saved')

      const before = await everyRow(service)
      const forced = await forceYes(window, user, { url: at.url, shown: 'orders:read' })
      const shown = await window.account.send('GET', at.url.pathname + at.url.search)
      for (const page of [forced, shown]) {
        expect([page.status, page.location]).toEqual([400, null])
        expect(textOf(page.text)).toContain(t('dialog_problem.barred'))
        expect(offers(page)).toEqual([])
      }
      expect(await everyRow(service)).toEqual(before)
      expect((await openQuestion(home, { application, user, parameters: challenge })).at.page.status).toBe(400)
      expect(await grantsOf(service, user)).toEqual([])

      await savePolicy(service.context, user.id, { ...EVERYTHING, ...ruled, onlyApplications: [application.id] })
      await setApplicationPublisher(service.context.db, application.id, { status: 'verified', name: 'till.example' })
      expect((await window.account.send('GET', at.url.pathname + at.url.search)).status).toBe(200)
    },
  )

  it('disabling codes does not disable the dialog', async () => {
    const account = await makeAccount(service.context.db)
    const user = await makeUser(service.context.db, account.slug)
    await savePolicy(service.context, user.id, { ...EVERYTHING, deviceFlow: false })
    const application = await makeDialogApplication(service)
    const { at } = await openQuestion({ ...service, account }, { application, user, parameters: challenge })
    expect(offers(at.page)).toEqual(['cancel', 'allow'])
  })
})

describe('the scopes of the user', () => {
  const BOTH = { ...challenge, scope: 'orders:read,orders:write' }

  it('limit the grant: those that the user lacks are shown separately and left out', async () => {
    const [application, user] = [await makeDialogApplication(service), await newUser(['orders:read'])]
    const { window, at } = await openQuestion(service, { application, user, parameters: BOTH })
    expect(offers(at.page)).toEqual(['cancel', 'allow'])
    const [can = '', lacking = ''] = at.page.text.split('aria-labelledby="lacking"')
    expect([can.includes('May orders:read'), can.includes('May orders:write')]).toEqual([true, false])
    expect(lacking).toContain('May orders:write')
    const { left } = await window.submit(window.account, '/dialog/decision', { decision: 'allow' })
    expect(left?.searchParams.has('code')).toBe(true)
    expect((await grantsOf(service, user)).map(({ scopes }) => scopes)).toEqual([['orders:read']])
  })

  it.each([
    ['nothing of it', {}, ['other:scope'], ''],
    [
      'not what the application cannot do without',
      { requiredScopes: ['orders:write'] },
      ['orders:read'],
      'orders:read',
    ],
  ])('%s: only Cancel is offered, and a grant is refused', async (_what, wish, holds, shown) => {
    await createScope(service.context.db, { name: 'other:scope', title: 'Something else' })
    const [application, user] = [await makeDialogApplication(service, wish), await newUser(holds)]
    const { window, at } = await openQuestion(service, { application, user, parameters: BOTH })
    expect([at.page.status, offers(at.page)]).toEqual([200, ['cancel']])
    const before = await everyRow(service)
    for (const forged of [shown, 'orders:read', 'orders:read,orders:write', '']) {
      const forced = await forceYes(window, user, { url: at.url, shown: forged })
      expect([forged, forced.status, forced.location]).toEqual([forged, 400, null])
    }
    expect(await everyRow(service)).toEqual(before)
    expect(await traceOf(service, application, user)).toEqual(OPEN)
  })

  it('are those that were shown: if they have changed meanwhile, the consent page is shown again', async () => {
    const [application, user] = [await makeDialogApplication(service), await newUser(['orders:read', 'orders:write'])]
    const { window, at } = await openQuestion(service, { application, user, parameters: BOTH })
    const before = await everyRow(service)
    for (const shown of ['orders:read', 'orders:write', 'orders:read,orders:write,danger:all', '']) {
      const forced = await forceYes(window, user, { url: at.url, shown })
      expect([shown, forced.status, forced.location]).toEqual([shown, 400, null])
      expect(textOf(forced.text)).toContain(t('consent.problem_changed'))
    }
    expect(await everyRow(service)).toEqual(before)
    await service.database.query(
      "delete from role_scopes where scope = 'orders:write' and role_id in (select role_id from user_roles where user_id = $1)",
      [user.id],
    )
    const { page, left } = await window.submit(window.account, '/dialog/decision', { decision: 'allow' })
    expect([page.status, left]).toEqual([400, null])
    expect(await grantsOf(service, user)).toEqual([])
  })

  it('include a dangerous one only after a recent sign-in, also for an older form', async () => {
    await createScope(service.context.db, { name: 'danger:all', title: 'Do everything', dangerous: true })
    const application = await makeDialogApplication(service, { allowedScopes: ['danger:all'] })
    const user = await makeUser(service.context.db, service.account.slug, { password: 'a quiet green harbour' })
    const asked = { application, user, parameters: { ...challenge, scope: 'danger:all' } }
    const { window, at } = await openQuestion(service, asked)
    expect(offers(at.page)).toEqual(['cancel', 'allow'])
    await service.database.advance(9 * MINUTE)
    await window.go(dialogAddress(service, asked))
    const later = await window.submit(window.base, '/dialog', { typed: service.account.slug })
    expect(offers(later.page)).toEqual(['cancel', 'allow'])
    await service.database.advance(7 * MINUTE)
    const again = await window.account.send('GET', later.url.pathname + later.url.search)
    const forced = await forceYes(window, user, { url: later.url, shown: 'danger:all' })
    for (const page of [again, forced]) {
      expect([page.status, page.location]).toEqual([303, expect.stringMatching(/^\/confirm\?next=%2Fdialog/)])
    }
    expect(await grantsOf(service, user)).toEqual([])
  })
})

describe('changes after the decision', () => {
  it('a user was disabled: the exchange is refused and the grant revoked for good', async () => {
    const [application, user] = [await makeDialogApplication(service), await newUser()]
    const given = await allow(service, { application, user })
    expect((await disablePerson(service.context, service.user.id, user.id)).outcome).toBe('disabled')
    const refused = await exchange(service, application, given)
    expect([refused.status, refused.body.error]).toEqual([400, 'invalid_grant'])
    expect(await traceOf(service, application, user)).toMatchObject({
      grants: ['user_disabled'],
      events: ['grant.created', 'user.disabled', 'grant.revoked'],
    })
    await enablePerson(service.context, service.user.id, user.id)
    expect((await exchange(service, application, given)).body.error).toBe('invalid_grant')
  })

  it('a user who was disabled before the decision cannot decide', async () => {
    const [application, user] = [await makeDialogApplication(service), await newUser()]
    const { window } = await openQuestion(service, { application, user, parameters: challenge })
    await disablePerson(service.context, service.user.id, user.id)
    const { url, left } = await window.submit(window.account, '/dialog/decision', { decision: 'allow' })
    expect([left, url.pathname]).toEqual([null, '/sign-in'])
    expect(await traceOf(service, application, user)).toEqual({ ...OPEN, events: ['user.disabled'] })
  })

  it('a scope that the user lost is not in effect for the token', async () => {
    const [application, user] = [await makeDialogApplication(service), await newUser(['orders:read', 'orders:write'])]
    const given = await allow(service, { application, user, parameters: { scope: 'orders:read,orders:write' } })
    await service.database.query(
      "delete from role_scopes where scope = 'orders:write' and role_id in (select role_id from user_roles where user_id = $1)",
      [user.id],
    )
    const { body } = await exchange(service, application, given)
    expect((await askMe(service, body.access_token)).body.scope).toBe('orders:read')
    expect((await refresh(service, application, body.refresh_token)).body.scope).toBe('orders:read')
  })
})
