/** Problems of a configuration, with their place in the file. */
import { describe, expect, test } from 'vitest'
import { checkConfiguration } from '../../../src/core/manage/check.ts'
import type {
  AccountEntry,
  ApplicationEntry,
  Configuration,
  Live,
  Path,
  RoleEntry,
  ScopeEntry,
} from '../../../src/core/manage/configuration.ts'

const CATALOGUE: readonly Live<ScopeEntry>[] = [
  { id: 's1', name: 'orders:read', entry: { title: 'Read orders', dangerous: false, device_flow: true } },
  { id: 's2', name: 'refunds', entry: { title: 'Pay money back', dangerous: true, device_flow: false } },
]

const check = (configuration: Configuration, live = CATALOGUE) => checkConfiguration(configuration, live)
const checkAccount = (slug: string, account: AccountEntry) => check({ accounts: { [slug]: account } })
const checkRole = (name: string, role: RoleEntry) => checkAccount('acme', { name: 'Acme', roles: { [name]: role } })
const checkApplication = (name: string, entry: ApplicationEntry) =>
  checkAccount('acme', { name: 'Acme', applications: { [name]: entry } })

const at = (path: Path, message: RegExp) => [{ path, message: expect.stringMatching(message) }]

describe('no problem has', () => {
  test.each<[string, Configuration]>([
    ['an empty file', {}],
    ['a scope', { scopes: { 'stock:read': { title: 'See the stock' } } }],
    ['an account with nothing but its name', { accounts: { acme: { name: 'Acme' } } }],
    ['an account with an external id', { accounts: { acme: { name: 'Acme', external_id: 'C-4711' } } }],
    ['an account whose external id is removed', { accounts: { acme: { name: 'Acme', external_id: null } } }],
    [
      'a role with scopes of the file and of the catalogue',
      {
        scopes: { 'stock:read': { title: 'See the stock' } },
        accounts: { acme: { name: 'Acme', roles: { Clerk: { scopes: ['stock:read', 'orders:read'] } } } },
      },
    ],
    [
      'an application with every member',
      {
        accounts: {
          acme: {
            name: 'Acme',
            applications: {
              Display: {
                ...{ allowed_scopes: ['orders:read', 'refunds'], default_scopes: ['orders:read'] },
                ...{ required_scopes: ['orders:read'], device_flow: true },
                redirect_uris: ['https://display.example/back'],
              },
            },
          },
        },
      },
    ],
  ])('%s', (_what, configuration) => {
    expect(check(configuration)).toEqual([])
  })

  test('a public application, and a resource server with a secret', () => {
    expect(checkApplication('Display', { allowed_scopes: [], public: true, resource_server: false })).toEqual([])
    expect(checkApplication('Warehouse', { allowed_scopes: [], public: false, resource_server: true })).toEqual([])
  })

  test('an application with nothing but allowed scopes', () => {
    expect(checkApplication('Display', { allowed_scopes: ['orders:read', 'refunds'] })).toEqual([])
  })
})

describe('a scope', () => {
  test('is named with few characters, and its title is not looked at before', () => {
    const expected = at(['scopes', 'Stock'], /scope is named with a-z, 0-9/)
    expect(check({ scopes: { Stock: { title: '' } } })).toEqual(expected)
  })

  test('has a title that can be shown', () => {
    const expected = at(['scopes', 'stock', 'title'], /title has 1 to 100 characters/)
    expect(check({ scopes: { stock: { title: ' ' } } })).toEqual(expected)
  })
})

describe('an account', () => {
  test('with a wrong slug has the problem at the account itself', () => {
    expect(checkAccount('-acme', { name: 'Acme' })).toEqual(at(['accounts', '-acme'], /slug "-acme"/))
  })

  test('with a wrong name has the problem at its name', () => {
    expect(checkAccount('acme', { name: '' })).toEqual(at(['accounts', 'acme', 'name'], /name .* 1 to 100 characters/))
  })

  test('with a wrong external id has the problem there', () => {
    const expected = at(['accounts', 'acme', 'external_id'], /external id has 1 to 200 characters/)
    expect(checkAccount('acme', { name: 'Acme', external_id: '' })).toEqual(expected)
  })
})

