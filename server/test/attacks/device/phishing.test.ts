/** UC-11, UC-12, UC-15: users talked into entering codes: what they are shown, who is warned, how it is undone. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { closeContext, createContext } from '../../../src/app.ts'
import { groupDigits } from '../../../src/core/device/user-code.ts'
import { checkCredential } from '../../../src/flows/grants/check-credential.ts'
import { sendDueMails } from '../../../src/flows/send-mails.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { askMe } from '../../rig/connect.ts'
import { writeMmdb } from '../../rig/corpora/mmdb.ts'
import { type CodeRecord, post } from '../../rig/device.ts'
import { type MadeApplication, type MadeUser, makeAccount, makeApplication, makeUser } from '../../rig/make.ts'
import { type Mailbox, startMailbox } from '../../rig/network/mailbox.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { makeSignedInUser, makeSignedInUsers, type SignedInUser, signInAs } from '../../rig/signed-in.ts'
import { formFields, textOf, type Web } from '../../rig/web.ts'
import { codeRow, grantsOf, mailsOf, UNTOUCHED } from '../../rig/witness.ts'

const MINUTE = 60_000
const GERMANY = '198.51.100.7'
const AMERICA = '203.0.113.9'
const NOWHERE = '192.0.2.1'
const { t } = wordsFor('en')
const WARNING = t('consent.other_country')

const folder = mkdtempSync(join(tmpdir(), 'places-'))
let service: TestService
let mailbox: Mailbox
beforeAll(async () => {
  const places = writeMmdb(join(folder, 'places.mmdb'), [
    ['198.51.100.0/24', { country: { iso_code: 'DE', names: { en: 'Germany' } }, city: { names: { en: 'Hamburg' } } }],
    ['203.0.113.0/24', { country: { iso_code: 'US', names: { en: 'United States' } } }],
  ])
  mailbox = await startMailbox()
  const environment = { TRUST_PROXY: '127.0.0.1', GEOIP_CITY_FILE: places, SMTP_URL: mailbox.url }
  service = await startTestService(environment, { clock: true })
})
afterAll(async () => {
  await service.stop()
  await mailbox.stop()
  removeFolder(folder)
})

const from = (address: string) => ({ 'x-forwarded-for': address })

async function someApplication(name?: string): Promise<MadeApplication> {
  const { context, config, account } = service
  const application = await makeApplication(context.db, config, account.slug, name ? { name } : {})
  await context.applications.refresh()
  return application
}

/** A code requested from this address. */
async function codeFrom(address: string, application: MadeApplication, agent?: string): Promise<CodeRecord> {
  const answer = await post(service.address, '/auth/oauth/device/code', {
    form: { SVCappid: application.id, SVCsecret: application.secret },
    headers: { ...from(address), ...(agent ? { 'user-agent': agent } : {}) },
  })
  expect(answer.status).toBe(200)
  return answer.body
}

const lastGroup = (code: CodeRecord) => groupDigits(code.user_code).split(' ').at(-1) ?? ''

