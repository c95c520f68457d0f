/** TN-02 to TN-05, TN-07: credentials, sessions and ids of one account are refused in another. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { appliesTo } from '../../../src/core/sign-in/origin.ts'
import { createLink } from '../../../src/flows/sign-in/mailed-link.ts'
import { pageRoutes } from '../../../src/http/web/account-routes.ts'
import { BROWSER, DIALOG, SESSION, STEP } from '../../../src/http/web/cookies.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { createBrowserMark } from '../../../src/secrets/dialog-texts.ts'
import {
  markPassword,
  signBrowser,
  signDecision,
  signLink,
  signSecondStep,
  verifyDecision,
} from '../../../src/secrets/web-texts.ts'
import { listRoles } from '../../../src/store/accounts/roles.ts'
import { askMe, connect } from '../../rig/connect.ts'
import { post } from '../../rig/device.ts'
import { type MadeUser, makeAccount, makeUser } from '../../rig/make.ts'
import { needs } from '../../rig/origins/needs.ts'
import { USERS_FROM } from '../../rig/origins/users-from.ts'
import { ask } from '../../rig/scenes/asked.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { type SignedInUser, signedFor, signInAs } from '../../rig/signed-in.ts'
import { textOf } from '../../rig/web.ts'
import { codeRow, collected, everyRow, grantsOf, mailsWritten, sessionsOf, UNTOUCHED } from '../../rig/witness.ts'

const { t } = wordsFor('en')
const PASSWORD = 'a quiet green harbour'

/** An account, its administrator, a user, and one row of every kind that has an id. */
type Side = {
  readonly account: { readonly id: string; readonly slug: string }
  readonly administrator: SignedInUser
  readonly clerk: MadeUser
  readonly roleId: string
  readonly grantId: string
  readonly credential: string
}

let service: TestService
let ours: Side
let theirs: Side
beforeAll(async () => {
  service = await startTestService()
  ours = await makeSide()
  theirs = await makeSide()
})
afterAll(() => service.stop())

async function makeSide(): Promise<Side> {
  const { db } = service.context
  const account = await makeAccount(db)
  const user = await makeUser(db, account.slug, { password: PASSWORD })
  const web = await signInAs(service, user, { account })
  const clerk = await makeUser(db, account.slug, { holds: ['orders:read', 'orders:write'] })
  const role = (await listRoles(service.context.db, account.id)).find((each) => !each.holdsEveryScope)
  const { grantId, credential, userCode } = await connect(service, { user: clerk })
  await collected(service, userCode)
  return { account, administrator: { user, web }, clerk, roleId: role?.id ?? '', grantId, credential }
}

const hostOf = ({ account }: Side) => service.web({}, account.slug).host

