/** Passkeys in real Chromium, with a virtual authenticator: added, used to sign in and to confirm, and useless elsewhere. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { wordsFor } from '../../src/pages/ui/words.ts'
import { useBrowsing } from '../rig/browser/browsing.ts'
import { signIn, submit } from '../rig/browser/clicks.ts'
import { addVirtualAuthenticator, type VirtualAuthenticator } from '../rig/browser/virtual-authenticator.ts'
import { type MadeUser, makeAccount, makeUser } from '../rig/make.ts'
import { PASSWORD, startNorthwind } from '../rig/scenes/northwind.ts'

/** Texts of the pages, taken from the messages. */
const { t } = wordsFor('en')

const browsing = useBrowsing(() => startNorthwind({}, { clock: true }))

const heading = (page: Page, text: string) => page.getByRole('heading', { level: 1, name: text }).waitFor()

/** Text when the browser returned no passkey. */
const failed = (page: Page) => page.getByText(t('elements.passkey_failed')).waitFor()

/**
 * The window of a new user, with an authenticator that holds their passkey. A virtual authenticator accepts autofill
 * immediately; for cases about the button, autofill is disabled.
 */
async function withPasskey(
  name: string,
  { suggestions = false } = {},
): Promise<{ page: Page; user: MadeUser; authenticator: VirtualAuthenticator }> {
  const page = await browsing.openAlone()
  if (!suggestions) {
    await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = () => Promise.resolve(false)')
  }
  const authenticator = await addVirtualAuthenticator(page)
  const { service, slug } = browsing.northwind
  const user = await makeUser(service.context.db, slug, { holds: [], password: PASSWORD })
  await signIn(page, user)
  await page.goto('/security')
  await page.getByLabel(t('security.passkey_name')).fill(name)
  await page.getByRole('button', { name: t('security.add_passkey') }).click()
  await page.getByRole('link', { name: t('recovery_codes.stored') }).click()
  await page.getByText(t('security.notice_passkey_added')).waitFor()
  await page.getByRole('heading', { level: 3, name }).waitFor()
  return { page, user, authenticator }
}

/** Every POST of the window from now on. */
function watchPosts(page: Page): string[] {
  const paths: string[] = []
  page.on('request', (request) => {
    if (request.method() === 'POST') paths.push(new URL(request.url()).pathname)
  })
  return paths
}

test('a passkey added under "Security" signs its user in, without an address and a password', async () => {
  const { page, user, authenticator } = await withPasskey('Reader one')
  const { hostname } = new URL(browsing.northwind.origin)
  expect(await authenticator.passkeys()).toMatchObject([{ rpId: hostname, isResidentCredential: true }])
  await submit(page, '/sign-out')
  await page.getByRole('button', { name: t('sign_in.passkey') }).click()
  await heading(page, t('home.heading'))
  await page.getByText(user.email).waitFor()
})

test('a passkey is offered by autofill, and signs in when chosen', async () => {
  const { page } = await withPasskey('Reader seven', { suggestions: true })
  await submit(page, '/sign-out')
  await heading(page, t('home.heading'))
})

test('an authenticator with a passkey of this user does not get a second one', async () => {
  const { page, authenticator } = await withPasskey('Reader two')
  await page.getByRole('button', { name: t('security.add_passkey') }).click()
  await failed(page)
  expect(await authenticator.passkeys()).toHaveLength(1)
})

test('failed user verification signs nobody in', async () => {
  const { page, authenticator } = await withPasskey('Reader three', { suggestions: true })
  await authenticator.verify(false)
  await submit(page, '/sign-out')
  const posts = watchPosts(page)
  await page.getByRole('button', { name: t('sign_in.passkey') }).click()
  await failed(page)
  expect(posts).toEqual([])
})

test('a passkey that was removed no longer signs in, and the page says so', async () => {
  const { page } = await withPasskey('Reader four')
  await page.getByRole('button', { name: t('security.remove_named', { name: 'Reader four' }) }).click()
  await page.getByText(t('security.notice_passkey_removed')).waitFor()
  await submit(page, '/sign-out')
  await page.getByRole('button', { name: t('sign_in.passkey') }).click()
  await page.getByRole('alert').getByText(t('sign_in.problem_passkey')).waitFor()
})

test('another account neither finds the passkey nor can request it for the first account’s host', async () => {
  const { northwind } = browsing
  const sibling = await makeAccount(northwind.service.context.db, { slug: 'southwind' })
  const { page, user } = await withPasskey('Reader five')
  await makeUser(northwind.service.context.db, sibling.slug, { email: user.email, password: PASSWORD })
  await page.goto(`${northwind.originOf(sibling.slug)}/sign-in`)
  const posts = watchPosts(page)
  await page.getByRole('button', { name: t('sign_in.passkey') }).click()
  await failed(page)

  // As a page of a sibling host that claims to be the first: the browser refuses.
  await page.reload()
  const { hostname } = new URL(northwind.origin)
  await page.locator('passkey-button').evaluate((element, rpId) => {
    const options = JSON.parse(element.getAttribute('options') ?? '')
    element.setAttribute('options', JSON.stringify({ ...options, rpId }))
  }, hostname)
  await page.getByRole('button', { name: t('sign_in.passkey') }).click()
  await failed(page)
  expect(posts).toEqual([])
})

test('"Is it still you?" accepts the passkey', async () => {
  const { page } = await withPasskey('Reader six')
  await browsing.northwind.service.database.advance(16 * 60_000)
  await page.getByRole('link', { name: t('security.add_authenticator') }).click()
  await heading(page, t('confirm.title'))
  await page.getByRole('button', { name: t('confirm.passkey') }).click()
  await heading(page, t('security.add_authenticator'))
})

test('without JavaScript there is no button for passkeys, and the page says why none can be added', async () => {
  const page = await browsing.open({ javaScriptEnabled: false })
  await page.goto('/sign-in')
  expect(await page.getByRole('button', { name: t('sign_in.passkey') }).count()).toBe(0)
  await signIn(page, browsing.northwind.dana)
  await page.goto('/security')
  expect(await page.getByRole('button', { name: t('security.add_passkey') }).count()).toBe(0)
  await page.locator('noscript p').waitFor()
  expect(await page.locator('noscript p').textContent()).toContain(t('security.passkey_script'))
})
