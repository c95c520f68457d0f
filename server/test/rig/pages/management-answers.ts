/** Pages about management keys and the changes of addresses that they ask for: a part of every-answer.ts. */
import type { Page } from 'playwright-core'
import { saveAddressChange } from '../../../src/store/accounts/address-changes.ts'
import { press, send } from '../browser/clicks.ts'
import type { Northwind } from '../scenes/northwind.ts'
import type { AnswerPage } from './answer-page.ts'
import { linkPath } from './every-page.ts'

const NEW_ADDRESS = 'dana@northwind-group.example'

export function managementAnswers(northwind: Northwind): readonly AnswerPage[] {
  const { service, dana, ben } = northwind
  const { database, context } = service
  /** A program asks for another address of Dana. */
  const ask = async (email: string) => {
    const [row] = await database.query<{ id: string }>('select account_id as id from users where id = $1', [dana.id])
    const change = { userId: dana.id, accountId: row?.id ?? '', email, requestedBy: 'none', lifetimeMs: 3_600_000 }
    await context.db.transaction((tx) => saveAddressChange(tx, change))
  }
  const restore = () => database.query('update users set email = $2 where id = $1', [dana.id, dana.email])
  const byLink = async (page: Page, email: string, decision: 'change' | 'keep') => {
    await ask(email)
    await page.goto(await linkPath(northwind, 'address', dana))
    await press(page, `button[name=decision][value=${decision}]`)
  }
  const byAdministrator = async (page: Page, email: string, tick = '') => {
    await ask(email)
    await page.goto('/account/people/addresses')
    if (tick !== '') await page.locator('label', { hasText: tick }).last().click()
    await press(page, 'button[name=decision][value=change]')
  }
  return [
    {
      name: 'address-changed',
      as: 'nobody',
      says: 'change_address.changed_text',
      open: (page) => byLink(page, NEW_ADDRESS, 'change'),
      after: restore,
    },
    {
      name: 'address-kept',
      as: 'nobody',
      says: 'change_address.kept_text',
      open: (page) => byLink(page, NEW_ADDRESS, 'keep'),
    },
    {
      name: 'address-exists',
      as: 'nobody',
      says: 'change_address.exists',
      open: (page) => byLink(page, ben.email, 'change'),
    },
    {
      name: 'addresses-none',
      as: 'ann',
      says: 'addresses.problem_none',
      open: (page) => byAdministrator(page, NEW_ADDRESS),
    },
    {
      name: 'addresses-taken',
      as: 'ann',
      says: 'addresses.problem_taken',
      open: (page) => byAdministrator(page, ben.email, ben.email),
    },
    {
      name: 'addresses-changed',
      as: 'ann',
      says: 'addresses.notice_change',
      open: (page) => page.goto('/account/people/addresses?notice=change'),
    },
    {
      name: 'keys-networks',
      as: 'ann',
      says: 'keys.problem_networks',
      open: async (page) => {
        await page.goto('/account/keys')
        await page.check('[name="scope.scim"]')
        await page.fill('#label', 'Directory')
        await page.fill('#networks', 'the office')
        await press(page, 'form[action="/account/keys"] button.button')
      },
    },
    {
      name: 'keys-unnamed',
      as: 'ann',
      says: 'keys.problem_label',
      open: (page) => send(page, '/account/keys', '/account/keys', { label: 'https://elsewhere.example' }),
    },
  ]
}
