/** Changes that make a service like its configuration. */
import { describe, expect, test } from 'vitest'
import type {
  ApplicationEntry,
  Configuration,
  Live,
  LiveAccount,
  LiveConfiguration,
  LiveRole,
} from '../../../src/core/manage/configuration.ts'
import { type Change, explainChange, planChanges } from '../../../src/core/manage/plan.ts'

const makeLiveApplication = (name: string, given: Partial<ApplicationEntry> = {}): Live<ApplicationEntry> => ({
  ...{ id: `id-of-${name}`, name },
  entry: {
    ...{ allowed_scopes: ['orders:read'], default_scopes: [], required_scopes: [], device_flow: true },
    ...{ redirect_uris: [], public: false, pkce_required: false, resource_server: false },
    ...given,
  },
})

const makeLiveRole = (name: string, scopes: readonly string[], holdsEveryScope = false): LiveRole => ({
  ...{ id: `id-of-${name}`, name, entry: { scopes }, holdsEveryScope },
})

const clerk = makeLiveRole('Clerk', ['orders:read', 'stock:read'])
const administrator = makeLiveRole('Administrator', [], true)
const acme: LiveAccount = {
  ...{ name: 'Acme', external_id: 'C-1', roles: [clerk, administrator] },
  applications: [makeLiveApplication('Display')],
}

function makeLive(account: Partial<LiveAccount> = {}): LiveConfiguration {
  const entry = { title: 'Read orders', dangerous: false, device_flow: true }
  return {
    scopes: [{ id: 'orders:read', name: 'orders:read', entry }],
    accounts: new Map([['acme', { ...acme, ...account }]]),
  }
}

const plan = (desired: Configuration, account: Partial<LiveAccount> = {}) => planChanges(desired, makeLive(account))
const NOTHING = { changes: [], surplus: [], problems: [] }

describe('nothing changes', () => {
  test.each<[string, Configuration]>([
    ['if the file is empty', {}],
    ['if it has sections with nothing of the catalogue or the accounts', { scopes: {}, accounts: {} }],
    ['if an account names no roles and no applications', { accounts: { acme: { name: 'Acme' } } }],
    ['if everything is as written', { accounts: { acme: { name: 'Acme', external_id: 'C-1' } } }],
    ['of members that are left out', { scopes: { 'orders:read': { title: 'Read orders' } } }],
    [
      'if a list has another order',
      { accounts: { acme: { name: 'Acme', roles: { Clerk: { scopes: ['stock:read', 'orders:read'] } } } } },
    ],
  ])('%s', (_when, desired) => {
    expect(plan(desired)).toEqual(NOTHING)
  })
})

describe('what the service does not have is added', () => {
  test('with all its members and its place in the file: scopes first, then accounts, roles, applications', () => {
    const desired: Configuration = {
      accounts: {
        beta: {
          ...{ name: 'Beta', roles: { Boss: { scopes: ['stock:read'] } } },
          applications: { Till: { allowed_scopes: [] } },
        },
        acme: { name: 'Acme', external_id: 'C-1' },
      },
      scopes: { 'stock:read': { title: 'See the stock' } },
    }
    const added = { action: 'add', id: null, before: {} }
    const within = { ...added, account: 'beta' }
    expect(plan(desired)).toEqual({
      ...NOTHING,
      changes: [
        {
          ...{ ...added, kind: 'scope', account: null, name: 'stock:read' },
          ...{ members: { title: 'See the stock' }, path: ['scopes', 'stock:read'] },
        },
        {
          ...{ ...added, kind: 'account', account: null, name: 'beta' },
          ...{ members: { name: 'Beta' }, path: ['accounts', 'beta'] },
        },
        {
          ...{ ...within, kind: 'role', name: 'Boss', members: { scopes: ['stock:read'] } },
          path: ['accounts', 'beta', 'roles', 'Boss'],
        },
        {
          ...{ ...within, kind: 'application', name: 'Till', members: { allowed_scopes: [] } },
          path: ['accounts', 'beta', 'applications', 'Till'],
        },
      ],
    })
  })
})