describe('a code from another country', () => {
  it('UC-11: the page shows the application, the scopes, the time and the place of the request, and that the user is elsewhere', async () => {
    const application = await someApplication('Fine Till')
    const code = await codeFrom(GERMANY, application, 'Till/4 (kitchen)')
    await service.database.advance(3 * MINUTE)
    const { web } = await makeSignedInUser(service, { headers: from(AMERICA) })
    const page = await web.enterCode(code.user_code)
    const text = textOf(page.text)
    for (const said of [
      'Fine Till',
      t('publisher.unknown'),
      'May orders:read',
      t('consent.ago', { minutes: 3 }),
      'Hamburg, Germany',
      GERMANY,
      `${t('consent.says')} Till/4 (kitchen)`,
      WARNING,
      t('consent.when_in_doubt'),
    ]) {
      expect(text).toContain(said)
    }
    expect(text, 'the last group has to be read from the application').not.toContain(lastGroup(code))
    const [cancel, allow] = ['value="cancel"', 'value="allow"'].map((button) => page.text.indexOf(button))
    expect([cancel, allow].includes(-1), 'there are both').toBe(false)
    expect(cancel, 'Enter presses the first button: no').toBeLessThan(allow ?? 0)
    expect(buttonClass(page.text, 'cancel'), 'no smaller than yes').toBe(buttonClass(page.text, 'allow'))
  })

  it('UC-11: nothing is granted unless the last group of the code is typed again', async () => {
    const code = await codeFrom(GERMANY, await someApplication())
    const { user, web } = await makeSignedInUser(service, { headers: from(AMERICA) })
    await web.enterCode(code.user_code)
    for (const last_group of [undefined, '', '000', code.user_code, code.user_code.slice(0, 3), 'x']) {
      const page = await web.submit('/connect/decision', {
        decision: 'allow',
        ...(last_group === undefined ? {} : { last_group }),
      })
      expect([page.status, textOf(page.text)]).toEqual([400, expect.stringContaining(t('consent.problem_retype'))])
    }
    expect(await grantsOf(service, user)).toEqual([])
    expect(await codeRow(service, code.user_code)).toMatchObject({ ...UNTOUCHED, claimed_by: user.id })

    const page = await web.submit('/connect/decision', { decision: 'allow', last_group: lastGroup(code) })
    expect(textOf(page.text)).toContain(t('decided.granted'))
    expect(await grantsOf(service, user)).toHaveLength(1)
  })

  it.each([
    ['full-width', 0xff10],
    ['Arabic-Indic', 0x0660],
  ])('UC-11: the last group may be typed in %s digits, like the code itself', async (_script, zero) => {
    const code = await codeFrom(GERMANY, await someApplication())
    const { user, web } = await makeSignedInUser(service, { headers: from(AMERICA) })
    await web.enterCode(code.user_code)
    const last_group = Array.from(lastGroup(code), (digit) => String.fromCodePoint(zero + Number(digit))).join('')
    const page = await web.submit('/connect/decision', { decision: 'allow', last_group })
    expect(textOf(page.text)).toContain(t('decided.granted'))
    expect(await grantsOf(service, user)).toHaveLength(1)
  })

  it('UC-11: the application cannot change the place by a header', async () => {
    const code = await codeFrom(`${AMERICA}, ${GERMANY}`, await someApplication())
    const { web } = await makeSignedInUser(service, { headers: from(AMERICA) })
    expect(textOf((await web.enterCode(code.user_code)).text)).toContain(WARNING)
  })

  it.each([
    ['two countries are unknown', NOWHERE, '192.0.3.1'],
    ['one country is unknown', NOWHERE, AMERICA],
    ['both use IPv6', '2001:db8:1::7', '2001:db8:2::7'],
  ])(
    'UC-11: where %s, another network than the user’s is shown, and the last group wanted',
    async (_why, requester, user) => {
      const code = await codeFrom(requester, await someApplication())
      const { web } = await makeSignedInUser(service, { headers: from(user) })
      expect(textOf((await web.enterCode(code.user_code)).text)).toContain(t('consent.other_network'))
      const refused = await web.submit('/connect/decision', { decision: 'allow' })
      expect([refused.status, textOf(refused.text)]).toEqual([
        400,
        expect.stringContaining(t('consent.problem_retype')),
      ])
      const page = await web.submit('/connect/decision', { decision: 'allow', last_group: lastGroup(code) })
      expect(textOf(page.text)).toContain(t('decided.granted'))
    },
  )

  it('UC-11: where networks cannot be compared, an unverified publisher has the last group typed, without a warning', async () => {
    const code = await codeFrom('2001:db8::7', await someApplication())
    const { web } = await makeSignedInUser(service, { headers: from(NOWHERE) })
    const page = await web.enterCode(code.user_code)
    expect(textOf(page.text)).not.toContain(t('consent.other_network'))
    expect(textOf(page.text), 'the last group has to be read from the application').not.toContain(lastGroup(code))
    expect((await web.submit('/connect/decision', { decision: 'allow' })).status).toBe(400)
  })

  it.each([
    ['country', AMERICA, '203.0.113.77'],
    ['network', NOWHERE, '192.0.2.77'],
  ])('UC-11: a code from the same %s shows no warning', async (_where, address, at) => {
    const code = await codeFrom(address, await someApplication())
    const { user, web } = await makeSignedInUser(service, { headers: from(at) })
    const page = await web.enterCode(code.user_code)
    expect(textOf(page.text)).not.toContain(t('consent.beware'))
    expect(textOf(await web.submit('/connect/decision', { decision: 'allow' }).then(({ text }) => text))).toContain(
      t('decided.granted'),
    )
    expect(await grantsOf(service, user)).toHaveLength(1)
  })
})

