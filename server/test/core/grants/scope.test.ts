/** Scopes: parsing a list, requested scopes, granted scopes. docs/interface/credentials.md, "Scopes". */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  formatScope,
  isScopeName,
  parseScope,
  resolveConsent,
  resolveEffective,
  resolveRequested,
  type ScopePolicy,
} from '../../../src/core/grants/scope.ts'

function makePolicy(given: Partial<ScopePolicy> = {}): ScopePolicy {
  return {
    allowedScopes: ['orders:read', 'orders:write', 'stock:read'],
    defaultScopes: ['orders:read'],
    requiredScopes: [],
    ...given,
  }
}

describe('a scope list', () => {
  test.each([
    ['orders:read', ['orders:read']],
    ['orders:read,orders:write', ['orders:read', 'orders:write']],
    ['orders:read orders:write', ['orders:read', 'orders:write']],
    [' orders:read ,\n\torders:write ', ['orders:read', 'orders:write']],
    [',,orders:read,,', ['orders:read']],
    ['b,a,b,a', ['b', 'a']],
    ['', []],
    [' , ', []],
  ])('%j is read as %j', (text, scopes) => {
    expect(parseScope(text)).toEqual(scopes)
  })

  test('is answered comma-separated, and reads back as it was', () => {
    expect(formatScope(['orders:read', 'stock:read'])).toBe('orders:read,stock:read')
    expect(formatScope([])).toBe('')
    const name = fc.string({ minLength: 1, maxLength: 64 }).filter(isScopeName)
    fc.assert(
      fc.property(fc.uniqueArray(name), (scopes) => {
        expect(parseScope(formatScope(scopes))).toEqual(scopes)
      }),
    )
  })
})

describe('a scope name', () => {
  test.each(['a', '0', 'orders:read', 'a.b-c_d:e', 'x'.repeat(64)])('%j can be one', (name) => {
    expect(isScopeName(name)).toBe(true)
  })

  test.each(['', 'x'.repeat(65), 'Orders', ':read', '-a', 'a b', 'a,b', 'a\n', 'é', '__proto__', '<b>'])(
    '%j cannot be one',
    (name) => {
      expect(isScopeName(name)).toBe(false)
    },
  )
})

describe('requested scopes', () => {
  test.each([null, '', ',', ' , '])('are the application’s default set when scope is %j', (requested) => {
    expect(resolveRequested(requested, makePolicy())).toEqual({ answer: 'scopes', scopes: ['orders:read'] })
  })

  test('are the given list, in its order, if there is one', () => {
    expect(resolveRequested('stock:read,orders:write', makePolicy())).toEqual({
      answer: 'scopes',
      scopes: ['stock:read', 'orders:write'],
    })
  })

  test('DC-12 one name outside the allowed set refuses the whole list and says which', () => {
    expect(resolveRequested('orders:read,admin,root,admin', makePolicy())).toEqual({
      answer: 'not_allowed',
      names: ['admin', 'root'],
    })
  })

  test.each(['ORDERS:READ', 'constructor', '__proto__', 'orders', 'orders:read;orders:write'])(
    'DC-12 %j is not a way around the allowed set',
    (requested) => {
      expect(resolveRequested(requested, makePolicy())).toEqual({ answer: 'not_allowed', names: [requested] })
    },
  )

  test.each([null, '', ','])(
    'a default set that is not allowed is refused, never narrowed, when scope is %j',
    (requested) => {
      const policy = makePolicy({ allowedScopes: ['stock:read'], defaultScopes: ['orders:read', 'stock:read'] })
      expect(resolveRequested(requested, policy)).toEqual({ answer: 'not_allowed', names: ['orders:read'] })
    },
  )
})

describe('consent', () => {
  test('DC-13 scopes that the user lacks are shown and left out', () => {
    expect(resolveConsent(['orders:read', 'orders:write'], ['orders:read', 'admin'], makePolicy())).toEqual({
      granted: ['orders:read'],
      lacking: ['orders:write'],
      grantable: true,
    })
  })

  test('DC-11 scopes that the application is no longer allowed are neither granted nor shown as lacking', () => {
    const policy = makePolicy({ allowedScopes: ['orders:read'] })
    expect(resolveConsent(['orders:read', 'orders:write'], ['orders:read', 'orders:write'], policy)).toEqual({
      granted: ['orders:read'],
      lacking: [],
      grantable: true,
    })
  })

  test('a user who holds none of the requested scopes cannot grant', () => {
    expect(resolveConsent(['orders:read'], [], makePolicy()).grantable).toBe(false)
  })

  test('a lacking required scope prevents the grant; a lacking optional one does not', () => {
    const held = ['orders:read']
    const asked = ['orders:read', 'orders:write']
    expect(resolveConsent(asked, held, makePolicy({ requiredScopes: ['orders:write'] })).grantable).toBe(false)
    expect(resolveConsent(asked, held, makePolicy({ requiredScopes: ['orders:read'] })).grantable).toBe(true)
  })

  test('a request without scopes can be granted', () => {
    expect(resolveConsent([], ['orders:read'], makePolicy())).toEqual({ granted: [], lacking: [], grantable: true })
  })

  test('DC-13 granted scopes are exactly those requested, allowed and held', () => {
    const names = fc.subarray(['a', 'b', 'c', 'd', 'e'], { maxLength: 5 })
    fc.assert(
      fc.property(names, names, names, names, (asked, held, allowedScopes, requiredScopes) => {
        const policy = { allowedScopes, defaultScopes: [], requiredScopes }
        const { granted, lacking } = resolveConsent(asked, held, policy)
        const allowed = asked.filter((name) => allowedScopes.includes(name))
        for (const name of asked) {
          expect(granted.includes(name)).toBe(allowed.includes(name) && held.includes(name))
          expect(lacking.includes(name)).toBe(allowed.includes(name) && !held.includes(name))
        }
        expect(granted.length + lacking.length).toBe(allowed.length)
        expect(granted).toEqual(asked.filter((name) => granted.includes(name)))
      }),
    )
  })
})

test('scopes in effect are those granted, still held and still allowed, in the order of the grant', () => {
  const granted = ['d', 'c', 'b', 'a']
  expect(resolveEffective(granted, ['a', 'b', 'c'], ['b', 'c', 'd'])).toEqual(['c', 'b'])
  expect(resolveEffective(granted, granted, granted)).toEqual(granted)
  expect(resolveEffective([], ['a'], ['a'])).toEqual([])
})
