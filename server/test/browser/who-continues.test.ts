/** One code and two users, in real Chromium: who goes on with it, and what the others are told, on the page and on the device. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { wordsFor } from '../../src/pages/ui/words.ts'
import { useBrowsing } from '../rig/browser/browsing.ts'
import { decide, enterCode, press, readAll, signIn } from '../rig/browser/clicks.ts'
import { makeHost, signInAtHost } from '../rig/host-service.ts'
import { CHOSEN_PASSWORD, makeInvitedUser } from '../rig/mailed-link.ts'
import { type MadeUser, makeAccount } from '../rig/make.ts'
import { makeManagementKey, manageClient } from '../rig/manage.ts'
import { needs } from '../rig/origins/needs.ts'
import { startTestService } from '../rig/service.ts'
import type { Web } from '../rig/web.ts'

const { t } = wordsFor('en')

const browsing = useBrowsing()

const device = () => browsing.northwind.service.device('oauth', browsing.northwind.applications.signage)
const heading = (page: Page) => page.getByRole('heading', { level: 1 })

/** A window in which the user is signed in at their account. */
async function windowOf(user: MadeUser, slug = browsing.northwind.slug, password = CHOSEN_PASSWORD): Promise<Page> {
  const baseURL = browsing.northwind.originOf(slug)
  const page = await browsing.openAlone({ baseURL })
  await signIn(page, user, password, baseURL)
  return page
}

async function northwindAccount(): Promise<{ id: string; slug: string }> {
  const { service, slug } = browsing.northwind
  const [row] = await service.database.query<{ id: string }>('select id from accounts where slug = $1', [slug])
  return { id: row?.id ?? '', slug }
}

test(
  'a person who typed the code in one account types it in another, and the device gets its tokens there',
  needs('password'),
  async () => {
    const { service } = browsing.northwind
    const [here, there] = [await northwindAccount(), await makeAccount(service.context.db)]
    const email = 'pat@both.example'
    const [first, second] = [await makeInvitedUser(service, here, email), await makeInvitedUser(service, there, email)]
    const code = await device().code({ scope: 'orders:read' })
    const left = await windowOf(first.user)
    await enterCode(left, code.user_code)
    await heading(left).getByText('Acme Signage wants access to').waitFor()

    const page = await windowOf(second.user, there.slug)
    await enterCode(page, code.user_code)
    await heading(page).getByText(`Acme Signage wants access to Account ${there.slug}`).waitFor()
    await decide(left, 'allow')
    await heading(left).getByText(t('decided.moved')).waitFor()
    expect(await left.locator('main').textContent()).not.toContain(there.slug)
    expect((await device().poll(code.device_code)).body.error).toBe('auth_pending')

    await decide(page, 'allow')
    await heading(page).getByText(t('decided.granted')).waitFor()
    expect(await device().poll(code.device_code)).toMatchObject({ status: 200, body: { scope: 'orders:read' } })
  },
)

test(
  'somebody else in another account closes the code: the device hears auth_expired, and both are told',
  needs('password'),
  async () => {
    const { service, dana } = browsing.northwind
    const there = await makeAccount(service.context.db)
    const other = await makeInvitedUser(service, there)
    const code = await device().code()
    const left = await windowOf(dana)
    await enterCode(left, code.user_code)
    const page = await windowOf(other.user, there.slug)
    await enterCode(page, code.user_code)
    await page.getByRole('alert').getByText(t('enter_code.problem_closed')).waitFor()
    expect((await device().poll(code.device_code)).body.error).toBe('auth_expired')
    await decide(left, 'allow')
    await heading(left).getByText(t('decided.entered_elsewhere')).waitFor()
    await enterCode(left, code.user_code)
    await left.getByRole('alert').getByText(t('enter_code.problem_closed')).waitFor()
  },
)

test('a colleague continues, with the warning and the last group, and the first page cannot grant any more', async () => {
  const { ben, dana } = browsing.northwind
  const code = await device().code({ scope: 'orders:write' })
  const left = await windowOf(ben)
  await enterCode(left, code.user_code)
  const page = await windowOf(dana)
  await enterCode(page, code.user_code)
  await page
    .getByRole('alert')
    .getByText(t('enter_code.problem_taken', { name: 'Northwind Traders' }))
    .waitFor()
  await press(page, 'button[name=take_over]')
  await page.getByText(t('consent.shared')).waitFor()

  await decide(left, 'cancel')
  await heading(left).getByText(t('decided.taken_over')).waitFor()
  expect(await left.locator('main').textContent()).not.toContain('dana')
  await enterCode(left, code.user_code)
  expect(await left.locator('button[name=take_over]').count()).toBe(0)

  await readAll(page)
  await page.getByLabel(t('consent.retype')).fill(code.user_code.slice(-3))
  await decide(page, 'allow')
  await heading(page).getByText(t('decided.granted')).waitFor()
  expect(await device().poll(code.device_code)).toMatchObject({ status: 200, body: { scope: 'orders:write' } })
})

test(
  'a hostile account that gives its user the external id of somebody else moves nothing',
  needs('own_origin'),
  async () => {
    const host = await makeHost()
    const settings = { ...host.environment, SIGN_IN_CREATES: 'users', SIGN_IN_SUBJECTS: 'shared', LOG_LEVEL: 'silent' }
    const service = await startTestService(settings)
    try {
      const [victims, hostile] = [await makeAccount(service.context.db), await makeAccount(service.context.db)]
      const ann = { sub: 'person-1', email: 'ann@host.example' }
      const mallory = { sub: 'person-2', email: 'mallory@host.example' }
      /** The statement comes through the rig; the pages are Chromium's. */
      const windowAt = async ({ slug }: { slug: string }, claims: Record<string, string>) => {
        const web: Web = service.web({}, slug)
        await signInAtHost(service, host, web, { claims })
        const page = await browsing.openAlone({ baseURL: web.origin })
        const cookies = Array.from(web.cookies, ([name, value]) => ({
          name,
          value,
          url: web.origin.replace('http:', 'https:'),
          secure: true,
        }))
        await page.context().addCookies(cookies)
        return page
      }
      const page = await windowAt(hostile, mallory)
      const { key } = await makeManagementKey(service, { account: hostile.slug })
      const call = manageClient(service.address, key)
      const found = await call('GET', `/scim/2/Users?filter=${encodeURIComponent(`userName eq "${mallory.email}"`)}`)
      const [user] = found.body.Resources
      const stolen = { schemas: user.schemas, userName: mallory.email, externalId: ann.sub, active: true }
      const headers = { 'content-type': 'application/scim+json; charset=utf-8' }
      expect((await call('PUT', `/scim/2/Users/${user.id}`, stolen, headers)).status).toBe(200)

      const code = await service.device().code()
      await enterCode(await windowAt(victims, ann), code.user_code)
      await enterCode(page, code.user_code)
      await page.getByRole('alert').getByText(t('enter_code.problem_closed')).waitFor()
      expect((await service.device().poll(code.device_code)).body.error).toBe('auth_expired')
    } finally {
      await service.stop()
      host.remove()
    }
  },
)
