/** Valid settings of an application. */
import { describe, expect, test } from 'vitest'
import {
  type ApplicationSettings,
  type ScopeFacts,
  type SettingsProblem,
  settingsProblem,
} from '../../../src/core/applications/settings.ts'
import { makeSettings } from '../../rig/application-settings.ts'

const good = makeSettings({
  allowedScopes: ['orders:read', 'orders:write'],
  requiredScopes: ['orders:read'],
  redirectUris: ['https://app.example/callback'],
})

const KNOWN: ScopeFacts = { unknown: [], notByDevice: [] }

describe('settings', () => {
  test('that are valid have no problem', () => {
    expect(settingsProblem(good, KNOWN)).toBeNull()
  })

  test.each<[string, Partial<ApplicationSettings>, Partial<ScopeFacts>, SettingsProblem]>([
    ['a name that cannot be read', { name: 'Till\u202e' }, {}, { field: 'name', problem: 'malformed' }],
    ['a scope that nobody knows', {}, { unknown: ['x:y'] }, { field: 'scopes', problem: 'unknown', names: ['x:y'] }],
    [
      'a default scope that is not allowed',
      { defaultScopes: ['stock:read'] },
      {},
      { field: 'scopes', problem: 'not_allowed', names: ['stock:read'] },
    ],
    [
      'a required scope that is not allowed',
      { requiredScopes: ['stock:read'] },
      {},
      { field: 'scopes', problem: 'not_allowed', names: ['stock:read'] },
    ],
    [
      'a default scope that no typed code may lead to, with the device flow',
      { defaultScopes: ['orders:read', 'orders:write'] },
      { notByDevice: ['orders:write'] },
      { field: 'scopes', problem: 'not_by_device', names: ['orders:write'] },
    ],
    [
      'an address that is none',
      { redirectUris: ['https://app.example/callback', 'javascript:alert(1)'] },
      {},
      { field: 'redirects', problem: 'scheme', uri: 'javascript:alert(1)' },
    ],
    [
      'too many addresses',
      { redirectUris: Array.from({ length: 11 }, (_, at) => `https://app.example/${at}`) },
      {},
      { field: 'redirects', problem: 'too_many', uri: '' },
    ],
  ])('%s is the only problem', (_what, given, facts, problem) => {
    expect(settingsProblem({ ...good, ...given }, { ...KNOWN, ...facts })).toEqual(problem)
  })

  test('may have ten redirect addresses, or none', () => {
    const redirectUris = Array.from({ length: 10 }, (_, at) => `https://app.example/${at}`)
    expect(settingsProblem({ ...good, redirectUris }, KNOWN)).toBeNull()
    expect(settingsProblem({ ...good, redirectUris: [] }, KNOWN)).toBeNull()
  })

  test('each scope with a problem is named', () => {
    const given = { ...good, defaultScopes: ['a:a', 'orders:read'], requiredScopes: ['b:b'] }
    expect(settingsProblem(given, KNOWN)).toEqual({ field: 'scopes', problem: 'not_allowed', names: ['a:a', 'b:b'] })
  })

  test('a scope excluded from the device flow can be allowed, and be a default without the device flow', () => {
    const facts = { ...KNOWN, notByDevice: ['orders:write'] }
    expect(settingsProblem(good, facts)).toBeNull()
    expect(settingsProblem({ ...good, defaultScopes: ['orders:write'], deviceFlow: false }, facts)).toBeNull()
  })
})