describe('a role', () => {
  test.each(['', ' Clerk', 'Clerk ', 'Cl\nerk'])('cannot be called %j', (name) => {
    const expected = at(['accounts', 'acme', 'roles', name], /name .* 1 to 100 characters/)
    expect(checkRole(name, { scopes: ['nowhere'] })).toEqual(expected)
  })

  test('has scopes of the catalogue only, and the problem names the others and what there is', () => {
    const [problem, ...others] = checkRole('Clerk', { scopes: ['ship', 'orders:read', 'pack'] })
    expect(others).toEqual([])
    expect(problem?.path).toEqual(['accounts', 'acme', 'roles', 'Clerk', 'scopes'])
    expect(problem?.message).toMatch(/catalogue: ship, pack\..*are: orders:read, refunds\./)
  })

  test('is told in alphabetical order which scopes there are, and also if there are none', () => {
    const accounts = { acme: { name: 'Acme', roles: { Clerk: { scopes: ['ship'] } } } }
    const [among] = check({ scopes: { zeta: { title: 'Z' }, alpha: { title: 'A' } }, accounts })
    expect(among?.message).toContain('are: alpha, orders:read, refunds, zeta.')
    const [none] = check({ accounts }, [])
    expect(none?.message).toContain('are: none.')
  })
})

describe('an application', () => {
  const path = ['accounts', 'acme', 'applications', 'Display']

  test('has allowed scopes of the catalogue only', () => {
    const expected = at([...path, 'allowed_scopes'], /catalogue: ship\./)
    expect(checkApplication('Display', { allowed_scopes: ['ship', 'orders:read'] })).toEqual(expected)
  })

  test('cannot be public and a resource server', () => {
    const expected = at([...path, 'resource_server'], /resource server .* cannot be public/)
    expect(checkApplication('Display', { allowed_scopes: [], public: true, resource_server: true })).toEqual(expected)
  })

  test('has default and required scopes among its allowed ones', () => {
    const expected = at(path, /must be allowed ones; orders:read is not/)
    expect(checkApplication('Display', { allowed_scopes: [], default_scopes: ['orders:read'] })).toEqual(expected)
    expect(checkApplication('Display', { allowed_scopes: [], required_scopes: ['orders:read'] })).toEqual(expected)
  })

  test('has no default scope that no typed code may lead to, if it uses codes', () => {
    const scopes = { allowed_scopes: ['orders:read', 'refunds'], default_scopes: ['orders:read', 'refunds'] }
    const expected = at(path, /No typed code may lead to refunds,/)
    expect(checkApplication('Display', { ...scopes, device_flow: true })).toEqual(expected)
    expect(checkApplication('Display', { ...scopes, device_flow: false })).toEqual([])
    expect(checkApplication('Display', scopes)).toEqual([])
  })

  test('has redirect addresses that can be some, and the problem is at their list', () => {
    const expected = at([...path, 'redirect_uris'], /"http:\/\/display.example\/" cannot be a redirect address/)
    const given = { allowed_scopes: [], redirect_uris: ['http://display.example/'] }
    expect(checkApplication('Display', given)).toEqual(expected)
  })

  test('has a name that can be shown', () => {
    const [problem] = checkApplication(' ', { allowed_scopes: [] })
    expect(problem?.path).toEqual(['accounts', 'acme', 'applications', ' '])
  })
})

test('a scope keeps in the catalogue what it is there, whatever the file says of it', () => {
  const display = { allowed_scopes: ['refunds'], default_scopes: ['refunds'], device_flow: true }
  const accounts = { acme: { name: 'Acme', applications: { Display: display } } }
  const problems = check({ scopes: { refunds: { title: 'Pay back', device_flow: true } }, accounts })
  expect(problems).toEqual(at(['accounts', 'acme', 'applications', 'Display'], /No typed code may lead to refunds,/))
})

test('all problems are found at once, scopes first', () => {
  const problems = check({
    scopes: { A: { title: 'A' }, B: { title: 'B' } },
    accounts: {
      acme: { name: '', roles: { ' ': { scopes: [] } }, applications: { Display: { allowed_scopes: ['ship'] } } },
      '-': { name: 'Dash' },
    },
  })
  expect(problems.map(({ path }) => path.join(' > '))).toEqual([
    'scopes > A',
    'scopes > B',
    'accounts > acme > name',
    'accounts > acme > roles >  ',
    'accounts > acme > applications > Display > allowed_scopes',
    'accounts > -',
  ])
})