function buttonClass(html: string, value: string): string | undefined {
  return new RegExp(`<button[^>]*class="([^"]*)"[^>]*value="${value}"`).exec(html)?.[1]
}

describe('one application, many users', () => {
  /** An account of their own, so that only its administrators are notified. */
  async function crowd(size: number) {
    const { db } = service.context
    const account = await makeAccount(db)
    const administrators = [await makeUser(db, account.slug), await makeUser(db, account.slug)] as const
    const gone = await makeUser(db, account.slug)
    await service.database.query('update users set disabled_at = now() where id = $1', [gone.id])
    const people = await makeSignedInUsers(service, size, { account, headers: from(GERMANY) })
    return { account, administrators, gone, people, application: await someApplication() }
  }
  const claimBy = async ({ web }: SignedInUser, application: MadeApplication, address = '198.51.100.20') => {
    const code = await codeFrom(address, application)
    return { code, page: await web.enterCode(code.user_code) }
  }
  const fraud = ({ slug }: { slug: string }) => t('consent.crowded', { name: `Account ${slug}` })
  const crowdEvents = (account: { id: string }) =>
    service.database.query<{ application_id: string; detail: { people: number; requestedNetwork: string } }>(
      `select application_id, detail from audit_events where account_id = $1 and kind = 'code.crowd' order by id`,
      [account.id],
    )
  const told = (users: readonly MadeUser[]) => Promise.all(users.map((user) => mailsOf(service, user)))

  it('UC-12: from the tenth user on, the page warns and asks for the last group, and administrators are notified once', async () => {
    const { account, administrators, gone, people, application } = await crowd(12)
    const first = people[0] as SignedInUser
    for (const person of people.slice(0, 9)) {
      expect(textOf((await claimBy(person, application)).page.text)).not.toContain(fraud(account))
    }
    expect([await crowdEvents(account), await told(administrators)]).toEqual([[], [[], []]])

    for (const person of people.slice(9)) {
      const { code, page } = await claimBy(person, application)
      expect(textOf(page.text)).toContain(fraud(account))
      const blind = await person.web.submit('/connect/decision', { decision: 'allow' })
      expect([blind.status, await grantsOf(service, person.user)]).toEqual([400, []])
      expect(await codeRow(service, code.user_code)).toMatchObject({ ...UNTOUCHED, claimed_by: person.user.id })
    }
    const reloaded = await first.web.get(decisionPath(first))
    expect(textOf(reloaded.text), 'who was there before is warned as well').toContain(fraud(account))

    expect(await crowdEvents(account)).toEqual([
      { application_id: application.id, detail: { people: 10, requestedNetwork: '198.51.100.0/24' } },
    ])
    expect(await told(administrators)).toEqual([['many_codes'], ['many_codes']])
    expect(await told([gone, first.user])).toEqual([[], []])
    const mails = await service.database.query('select distinct detail from mails where account_id = $1', [account.id])
    expect(mails).toMatchObject([{ detail: { people: 10, requestedFrom: '198.51.100.0' } }])
  })

  it('UC-12: one code entered by ten users of an account is a crowd, too, though one of them holds the claim', async () => {
    const { account, administrators, people, application } = await crowd(10)
    const [first, ...others] = people as [SignedInUser, ...SignedInUser[]]
    const { code, page } = await claimBy(first, application)
    expect(textOf(page.text)).not.toContain(fraud(account))
    for (const { web } of others) await web.enterCode(code.user_code)
    expect(await crowdEvents(account)).toEqual([
      { application_id: application.id, detail: { people: 10, requestedNetwork: '198.51.100.0/24' } },
    ])
    expect(await told(administrators)).toEqual([['many_codes'], ['many_codes']])
    const reloaded = textOf((await first.web.get(decisionPath(first))).text)
    expect(reloaded).toContain(fraud(account))
    expect(reloaded).toContain(t('consent.shared'))
  })

  it('UC-12: deciding such a code needs a recent sign-in', async () => {
    const { account, people, application } = await crowd(10)
    const password = 'a quiet green harbour'
    const user = await makeUser(service.context.db, account.slug, { password, holds: ['orders:read'] })
    const victim: SignedInUser = { user, web: await signInAs(service, user, { account, headers: from(GERMANY) }) }
    await service.database.advance(16 * MINUTE)
    for (const person of people) await claimBy(person, application)
    const { code, page } = await claimBy(victim, application)
    expect(textOf(page.text)).toContain(t('confirm.title'))
    expect(await grantsOf(service, user)).toEqual([])

    await victim.web.confirm(user.email, password)
    const decided = await victim.web.submit('/connect/decision', { decision: 'allow', last_group: lastGroup(code) })
    expect(textOf(decided.text)).toContain(t('decided.granted'))
    expect(await grantsOf(service, user)).toHaveLength(1)
  })

  it('UC-12: ten codes of one user, of other applications or from other networks are no crowd', async () => {
    const { account, people, application } = await crowd(10)
    const one = people[0] as SignedInUser
    for (let time = 0; time < 10; time += 1) await claimBy(one, application)
    for (const [index, person] of people.entries()) {
      const [address, by] = index % 2 === 0 ? [`203.0.${index}.1`, application] : [GERMANY, await someApplication()]
      expect(textOf((await claimBy(person, by, address)).page.text)).not.toContain(fraud(account))
    }
    expect(await crowdEvents(account)).toEqual([])
  })

  it('UC-12: administrators are notified again when it continues an hour later, and not before', async () => {
    const { administrators, people, application } = await crowd(11)
    for (const person of people) await claimBy(person, application)
    await service.database.advance(50 * MINUTE)
    for (const person of people) await claimBy(person, application)
    expect(await told(administrators)).toEqual([['many_codes'], ['many_codes']])
    await service.database.advance(11 * MINUTE)
    for (const person of people) await claimBy(person, application)
    expect(await told(administrators)).toEqual([
      ['many_codes', 'many_codes'],
      ['many_codes', 'many_codes'],
    ])
  })

  it('UC-12: administrators are notified once, also when all users enter their codes at the same moment', async () => {
    const { account, administrators, people, application } = await crowd(17)
    for (const person of people.slice(0, 9)) await claimBy(person, application)
    await Promise.all(people.slice(9).map((person) => claimBy(person, application)))
    expect(await told(administrators)).toEqual([['many_codes'], ['many_codes']])
    expect(await crowdEvents(account)).toHaveLength(1)
  })
})

