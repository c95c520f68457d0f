/** An account's identity provider in real Chromium: an administrator connects `oidc-provider`, and a user signs in by it. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { wordsFor } from '../../src/pages/ui/words.ts'
import { accessibilityProblems } from '../rig/browser/accessibility.ts'
import { useBrowsing } from '../rig/browser/browsing.ts'
import { decide, enterCode, press, signIn, submit } from '../rig/browser/clicks.ts'
import {
  type CertifiedProvider,
  keepFromInternet,
  signInAtCertifiedProvider,
  startCertifiedProvider,
} from '../rig/certified-provider.ts'
import { PROVIDER_ENVIRONMENT } from '../rig/identity-provider.ts'
import { startNorthwind } from '../rig/scenes/northwind.ts'

/** Texts of the pages, taken from the messages. */
const { t } = wordsFor('en')

let provider: CertifiedProvider

const browsing = useBrowsing(async () => {
  const northwind = await startNorthwind(PROVIDER_ENVIRONMENT)
  provider = await startCertifiedProvider(northwind.origin)
  const stop = async () => {
    await northwind.stop()
    await provider.stop()
  }
  return { ...northwind, stop }
})

const heading = (page: Page, text: string) => page.getByRole('heading', { level: 1, name: text }).waitFor()

/** A window in which the provider's own pages load nothing from the internet. */
async function open(): Promise<Page> {
  const page = await browsing.openAlone()
  await keepFromInternet(page)
  return page
}

const signInThere = (page: Page, login: string) => signInAtCertifiedProvider(page, provider, login)

test('an administrator connects it, and is told what is wrong', async () => {
  const page = await browsing.open()
  await signIn(page, browsing.northwind.ann)
  await page.goto('/account/applications')
  await page.getByRole('link', { name: t('layout.provider') }).click()
  await heading(page, t('provider.title'))
  await page.getByText(`${browsing.northwind.origin}/sign-in/provider/return`).waitFor()
  expect(await accessibilityProblems(page)).toEqual([])

  await page.fill('#issuer', provider.issuer)
  await page.fill('#client_id', provider.clientId)
  await page.fill('#client_secret', 'not the secret')
  await submit(page, '/account/provider')
  await page.getByText(t('provider.notice_saved')).waitFor()
  await submit(page, '/account/provider/test')
  await page.getByRole('alert').getByText(t('provider_problem.client_refused')).waitFor()
  expect(await accessibilityProblems(page)).toEqual([])

  await page.fill('#client_secret', provider.clientSecret)
  await page.fill('#domains', 'corp.example')
  await page.check('#admission-domain')
  await page.selectOption('#default_role', { label: 'Sales' })
  await page.check('#state-optional')
  await submit(page, '/account/provider')
  await page.getByText(t('provider.notice_saved')).waitFor()
  expect(await page.inputValue('#client_secret')).toBe('')
  await submit(page, '/account/provider/test')
  await page.getByText(t('provider.notice_tested')).waitFor()
})

test('a user signs in by it and grants a device', async () => {
  const { northwind } = browsing
  const device = northwind.service.device('oauth', northwind.applications.signage)
  const code = await device.code({ scope: 'orders:read' })
  const page = await open()
  await page.goto('/connect/code')
  await page.getByRole('link', { name: t('at_host.continue', { host: new URL(provider.issuer).host }) }).click()
  await signInThere(page, 'ada')
  await page.waitForURL(`${northwind.origin}/connect/code`)
  await enterCode(page, code.user_code)
  await decide(page, 'allow')
  await heading(page, t('decided.granted'))
  expect(await device.poll(code.device_code)).toMatchObject({ status: 200, body: { scope: 'orders:read' } })
  await page.goto('/security')
  await heading(page, t('confirm.title'))
})

test('a user whose address the provider does not call verified is told so', async () => {
  const page = await open()
  await page.goto('/sign-in')
  await page.getByRole('link', { name: t('at_host.continue', { host: new URL(provider.issuer).host }) }).click()
  await signInThere(page, 'unverified')
  const host = new URL(provider.issuer).host
  await page
    .getByRole('alert')
    .getByText(t('provider_refused.unverified', { host, name: 'Northwind Traders' }))
    .waitFor()
  expect(await accessibilityProblems(page)).toEqual([])
  await press(page, 'a.button')
  await heading(page, t('sign_in.heading', { name: 'Northwind Traders' }))
})