describe('what belongs to an account', () => {
  it('TN-02: a session of one account is no session in another, for every route', async () => {
    const there = service.web({}, theirs.account.slug)
    there.cookies.set(SESSION, ours.administrator.web.cookies.get(SESSION) ?? '')
    const before = await everyRow(service)
    // Routes for operators do not exist here (AD-06).
    const here = pageRoutes.filter((route) => !route.needs || appliesTo(USERS_FROM, route.needs))
    for (const route of here.filter(({ access }) => access !== 'anyone' && access !== 'operator')) {
      const bound = Object.fromEntries((route.bound ?? []).map((name) => [name, '']))
      const form =
        route.method === 'POST' ? await signedFor(service, ours.administrator.user, route.path, bound) : undefined
      const answer = await there.send(route.method, route.path, form)
      expect([route.path, answer.status, answer.location]).toEqual([
        route.path,
        303,
        expect.stringMatching(/^\/sign-in\?/),
      ])
    }
    expect(await everyRow(service)).toEqual(before)
  })

  it('TN-02: anything else signed for one account or user is refused in another', needs('second_factor'), async () => {
    const { keys } = service.config
    const there = service.web({}, theirs.account.slug)
    const [at, mark] = [Date.now(), createBrowserMark()]
    const link = await service.context.db.transaction((tx) =>
      createLink(tx, 'recovery', { id: ours.clerk.id, accountId: ours.account.id }),
    )
    const before = await everyRow(service)
    const words = { password: 'another green harbour', again: 'another green harbour' }
    // As signed, and then as if signed for the other account.
    for (const slug of [ours.account.slug, theirs.account.slug]) {
      const text = signLink(keys, link, slug)
      expect((await there.send('GET', `/link?token=${text}`)).status).toBe(404)
      expect((await there.send('POST', '/link', { link: text, ...words })).status).toBe(404)
      expect((await there.send('POST', '/link/remove', { link: text })).status).toBe(404)
      const step = signSecondStep(keys, { userId: ours.clerk.id, at, passwordMark: markPassword('') }, slug, mark)
      there.cookies.set(STEP, step).set(DIALOG, mark)
      expect((await there.send('POST', '/sign-in/code', { code: '000000', next: '/' })).status).toBe(400)
    }
    expect(await everyRow(service)).toEqual(before)
  })

  it('TN-02: a browser that is known in one account is unknown in another', needs('password'), async () => {
    const { db } = service.context
    const { id, email } = await makeUser(db, ours.account.slug, { password: PASSWORD })
    const namesake = await makeUser(db, theirs.account.slug, { email, password: PASSWORD })
    const there = service.web({}, theirs.account.slug)
    there.cookies.set(BROWSER, signBrowser(service.config.keys, randomUUID(), id))
    for (let time = 0; time < 10; time += 1) {
      await there.send('POST', '/sign-in', { email, password: 'not the right words', next: '/' })
    }
    expect((await there.send('POST', '/sign-in', { email, password: PASSWORD, next: '/' })).status).toBe(429)
    expect(await sessionsOf(service, namesake)).toEqual([])
    const here = service.web({}, ours.account.slug)
    expect(
      (await here.send('POST', '/sign-in', { email, password: PASSWORD, next: '/' })).status,
      'who is not locked',
    ).toBe(303)
  })

  it(
    'TN-02: a password belongs to one account: the same e-mail address elsewhere is another user',
    needs('password'),
    async () => {
      const { email } = await makeUser(service.context.db, ours.account.slug, { password: PASSWORD })
      const namesake = await makeUser(service.context.db, theirs.account.slug, { email, password: 'quite another one' })
      const there = service.web({}, theirs.account.slug)
      expect((await there.send('POST', '/sign-in', { email, password: PASSWORD, next: '/' })).status).toBe(400)
      await there.send('POST', '/recover', { email })
      await mailsWritten(service)
      const mails = await service.database.query(
        'select account_id, user_id from mails where kind = $1 and user_id = $2',
        ['recovery', namesake.id],
      )
      expect(mails).toEqual([{ account_id: theirs.account.id, user_id: namesake.id }])
      expect(await sessionsOf(service, namesake)).toEqual([])
    },
  )

  it('TN-03: a credential names its account, and no account host accepts it', async () => {
    expect((await askMe(service, ours.credential)).body).toMatchObject({
      account: ours.account.slug,
      user: ours.clerk.id,
    })
    const lastUse = async () =>
      (await service.database.query('select last_used_on from grants where id = $1', [ours.grantId]))[0]
    await expect.poll(lastUse, { timeout: 20_000 }).not.toEqual({ last_used_on: null })
    await service.database.query('update grants set last_used_on = null where id = $1', [ours.grantId])
    const authorization = `Bearer ${ours.credential}`
    for (const side of [ours, theirs]) {
      for (const path of ['/1/me', '/me', '/1/me.xml']) {
        const answer = await post(service.address, path, {
          method: 'GET',
          headers: { host: hostOf(side), authorization },
        })
        expect([path, answer.status, answer.text.includes(ours.clerk.id)]).toEqual([path, 421, false])
      }
      const page = await post(service.address, '/security', {
        method: 'GET',
        headers: { host: hostOf(side), authorization },
      })
      expect(page.status, 'nor is it a session').toBe(303)
    }
    expect(await lastUse()).toEqual({ last_used_on: null })
  })

  it('TN-05: a code that was entered in one account can be decided only there', async () => {
    const victim = await ask(service)
    const place = verifyDecision(service.config.keys, victim.form.ref ?? '', victim.user.id)
    const { user, web } = theirs.administrator
    const refs = [victim.form.ref ?? '', signDecision(service.config.keys, place as NonNullable<typeof place>, user.id)]
    for (const ref of refs) {
      const form = await signedFor(service, user, '/connect/decision', { ref, shown: 'orders:read' })
      for (const decision of ['allow', 'cancel', 'not_me']) {
        const answer = await web.send('POST', '/connect/decision', { ...form, decision })
        const page = answer.location === null ? answer : await web.get(answer.location)
        expect(textOf(page.text)).toContain(t('decided.closed'))
      }
    }
    const there = service.web({}, theirs.account.slug)
    for (const [name, value] of victim.web.cookies) there.cookies.set(name, value)
    const carried = await there.send('POST', '/connect/decision', { ...victim.form, decision: 'allow' })
    expect(carried.location).toMatch(/^\/sign-in/)
    expect([await grantsOf(service, user), await grantsOf(service, victim.user)]).toEqual([[], []])
    expect(await codeRow(service, victim.code.user_code)).toMatchObject({ ...UNTOUCHED, claimed_by: victim.user.id })
  })

  it('TN-07: a slug that is reused keeps nothing: no cookie, no link, no credential', async () => {
    const { context, config, database } = service
    const old = await makeSide()
    const { slug } = old.account
    const link = signLink(
      config.keys,
      await context.db.transaction((tx) => createLink(tx, 'recovery', { id: old.clerk.id, accountId: old.account.id })),
      slug,
    )
    await database.query('update accounts set slug = $2 where id = $1', [old.account.id, `${slug}-old`])
    const next = await makeAccount(context.db, { slug })
    const namesake = await makeUser(context.db, slug, { email: old.administrator.user.email })

    expect((await old.administrator.web.send('GET', '/security')).location, 'the old cookie, at the old name').toMatch(
      /^\/sign-in/,
    )
    const moved = service.web({}, `${slug}-old`)
    moved.cookies.set(SESSION, old.administrator.web.cookies.get(SESSION) ?? '')
    expect((await moved.send('GET', '/security')).location, 'and at the new one').toMatch(/^\/sign-in/)
    for (const web of [service.web({}, slug), moved]) {
      expect((await web.send('GET', `/link?token=${link}`)).status).toBe(404)
      const words = { password: 'another green harbour', again: 'another green harbour' }
      expect((await web.send('POST', '/link', { link, ...words })).status).toBe(404)
    }
    expect((await askMe(service, old.credential)).body.account, 'it still belongs to who granted it').toBe(
      `${slug}-old`,
    )
    expect(await sessionsOf(service, namesake)).toEqual([])
    const grants = await database.query('select from grants where account_id = $1', [next.id])
    expect(grants).toEqual([])
  })
})

