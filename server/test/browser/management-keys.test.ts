/** Management keys in the consoles, in real Chromium: an administrator's are of the account, an operator's of the service. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { wordsFor } from '../../src/pages/ui/words.ts'
import { accessibilityProblems } from '../rig/browser/accessibility.ts'
import { useBrowsing } from '../rig/browser/browsing.ts'
import { press, signIn, submit } from '../rig/browser/clicks.ts'
import { makeManagementKey, manageClient } from '../rig/manage.ts'
import { PASSWORD } from '../rig/scenes/northwind.ts'

const { t } = wordsFor('en')

const browsing = useBrowsing()

async function create(page: Page, path: string, label: string, scope: string): Promise<string> {
  await page.goto(path)
  await page.fill('#label', label)
  await page.check(`input[name="scope.${scope}"]`)
  await submit(page, new URL(page.url()).pathname)
  return (await page.locator('#management-key').textContent()) ?? ''
}

/** Status of a request with this key. */
const asked = async (key: string) => {
  const { service, slug } = browsing.northwind
  return (await manageClient(service.address, key)('GET', `/accounts/${slug}/users`)).status
}

async function open(page: Page, label: string): Promise<void> {
  await press(page, 'p.actions a.button')
  await page.getByRole('link', { name: label }).click()
  await page.getByRole('heading', { level: 1, name: label }).waitFor()
}

async function revoke(page: Page, path: string): Promise<void> {
  await page.getByText(t('key.revoke'), { exact: true }).click()
  await submit(page, `${path}/revoke`)
  await page.getByText(t('keys.notice_revoked')).waitFor()
}

async function refusedWithin(key: string, ms: number): Promise<boolean> {
  for (const until = performance.now() + ms; performance.now() < until; await sleep(20)) {
    if ((await asked(key)) === 401) return true
  }
  return false
}

test('an administrator creates a key, uses it, replaces its secret and revokes it', async () => {
  const { northwind } = browsing
  const page = await browsing.open()
  await signIn(page, northwind.ann)
  const key = await create(page, '/account/keys', 'Directory', 'users:write')
  expect(key).toMatch(/^lkm_/)
  expect(await asked(key)).toBe(200)
  await open(page, 'Directory')
  await page.getByText(northwind.ann.email).last().waitFor()

  await page.selectOption('#overlap', '1')
  await submit(page, '/account/keys/rotate')
  const next = (await page.locator('#management-key').textContent()) ?? ''
  expect([await asked(key), await asked(next)]).toEqual([200, 200])
  await open(page, 'Directory')
  await revoke(page, '/account/keys')
  expect([await refusedWithin(key, 2_000), await refusedWithin(next, 2_000)]).toEqual([true, true])
  const events = await northwind.service.database.query<{ kind: string }>(
    "select kind from audit_events where kind like 'management_key.%' and actor_id = $1 order by id",
    [northwind.ann.id],
  )
  expect(events.map(({ kind }) => kind)).toEqual([
    'management_key.created',
    'management_key.rotated',
    'management_key.revoked',
  ])
})

test('a key without a name or a scope is not created, and the page says why', async () => {
  const page = await browsing.open()
  await signIn(page, browsing.northwind.ann)
  await page.goto('/account/keys')
  await submit(page, '/account/keys')
  await page.getByRole('alert').getByText(t('keys.problem_label')).waitFor()
  expect(await accessibilityProblems(page)).toEqual([])
  await page.fill('#label', 'Directory')
  await submit(page, '/account/keys')
  await page.getByRole('alert').getByText(t('keys.problem_scope')).waitFor()
  expect(await page.inputValue('#label')).toBe('Directory')
})

test('an operator creates a key that reads from every account, and none that writes', async () => {
  const { northwind } = browsing
  const { operators, olga, service } = northwind
  const writing = await makeManagementKey(service, { label: 'Billing', scopes: ['users:write'] })
  const page = await browsing.open()
  await signIn(page, olga, PASSWORD, operators)
  const key = await create(page, `${operators}/operator/keys`, 'Reports', 'users:read')
  expect(await asked(key)).toBe(200)
  await page.goto(`${operators}/operator/keys`)
  expect(await page.locator('input[name$=":write"]').count()).toBe(0)
  await page.getByRole('link', { name: 'Billing' }).click()
  await page.getByText(t('keys.service_writes')).waitFor()
  expect(await page.locator('form[action="/operator/keys/rotate"]').count()).toBe(0)
  await revoke(page, '/operator/keys')
  expect(await refusedWithin(writing.key, 2_000)).toBe(true)
  // No key reaches the operators' account.
  expect((await page.goto(`${operators}/account/keys`))?.status()).toBe(404)
})