/** Path of this visitor's newest consent page. */
function decisionPath({ web }: SignedInUser): string {
  const ref = /name="ref" value="([^"]*)"/.exec(web.last?.text ?? '')?.[1] ?? ''
  return `/connect/decision?ref=${ref}`
}

describe('revoking it', () => {
  /** Granted on the page, collected by the application. */
  async function connected(): Promise<{ user: MadeUser; web: Web; credential: string; code: CodeRecord }> {
    const application = await someApplication()
    const { user, web } = await makeSignedInUser(service, { headers: from(GERMANY) })
    const code = await codeFrom(GERMANY, application)
    await web.enterCode(code.user_code)
    const decided = await web.submit('/connect/decision', { decision: 'allow' })
    expect(textOf(decided.text)).toContain(t('decided.granted_what'))
    const { body } = await service.device('oauth', application).poll(code.device_code)
    expect((await askMe(service, body.access_token)).status).toBe(200)
    return { user, web, credential: body.access_token, code }
  }
  const mailTo = async (user: MadeUser) => {
    await sendDueMails(service.context)
    return mailbox.waitFor(({ to }) => to === user.email)
  }
  const linkIn = (text: string) => new URL(/https?:\/\/\S+\/link\?token=\S+/.exec(text)?.[0] ?? '')

  it('UC-15: the link in the mail revokes the grant with the next pull of the feed, without a session, and works once', async () => {
    const { user, credential } = await connected()
    const link = linkIn((await mailTo(user)).text)
    expect(link.host).toBe(service.web().host)
    const stranger = service.web()
    const shown = await stranger.get(`${link.pathname}${link.search}`)
    expect(textOf(shown.text)).toContain(t('remove_by_link.title'))
    expect((await askMe(service, credential)).status, 'looking changes nothing').toBe(200)

    expect(textOf((await stranger.submit('/link/remove')).text)).toContain(t('remove_by_link.removed'))
    await service.context.grantCache.pull()
    expect((await askMe(service, credential)).status).toBe(401)
    expect(await grantsOf(service, user)).toMatchObject([{ revocation_reason: 'removed_by_user' }])
    expect((await stranger.get(`${link.pathname}${link.search}`)).status, 'a second time').toBe(404)
    const events = await service.database.query(
      `select detail from audit_events where user_id = $1 and kind = 'grant.revoked'`,
      [user.id],
    )
    expect(events).toMatchObject([{ detail: { reason: 'removed_by_user' } }])
    const used = await service.database.query('select from links where user_id = $1 and used_at is not null', [user.id])
    expect(used).toHaveLength(1)
  })

  it('UC-15: the page revokes it, too: every process refuses the credential after its next pull', async () => {
    const { user, web, credential } = await connected()
    const elsewhere = await createContext(service.config)
    try {
      expect((await checkCredential(elsewhere, credential)).outcome).toBe('valid')
      const [grant] = await grantsOf(service, user)
      await web.get(`/applications/remove?grant=${grant?.id}`)
      const page = await web.submit('/applications/remove')
      expect([page.status, web.last?.location]).toEqual([200, null])
      await service.context.grantCache.pull()
      expect((await askMe(service, credential)).status).toBe(401)
      expect((await checkCredential(elsewhere, credential)).outcome).toBe('not_valid')
      expect(await grantsOf(service, user)).toMatchObject([{ revocation_reason: 'removed_by_user' }])
    } finally {
      await closeContext(elsewhere)
    }
  })

  it('UC-15: a grant revoked before it was collected is never issued', async () => {
    const application = await someApplication()
    const { user, web } = await makeSignedInUser(service, { headers: from(GERMANY) })
    const code = await codeFrom(GERMANY, application)
    await web.enterCode(code.user_code)
    await web.submit('/connect/decision', { decision: 'allow' })
    const link = linkIn((await mailTo(user)).text)
    const stranger = service.web()
    await stranger.get(`${link.pathname}${link.search}`)
    await stranger.submit('/link/remove')
    expect((await service.device('oauth', application).poll(code.device_code)).body.error).toBe('invalid')
    expect(await grantsOf(service, user)).toMatchObject([{ revocation_reason: 'removed_by_user' }])
  })

  it('UC-15: a decision sent several times is one grant and one mail', async () => {
    const { user, web } = await makeSignedInUser(service, { headers: from(GERMANY) })
    const code = await codeFrom(GERMANY, await someApplication())
    const question = await web.enterCode(code.user_code)
    const yes = { ...formFields(question.text, '/connect/decision'), decision: 'allow' }
    const answers = await Promise.all([1, 2, 3].map(() => web.send('POST', '/connect/decision', yes)))
    answers.push(await web.send('POST', '/connect/decision', yes))
    expect(answers.map(({ status }) => status)).toEqual([303, 303, 303, 303])
    expect(await grantsOf(service, user)).toHaveLength(1)

    await mailTo(user)
    await sendDueMails(service.context)
    expect(mailbox.mails.filter(({ to }) => to === user.email)).toHaveLength(1)
    const rows = await service.database.query(
      'select kind, attempts, link_id is not null as link from mails where user_id = $1',
      [user.id],
    )
    expect(rows).toEqual([{ kind: 'grant_created', attempts: 1, link: true }])
  })
})