describe('differences become changes', () => {
  test('in the members that differ, by the id that it has', () => {
    const accounts = { acme: { name: 'Acme & Co', external_id: 'C-1' } }
    const scopes = { 'orders:read': { title: 'See orders', device_flow: true } }
    expect(plan({ scopes, accounts })).toEqual({
      ...NOTHING,
      changes: [
        {
          ...{ action: 'change', kind: 'scope', account: null, name: 'orders:read', id: 'orders:read' },
          ...{ members: { title: 'See orders' }, before: { title: 'Read orders' }, path: ['scopes', 'orders:read'] },
        },
        {
          ...{ action: 'change', kind: 'account', account: null, name: 'acme', id: 'acme' },
          ...{ members: { name: 'Acme & Co' }, before: { name: 'Acme' }, path: ['accounts', 'acme'] },
        },
      ],
    })
  })

  test('of a role and an application in the account that they belong to', () => {
    const roles = { Clerk: { scopes: ['orders:read'] } }
    const applications = { Display: { allowed_scopes: ['orders:read'], device_flow: false, public: false } }
    const { changes } = plan({ accounts: { acme: { name: 'Acme', roles, applications } } })
    const change = { action: 'change', account: 'acme' }
    expect(changes).toEqual([
      {
        ...{ ...change, kind: 'role', name: 'Clerk', id: 'id-of-Clerk', path: ['accounts', 'acme', 'roles', 'Clerk'] },
        ...{ members: { scopes: ['orders:read'] }, before: { scopes: ['orders:read', 'stock:read'] } },
      },
      {
        ...{ ...change, kind: 'application', name: 'Display', id: 'id-of-Display' },
        ...{ members: { device_flow: false }, before: { device_flow: true } },
        path: ['accounts', 'acme', 'applications', 'Display'],
      },
    ])
  })

  test('also if only an external id is removed', () => {
    const { changes } = plan({ accounts: { acme: { name: 'Acme', external_id: null } } })
    expect(changes.map(({ members, before }) => [members, before])).toEqual([
      [{ external_id: null }, { external_id: 'C-1' }],
    ])
  })

  test('a list that becomes empty or full is different, and so is one that the service does not show', () => {
    const changesOf = (shown: readonly string[] | undefined, wanted: readonly string[]) => {
      const display = makeLiveApplication('Display', shown && { redirect_uris: shown })
      const { redirect_uris: _, ...older } = display.entry
      const entry = shown ? display.entry : (older as typeof display.entry)
      const applications = { Display: { allowed_scopes: ['orders:read'], redirect_uris: wanted } }
      const desired = { accounts: { acme: { name: 'Acme', applications } } }
      return plan(desired, { applications: [{ ...display, entry }] }).changes.map(({ members }) => members)
    }
    expect(changesOf(['https://a.example/'], ['https://a.example/'])).toEqual([])
    expect(changesOf(['https://a.example/'], [])).toEqual([{ redirect_uris: [] }])
    expect(changesOf([], ['https://a.example/'])).toEqual([{ redirect_uris: ['https://a.example/'] }])
    expect(changesOf(undefined, [])).toEqual([{ redirect_uris: [] }])
  })
})

describe('a problem is', () => {
  test('a name that two have: the file cannot say which of them it means', () => {
    const roles = { Clerk: { scopes: [] } }
    const twice = { roles: [clerk, { ...clerk, id: 'id-of-other' }] }
    const { changes, problems } = plan({ accounts: { acme: { name: 'Acme', roles } } }, twice)
    const message = expect.stringMatching(/several of this name: id-of-Clerk, id-of-other\./)
    expect(problems).toEqual([{ path: ['accounts', 'acme', 'roles', 'Clerk'], message }])
    expect(changes).toEqual([])
  })

  test('the role of administrators', () => {
    const roles = { Administrator: { scopes: ['orders:read'] } }
    const { changes, problems } = plan({ accounts: { acme: { name: 'Acme', roles } } })
    const message = expect.stringMatching(/holds every scope/)
    expect(problems).toEqual([{ path: ['accounts', 'acme', 'roles', 'Administrator'], message }])
    expect(changes).toEqual([])
  })

  test.each([
    ['dangerous', { title: 'Read', dangerous: true }, /^dangerous is no and cannot be changed/],
    ['device_flow', { title: 'Read', device_flow: false }, /^device flow is yes and cannot be changed/],
  ])('another %s of a scope: it is decided at the beginning', (member, entry, message) => {
    const { changes, problems } = plan({ scopes: { 'orders:read': entry } })
    expect(problems).toEqual([{ path: ['scopes', 'orders:read', member], message: expect.stringMatching(message) }])
    expect(changes).toEqual([])
  })

  test.each([
    ['public', /^public is no and cannot be changed/],
    ['resource_server', /^resource server is no and cannot be changed/],
  ])('another %s of an application', (member, message) => {
    const applications = { Display: { allowed_scopes: [], [member]: true } }
    const { changes, problems } = plan({ accounts: { acme: { name: 'Acme', applications } } })
    const path = ['accounts', 'acme', 'applications', 'Display', member]
    expect(problems).toEqual([{ path, message: expect.stringMatching(message) }])
    expect(changes).toEqual([])
  })
})

