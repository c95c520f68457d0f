/**
 * The minute between the code on the television and "Access allowed", for a scripted person with a phone who has used this
 * account with a passkey before.
 */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { wordsFor } from '../../src/pages/ui/words.ts'
import { useBrowsing } from '../rig/browser/browsing.ts'
import { press, signIn, submit } from '../rig/browser/clicks.ts'
import { createScriptedPerson, type ScriptedPerson } from '../rig/browser/scripted-person.ts'
import { addVirtualAuthenticator } from '../rig/browser/virtual-authenticator.ts'
import { HAMBURG } from '../rig/scenes/northwind.ts'

const { t } = wordsFor('en')

const browsing = useBrowsing()

const PHONE = { viewport: { width: 390, height: 844 }, extraHTTPHeaders: { 'x-forwarded-for': HAMBURG } }

const CODE_FIELD = '#app-code'
const PASSKEY = 'passkey-button button[type=submit]'
const KNOWN_ACCOUNT = 'button[name=account]'
const ALLOW = 'button[name=decision][value=allow]'

/** The phone of somebody who came this way before, and is not signed in any more. */
async function openKnownPhone(): Promise<Page> {
  const { northwind } = browsing
  const page = await browsing.openAlone(PHONE)
  // A virtual authenticator would accept autofill before the person has done anything.
  await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = () => Promise.resolve(false)')
  await addVirtualAuthenticator(page)
  await page.goto(`${northwind.service.config.publicUrl}/activate`)
  await page.fill('#typed', northwind.slug)
  await press(page, 'form[action="/activate"] button[type=submit]')
  await signIn(page, northwind.dana, undefined, northwind.origin)
  await page.goto('/security')
  await page.getByLabel(t('security.passkey_name')).fill('Phone')
  await page.getByRole('button', { name: t('security.add_passkey') }).click()
  await page.getByRole('link', { name: t('recovery_codes.stored') }).click()
  await submit(page, '/sign-out')
  await press(page, PASSKEY)
  await submit(page, '/sign-out')
  return page
}

/** Does what each page asks for, until access is allowed. */
async function connect(page: Page, person: ScriptedPerson, userCode: string): Promise<void> {
  const has = async (selector: string) =>
    (await page.locator(selector).count()) > 0 && page.locator(selector).first().isVisible()
  for (let pages = 0; pages < 10 && !(await has('.sign.granted')); pages += 1) {
    const [types, asksPasskey] = [await has(CODE_FIELD), await has(PASSKEY)]
    if (types) await page.locator(CODE_FIELD).pressSequentially(userCode)
    await person.sees(page, { digits: types ? userCode.length : 0, decisions: 1, passkeys: asksPasskey ? 1 : 0 })
    if (asksPasskey) await press(page, PASSKEY)
    else if (types) await press(page, 'form:has(#app-code) button[type=submit]')
    else await press(page, (await has(KNOWN_ACCOUNT)) ? KNOWN_ACCOUNT : ALLOW)
  }
}

test('from the code on the television to "Access allowed" a person needs less than 30 seconds, with a passkey, on two pages', async () => {
  const { northwind } = browsing
  const page = await openKnownPhone()
  const { user_code } = await northwind.ask(northwind.applications.signage)
  const person = createScriptedPerson()
  await page.goto(`${northwind.service.config.publicUrl}/activate`)
  await connect(page, person, user_code)
  await page.getByRole('heading', { level: 1, name: t('decided.granted') }).waitFor()
  expect(person.spent.seconds).toBeLessThan(30)
  expect([person.spent.pages, person.spent.clicks]).toEqual([2, 2])
})
