/** Pages about management keys, and about what they asked for. */
import { managementScopes } from '../../src/core/manage/key.ts'
import { addressesPage } from '../../src/pages/accounts/addresses.tsx'
import { keyPage, keyShownPage } from '../../src/pages/manage/key.tsx'
import { type KeysModel, keysPage } from '../../src/pages/manage/keys.tsx'
import { addressDecidedPage, changeAddressPage } from '../../src/pages/sign-in/change-address.tsx'
import type { Frame } from '../../src/pages/ui/frame.ts'

const AT = Date.UTC(2026, 10, 15, 14, 32)

export function everyManagePage(frame: Frame, name: string): Readonly<Record<string, string>> {
  const email = 'maria@northwind.example'
  const pendingEmail = 'maria@northwind-group.example'
  const change = { email, pendingEmail, program: name, requestedAt: AT }
  const domain = { mark: 'all', from: 'northwind.example', to: 'northwind-group.example' }
  const domains = [{ ...domain, changes: ['one', 'two'].map((mark) => ({ ...change, mark })) }]
  const others = Array.from({ length: 12 }, (_, at) => ({ ...change, mark: `other-${at}`, program: at ? name : null }))
  const addresses = { domains, others, more: true, notice: null, problem: null, taken: [] } as const
  const used = { lastUsedAt: AT, lastNetwork: '203.0.113.0/24', networks: ['203.0.113.0/24', '2001:db8::/32'] }
  const key = { id: 'mgk_k3v9m2x7q4tz', label: name, scopes: ['scim'], createdBy: email, expiresAt: AT, ...used }
  const keys: Omit<KeysModel, 'problem'> = {
    ...{ path: '/account/keys', of: 'account', keys: [{ ...key, state: 'live' }], more: true, notice: null },
    ...{ offered: managementScopes, lifetimes: [7, 90] },
    typed: { label: name, scopes: ['scim'], days: 90, networks: 'here' },
  }
  const choices = { overlaps: [0, 24], overlap: 24, lifetimes: [7, 90], days: 90, rotatable: true }
  return {
    addresses: addressesPage(frame, addresses),
    addressesNone: addressesPage(frame, { ...addresses, domains: [], others: [], more: false, notice: 'change' }),
    addressesNotTicked: addressesPage(frame, { ...addresses, problem: 'none' }),
    addressesStale: addressesPage(frame, { ...addresses, problem: 'stale' }),
    addressesTaken: addressesPage(frame, { ...addresses, problem: 'taken', taken: [pendingEmail] }),
    changeAddress: changeAddressPage(frame, { link: 'link', email, pendingEmail }),
    addressChanged: addressDecidedPage(frame, { outcome: 'changed', email: pendingEmail }),
    addressKept: addressDecidedPage(frame, { outcome: 'kept', email }),
    addressTaken: addressDecidedPage(frame, { outcome: 'exists' }),
    keys: keysPage(frame, { ...keys, problem: 'networks' }),
    keysUnnamed: keysPage(frame, { ...keys, problem: 'label' }),
    key: keyPage(frame, { ...key, ...choices, path: '/account/keys', state: 'live', createdAt: AT, previousUntil: AT }),
    keyShown: keyShownPage(frame, { path: '/account/keys', label: name, key: 'lkm_', expiresAt: AT }),
  }
}