describe('surplus is', () => {
  const stock = makeLiveApplication('Stock')

  test('each role and application that the file leaves out of a section that it has', () => {
    const desired = {
      accounts: { acme: { name: 'Acme', roles: {}, applications: { Display: { allowed_scopes: [] } } } },
    }
    const deleted = { action: 'delete', account: 'acme', members: {}, before: {} }
    expect(plan(desired, { applications: [...acme.applications, stock] }).surplus).toEqual([
      { ...deleted, kind: 'role', name: 'Clerk', id: 'id-of-Clerk', path: ['accounts', 'acme', 'roles'] },
      { ...deleted, kind: 'application', name: 'Stock', id: 'id-of-Stock', path: ['accounts', 'acme', 'applications'] },
    ])
  })

  test('none of a section that the file does not have', () => {
    const { surplus } = plan({ accounts: { acme: { name: 'Acme', applications: {} } } })
    expect(surplus.map(({ kind }) => kind)).toEqual(['application'])
  })

  test('a role with the name of something that every object has', () => {
    const named = makeLiveRole('constructor', [])
    const { surplus } = plan({ accounts: { acme: { name: 'Acme', roles: {} } } }, { roles: [named] })
    expect(surplus.map(({ name }) => name)).toEqual(['constructor'])
  })

  test('never a scope or an account', () => {
    expect(plan({ scopes: {}, accounts: {} }).surplus).toEqual([])
  })
})

describe('in words, a change', () => {
  const application: Change = {
    ...{ action: 'change', kind: 'application', account: 'acme', name: 'Display', id: 'id', path: [] },
    ...{ members: {}, before: {} },
  }

  test.each<[string, Partial<Change>, string]>([
    [
      'of lists shows them in alphabetical order',
      { members: { allowed_scopes: ['b', 'a'] }, before: { allowed_scopes: ['a'] } },
      'application Display of acme: allowed scopes a → a b',
    ],
    [
      'to or from an empty list shows that there is none',
      {
        members: { redirect_uris: [], default_scopes: ['a'] },
        before: { redirect_uris: ['https://a.example/'], default_scopes: [] },
      },
      'application Display of acme: redirect URIs https://a.example/ → none, default scopes none → a',
    ],
    [
      'of a switch shows yes and no',
      { members: { device_flow: true, pkce_required: false }, before: { device_flow: false, pkce_required: true } },
      'application Display of acme: device flow no → yes, pkce required yes → no',
    ],
    [
      'of a text shows it in quotes, and that there is none',
      { kind: 'account', account: null, members: { external_id: 'C-1' }, before: { external_id: null } },
      'account Display: external id none → "C-1"',
    ],
    [
      'of a member that the service did not show says that there was none',
      { members: { public: true } },
      'application Display of acme: public none → yes',
    ],
    [
      'that adds shows only what it adds',
      { action: 'add', kind: 'role', members: { scopes: ['orders:read'] } },
      'add role Display of acme: scopes orders:read',
    ],
    ['that deletes only names it', { action: 'delete' }, 'delete application Display of acme'],
  ])('%s', (_what, given, words) => {
    expect(explainChange({ ...application, ...given })).toBe(words)
  })
})