describe('ids of another account', () => {
  it('TN-04: on every page and in every form, an id of another account is unknown', async () => {
    const { user, web } = ours.administrator
    const code = await service.device().code()
    const before = await everyRow(service)
    const shown = [
      `/applications/remove?grant=${theirs.grantId}`,
      `/account/applications/remove?grant=${theirs.grantId}`,
      `/account/person?user=${theirs.clerk.id}`,
      `/account/person?user=${theirs.administrator.user.id}`,
      `/account/role?role=${theirs.roleId}`,
    ]
    for (const path of shown) {
      const page = await web.send('GET', path)
      expect([path, page.status]).toEqual([path, 404])
      expect(page.text).not.toContain(theirs.clerk.email)
    }
    const sent: readonly [string, Record<string, string>, Record<string, string>?][] = [
      ['/applications/remove', { grant: theirs.grantId }, { report: 'on' }],
      ['/account/applications/remove', { grant: theirs.grantId }, { report: 'on' }],
      ['/account/person', { user: theirs.clerk.id }, { [`role.${ours.roleId}`]: 'on' }],
      ['/account/person', { user: ours.clerk.id }, { [`role.${theirs.roleId}`]: 'on' }],
      ['/account/person', { user: ours.clerk.id }, { [`role.${ours.roleId}`]: 'on', [`role.${theirs.roleId}`]: 'on' }],
      ['/account/person/disable', { user: theirs.clerk.id }],
      ['/account/person/enable', { user: theirs.clerk.id }],
      ['/account/person/send-link', { user: theirs.clerk.id }],
      ['/account/people/invite', {}, { email: 'new@ours.example', [`role.${theirs.roleId}`]: 'on' }],
      ['/account/role', { role: theirs.roleId }, { name: 'Taken over', 'scope.orders:read': 'on' }],
      ['/account/role/remove', { role: theirs.roleId }],
    ]
    for (const [path, bound, values = {}] of sent) {
      const answer = await web.send('POST', path, { ...(await signedFor(service, user, path, bound)), ...values })
      expect([path, bound, answer.status]).toEqual([path, bound, 404])
    }
    const passkeys = await web.send(
      'POST',
      '/security/passkeys/remove',
      await signedFor(service, user, '/security/passkeys/remove', { passkey: 'theirs' }),
    )
    expect(passkeys.status).toBe(404)
    expect(await everyRow(service)).toEqual(before)
    expect(await codeRow(service, code.user_code)).toMatchObject(UNTOUCHED)
  })

  it('TN-04: lists of one account name nobody and nothing of another', async () => {
    const { web } = ours.administrator
    for (const path of [
      '/account/applications',
      `/account/applications?after=${theirs.grantId}`,
      '/account/people',
      '/account/roles',
      `/account/people?notice=saved&user=${theirs.clerk.id}`,
    ]) {
      const page = await web.send('GET', path)
      expect([path, page.status]).toEqual([path, 200])
      for (const secret of [
        theirs.clerk.email,
        theirs.administrator.user.email,
        theirs.roleId,
        theirs.grantId,
        theirs.account.slug,
      ]) {
        expect(page.text.replace(/name="next" value="[^"]*"/g, '')).not.toContain(secret)
      }
    }
  })

  it('TN-04: a user cannot remove a colleague’s grant by its id', async () => {
    const other = await makeUser(service.context.db, ours.account.slug, { holds: ['orders:read'] })
    const web = await signInAs(service, other, { account: ours.account })
    expect((await web.send('GET', `/applications/remove?grant=${ours.grantId}`)).status).toBe(404)
    const form = await signedFor(service, other, '/applications/remove', { grant: ours.grantId })
    expect((await web.send('POST', '/applications/remove', form)).status).toBe(404)
    expect(await grantsOf(service, ours.clerk)).toMatchObject([{ revocation_reason: null }])
  })
})
