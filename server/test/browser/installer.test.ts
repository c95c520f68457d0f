/**
 * Somebody who equips a shop: sixty codes within ten minutes, each typed and decided on the pages.
 * docs/interface/device-flow.md, "Guessing".
 */
import { expect, test } from 'vitest'
import { useBrowsing } from '../rig/browser/browsing.ts'
import { confirm, decide, enterCode, signIn } from '../rig/browser/clicks.ts'
import { post } from '../rig/device.ts'
import { HAMBURG } from '../rig/scenes/northwind.ts'

const CODES = 60
const TEN_MINUTES = 600_000

const browsing = useBrowsing()

test('one installer connects sixty devices within ten minutes, and confirms twice', {
  timeout: TEN_MINUTES,
}, async () => {
  const { northwind } = browsing
  const { service, dana } = northwind
  const { signage } = northwind.applications
  const page = await browsing.open({ extraHTTPHeaders: { 'x-forwarded-for': HAMBURG } })
  await signIn(page, dana)
  const begun = performance.now()
  const confirmedBefore: number[] = []
  for (let number = 1; number <= CODES; number += 1) {
    const code = await northwind.ask(signage)
    await enterCode(page, code.user_code)
    if (page.url().includes('/confirm?')) {
      confirmedBefore.push(number)
      await confirm(page, dana)
    }
    await decide(page, 'allow')
    expect([number, await page.locator('.sign.granted').count()]).toEqual([number, 1])
    const form = { SVCappid: signage.id, SVCsecret: signage.secret, device_code: code.device_code }
    expect((await post(service.address, '/auth/oauth/device/polling', { form })).status).toBe(200)
  }
  expect(confirmedBefore).toEqual([21, 41])
  expect(performance.now() - begun).toBeLessThan(TEN_MINUTES)
})
