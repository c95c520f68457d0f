/** Signing in and out in real Chromium: password, second factor, links by mail and by an operator, signing out everywhere. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { createSetupLink } from '../../src/flows/accounts/set-up.ts'
import { wordsFor } from '../../src/pages/ui/words.ts'
import { useBrowsing } from '../rig/browser/browsing.ts'
import { decide, enterCode, isAskedToSignIn, signIn, signInHere, submit } from '../rig/browser/clicks.ts'
import { askMe } from '../rig/connect.ts'
import { codeOf } from '../rig/factors/totp.ts'
import { type Mailbox, type ReceivedMail, startMailbox } from '../rig/network/mailbox.ts'
import { needs } from '../rig/origins/needs.ts'
import { PASSWORD, startNorthwind } from '../rig/scenes/northwind.ts'

/** Texts of the pages, taken from the messages. */
const { t } = wordsFor('en')

const SIGN_IN = t('sign_in.heading', { name: 'Northwind Traders' })
const NEW_PASSWORD = 'eight brown bottles'

let mailbox: Mailbox

const browsing = useBrowsing(async () => {
  mailbox = await startMailbox()
  const northwind = await startNorthwind({ SMTP_URL: mailbox.url }, { clock: true })
  const stop = async () => {
    await northwind.stop()
    await mailbox.stop()
  }
  return { ...northwind, stop }
})

const heading = (page: Page, text: string) => page.getByRole('heading', { level: 1, name: text }).waitFor()

/** The link in a mail that leads to this account. */
function linkIn(mail: ReceivedMail): string {
  const [link] = /http:\/\/\S+\/link\?token=[\w.-]+/.exec(mail.text) ?? []
  if (!link) throw new Error(`there is no link in this mail:\n${mail.text}`)
  return link
}

async function choosePassword(page: Page, password: string): Promise<void> {
  await page.getByLabel(t('password.new'), { exact: true }).fill(password)
  await page.getByLabel(t('password.again')).fill(password)
  await page.getByRole('button', { name: t('choose_password.continue') }).click()
}

/** PostgreSQL's time. */
async function now(): Promise<number> {
  const [row] = await browsing.northwind.service.database.query<{ now: string }>(
    'select (extract(epoch from now()) * 1000)::text as now',
  )
  return Number(row?.now)
}

test(
  'a wrong password is reported with the focus on the problem; the address is kept, the password is not',
  needs('password'),
  async () => {
    const page = await browsing.open()
    await signIn(page, browsing.northwind.dana, 'not this one at all')
    expect(await page.title()).toMatch(/^Problem: /)
    expect(await page.locator('[role=alert]:focus').count()).toBe(1)
    expect(await page.getByLabel(t('sign_in.email')).inputValue()).toBe(browsing.northwind.dana.email)
    expect(await page.getByLabel(t('sign_in.password')).inputValue()).toBe('')
    await page.getByRole('link', { name: t('sign_in.problem_wrong') }).click()
    expect(await page.locator('#email:focus').count()).toBe(1)
  },
)

test(
  'an authenticator app added by its secret is required from then on, each code once',
  needs('second_factor'),
  async () => {
    const { northwind } = browsing
    const page = await browsing.open()
    await signIn(page, northwind.dana)
    await page.goto('/security')
    await page.getByRole('link', { name: t('security.add_authenticator') }).click()
    const secret = (await page.locator('.secret').textContent()) ?? ''
    const uri = new URL((await page.locator('a[href^="otpauth:"]').getAttribute('href')) ?? '')
    expect(uri.searchParams.get('secret')).toBe(secret.replaceAll(' ', ''))
    await page.getByLabel(t('authenticator.code')).fill(codeOf(secret, await now()))
    await page.getByRole('button', { name: t('authenticator.add'), exact: true }).click()
    await page.getByRole('link', { name: t('recovery_codes.stored') }).click()
    await page.getByText(t('security.notice_authenticator_added')).waitFor()
    await submit(page, '/sign-out')

    await northwind.service.database.advance(30_000)
    const code = codeOf(secret, await now())
    await signIn(page, northwind.dana)
    await heading(page, t('second_step.heading'))
    await page.getByRole('textbox').fill(code === '000000' ? '000001' : '000000')
    await page.getByRole('button', { name: t('second_step.continue') }).click()
    await page.getByRole('alert').getByText(t('second_step.problem_wrong')).waitFor()
    await page.getByRole('textbox').fill(`${code.slice(0, 3)} ${code.slice(3)}`)
    await page.getByRole('button', { name: t('second_step.continue') }).click()
    await heading(page, t('home.heading'))

    const elsewhere = await browsing.open()
    await signIn(elsewhere, northwind.dana)
    await elsewhere.getByRole('textbox').fill(code)
    await elsewhere.getByRole('button', { name: t('second_step.continue') }).click()
    await elsewhere.getByRole('alert').getByText(t('second_step.problem_wrong')).waitFor()
  },
)

