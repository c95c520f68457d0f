/** Who comes in from the identity provider of an account, and with which roles. */
import { describe, expect, test } from 'vitest'
import { domainProblem, readClaims, readDomains, rolesByClaim } from '../../../src/core/provider/provider.ts'

describe('the domains of a provider', () => {
  const problem = (email: string | null, emailVerified = true, domains = ['acme.example', 'acme.test']) =>
    domainProblem({ domains }, { email, emailVerified })

  test('allow a verified address of each of them', () => {
    expect(problem('ada@acme.example')).toBeNull()
    expect(problem('ada@acme.test')).toBeNull()
  })

  test.each(['ada@other.example', 'ada@sub.acme.example', 'ada@acme.example.org', 'acme.example@other.example'])(
    'do not allow %s',
    (email) => {
      expect(problem(email)).toBe('domain')
    },
  )

  test('go by what comes after the last @', () => {
    expect(problem('ada@other.example@acme.example')).toBeNull()
    expect(problem('ada@acme.example@other.example')).toBe('domain')
  })

  test('do not allow an address that is not verified, or none', () => {
    expect(problem('ada@acme.example', false)).toBe('unverified')
    expect(problem(null)).toBe('unverified')
    expect(problem(null, false)).toBe('unverified')
  })

  test('allow everybody if there are none', () => {
    expect(problem('ada@other.example', false, [])).toBeNull()
    expect(problem(null, false, [])).toBeNull()
  })
})

describe('the roles of a user', () => {
  const mapping = [
    { roleId: 'clerk', value: 'staff' },
    { roleId: 'boss', value: 'chiefs' },
    { roleId: 'buyer', value: 'staff' },
  ]

  test('are all whose value the claim has, without the default role', () => {
    expect(rolesByClaim(['staff', 'unknown'], mapping, null)).toEqual(['clerk', 'buyer'])
    expect(rolesByClaim(['chiefs'], mapping, 'guest')).toEqual(['boss'])
  })

  test('are the default role, if no value matches', () => {
    expect(rolesByClaim(['unknown'], mapping, 'guest')).toEqual(['guest'])
    expect(rolesByClaim([], [], 'guest')).toEqual(['guest'])
  })

  test('are none without a match and a default', () => {
    expect(rolesByClaim(['unknown'], mapping, null)).toEqual([])
  })
})

describe('domains as typed', () => {
  test.each([
    ['acme.example', ['acme.example']],
    ['Acme.EXAMPLE', ['acme.example']],
    ['b.example a.example', ['b.example', 'a.example']],
    [' a.example,\n\tb.example ; c.example;', ['a.example', 'b.example', 'c.example']],
    ['a.example,A.example', ['a.example']],
    ['', []],
    [' ,; ', []],
  ])('%j are %j', (typed, domains) => {
    expect(readDomains(typed)).toEqual(domains)
  })

  test.each([
    'a.b',
    'xn--bcher-kva.example',
    '1and1.example',
    'a-b.c-d.example',
    `${'x'.repeat(63)}.example`,
    `a.${'x'.repeat(63)}`,
    `${'a.'.repeat(126)}a`,
  ])('%s can be one', (domain) => {
    expect(readDomains(domain)).toEqual([domain])
  })

  test.each([
    'acme',
    'acme.',
    '.acme.example',
    'a..example',
    '-a.example',
    'a-.example',
    'a.-example',
    'a.example-',
    'a_b.example',
    'a.exa_mple',
    'bücher.example',
    'ada@acme.example',
    '@acme.example',
    '*.acme.example',
    'https://acme.example',
    'acme.example/',
    `${'x'.repeat(64)}.example`,
    `a.${'x'.repeat(64)}`,
    `${'a.'.repeat(126)}aa`,
  ])('%s is none, also next to a right one', (domain) => {
    expect(readDomains(domain)).toBeNull()
    expect(readDomains(`acme.example ${domain}`)).toBeNull()
  })

  test('are 50 at most, each counted once', () => {
    const typed = (count: number) => Array.from({ length: count }, (_, at) => `d${at}.example`).join(' ')
    expect(readDomains(typed(50))).toHaveLength(50)
    expect(readDomains(typed(51))).toBeNull()
    expect(readDomains(`${typed(50)} d0.example,`)).toHaveLength(50)
  })
})

describe('claims', () => {
  const read = (claims: Readonly<Record<string, unknown>>, roleClaim: string | null = null) =>
    readClaims({ sub: 'u1', ...claims }, roleClaim)

  test('are read as what they say of the user', () => {
    const claims = { email: ' Ada@Acme.example', email_verified: true, name: ' Ada ', groups: ['staff'] }
    expect(read(claims, 'groups')).toEqual({
      ...{ subject: 'u1', email: 'ada@acme.example', emailVerified: true, name: 'Ada', roleValues: ['staff'] },
    })
  })

  test('say nothing of what they leave out', () => {
    const nothing = { email: null, emailVerified: false, name: null, roleValues: [] }
    expect(readClaims({ sub: 'u1' }, 'groups')).toEqual({ subject: 'u1', ...nothing })
    expect(readClaims({ sub: 'u1' }, null)).toEqual({ subject: 'u1', ...nothing })
  })

  test.each([undefined, null, 1, '', 'x'.repeat(256), 'u\0'])('name nobody with the subject %j', (sub) => {
    expect(readClaims({ sub, email: 'ada@acme.example' }, null)).toBeNull()
  })

  test('name somebody with a subject of 255 characters', () => {
    expect(read({ sub: 'x'.repeat(255) })?.subject).toHaveLength(255)
  })

  test.each([1, null, 'ada', 'ada@acme.example, eve@other.example'])('have no address in %j', (email) => {
    expect(read({ email })?.email).toBeNull()
  })

  test.each([false, 'true', 1, null])('verify no address with %j', (email_verified) => {
    expect(read({ email_verified })?.emailVerified).toBe(false)
  })

  test.each([1, null, '', '  ', 'A\0da'])('have no name in %j', (name) => {
    expect(read({ name })?.name).toBeNull()
  })

  test('have a name of 200 characters at most, without the space around it', () => {
    expect(read({ name: `  ${'x'.repeat(200)}` })?.name).toBe('x'.repeat(200))
    expect(read({ name: 'x'.repeat(201) })?.name).toBe('x'.repeat(200))
  })

  test.each([
    ['a list', ['staff', 'chiefs'], ['staff', 'chiefs']],
    ['a single text', 'staff', ['staff']],
    ['a list with something else in it', ['staff', 1, null, { a: 'b' }], ['staff']],
    ['an object', { staff: true }, []],
    ['nothing', null, []],
  ])('have roles in %s', (_what, groups, values) => {
    expect(read({ groups }, 'groups')?.roleValues).toEqual(values)
  })

  test('have no roles if no claim is named for them, whatever claims are called', () => {
    expect(read({ groups: ['staff'], null: ['staff'], '': ['staff'] }, null)?.roleValues).toEqual([])
  })

  test('have no roles in what is not said of this user', () => {
    const inherited: Record<string, unknown> = Object.create({ groups: ['staff'] })
    inherited.sub = 'u1'
    expect(readClaims(inherited, 'groups')?.roleValues).toEqual([])
  })

  test('have 500 roles at most', () => {
    const values = Array.from({ length: 501 }, (_, at) => `r${at}`)
    expect(read({ groups: values }, 'groups')?.roleValues).toEqual(values.slice(0, 500))
  })
})