test(
  'recovery sends a link by mail, valid once, that sets a new password; the old one and every session end',
  needs('recovery'),
  async () => {
    const { ben } = browsing.northwind
    const before = await browsing.open()
    await signIn(before, ben)
    const page = await browsing.open()
    await page.goto('/sign-in')
    await page.getByRole('link', { name: t('sign_in.recover') }).click()
    await page.getByLabel(t('sign_in.email')).fill(ben.email)
    await page.getByRole('button', { name: t('recover.continue') }).click()
    await heading(page, t('recover.sent'))
    const mail = await mailbox.waitFor(({ to, subject }) => to === ben.email && subject.includes('Reset your password'))
    await page.goto(linkIn(mail))
    await choosePassword(page, NEW_PASSWORD)
    await heading(page, t('home.heading'))

    await before.goto('/security')
    await heading(before, SIGN_IN)
    await before.goto(linkIn(mail))
    await heading(before, t('link_gone.title'))
    await signIn(before, ben, PASSWORD)
    await before.getByRole('alert').getByText(t('sign_in.problem_wrong')).waitFor()
    await signIn(before, ben, NEW_PASSWORD)
    await heading(before, t('home.heading'))
  },
)

test('an unknown address gets the same answer, and no mail is sent', needs('recovery'), async () => {
  const page = await browsing.open()
  const ask = async (email: string) => {
    await page.goto('/recover')
    await page.getByLabel(t('sign_in.email')).fill(email)
    await page.getByRole('button', { name: t('recover.continue') }).click()
    await heading(page, t('recover.sent'))
    return ((await page.locator('body').textContent()) ?? '').replaceAll(email, 'EMAIL')
  }
  const known = await ask(browsing.northwind.ida.email)
  expect(await ask('zoe@northwind.example')).toBe(known)
  await mailbox.waitFor(({ to }) => to === browsing.northwind.ida.email)
  expect(mailbox.mails.filter(({ to }) => to.startsWith('zoe'))).toEqual([])
})

test('an operator’s link sets a first password, and is then invalid', needs('password'), async () => {
  const { service, slug, erik } = browsing.northwind
  const made = await createSetupLink(service.context.db, service.config, {
    account: slug,
    email: erik.email,
    reset: false,
  })
  if (made.outcome === 'refused') throw new Error(made.reason)
  const page = await browsing.open()
  await page.goto(made.value.address)
  await heading(page, t('choose_password.heading_setup', { name: 'Northwind Traders' }))
  await choosePassword(page, 'too short')
  await page
    .getByRole('alert')
    .getByText(t('password.too_short', { fewest: 12 }))
    .waitFor()
  await choosePassword(page, NEW_PASSWORD)
  await heading(page, t('home.heading'))
  await page.goto(made.value.address)
  await heading(page, t('link_gone.title'))
})

test('an invited user signs in by the link in the mail, with the chosen roles', needs('invitation'), async () => {
  const page = await browsing.open()
  await signIn(page, browsing.northwind.ann)
  await page.goto('/account/people/invite')
  await page.getByLabel(t('sign_in.email')).fill('zoe@northwind.example')
  await page.getByLabel('Billing').check()
  await page.getByRole('button', { name: t('invite.send') }).click()
  await page.getByText(t('people.notice_invited', { who: 'zoe@northwind.example' })).waitFor()
  const mail = await mailbox.waitFor(({ to }) => to === 'zoe@northwind.example')
  const invited = await browsing.open()
  await invited.goto(linkIn(mail))
  await heading(invited, t('choose_password.heading_invitation', { name: 'Northwind Traders' }))
  await choosePassword(invited, NEW_PASSWORD)
  await heading(invited, t('home.heading'))
  expect(await invited.getByRole('link', { name: t('layout.account'), exact: true }).count()).toBe(0)
  await page.reload()
  await page.getByRole('row').filter({ hasText: 'zoe@' }).getByText(t('person_status.active')).waitFor()
})

test('the mail about a new grant has a link that removes it without signing in', async () => {
  const { service, applications, ida } = browsing.northwind
  const device = service.device('oauth', applications.mobile)
  const code = await device.code()
  const page = await browsing.open()
  await signIn(page, ida)
  await enterCode(page, code.user_code)
  await decide(page, 'allow')
  const token = (await device.poll(code.device_code)).body.access_token
  expect((await askMe(service, token)).status).toBe(200)
  const mail = await mailbox.waitFor(({ to, subject }) => to === ida.email && subject.startsWith('Northwind Mobile'))
  const stranger = await browsing.open()
  await stranger.goto(linkIn(mail))
  await heading(stranger, t('remove_by_link.title'))
  expect((await askMe(service, token)).status).toBe(200)
  await stranger.getByRole('button', { name: t('remove_by_link.remove') }).click()
  await heading(stranger, t('remove_by_link.removed'))
  await service.context.grantCache.pull()
  expect((await askMe(service, token)).status).toBe(401)
})

test('signing out everywhere ends the session of the other browser, too', async () => {
  const { ann } = browsing.northwind
  const [here, there] = [await browsing.open(), await browsing.open()]
  await signIn(here, ann)
  await signIn(there, ann)
  await here.goto('/security')
  await here.getByText(t('security.this_one'), { exact: true }).waitFor()
  await here.getByRole('button', { name: t('security.everywhere') }).click()
  await isAskedToSignIn(here)
  await there.goto('/security')
  await isAskedToSignIn(there)
})

test('after signing out, pages are not available by the back button either', async () => {
  const page = await browsing.open()
  await signIn(page, browsing.northwind.ann)
  await page.goto('/security')
  await submit(page, '/sign-out')
  await page.goBack()
  await isAskedToSignIn(page)
})

test('signing in leads to the page that was requested', async () => {
  const page = await browsing.open()
  await page.goto('/account/people')
  await signInHere(page, browsing.northwind.ann)
  await heading(page, t('people.title'))
})
