/** Settings of an application and their validation, shared by the command line and the console. */

import { MAX_REDIRECTS, type RedirectProblem, redirectProblem } from '../dialog/redirect-uri.ts'
import { isApplicationName } from './application.ts'

export type ApplicationSettings = {
  readonly name: string
  readonly allowedScopes: readonly string[]
  readonly defaultScopes: readonly string[]
  readonly requiredScopes: readonly string[]
  readonly deviceFlow: boolean
  readonly redirectUris: readonly string[]
}

export type SettingsProblem =
  /** `taken`: looks like the name of an application of another account whose publisher is verified. */
  | { readonly field: 'name'; readonly problem: 'malformed' | 'taken' }
  /**
   * `unknown`: not in the catalogue. `not_allowed`: default or required, but not allowed. `not_by_device`: default for
   * an application with the device flow, which never grants it.
   */
  | {
      readonly field: 'scopes'
      readonly problem: 'unknown' | 'not_allowed' | 'not_by_device'
      readonly names: readonly string[]
    }
  | { readonly field: 'redirects'; readonly problem: RedirectProblem | 'too_many'; readonly uri: string }

/** Facts from the catalogue about an application's scopes. They are stable: a scope never changes these properties. */
export type ScopeFacts = {
  /** Not in the catalogue. */
  readonly unknown: readonly string[]
  /** Never granted by the device flow. */
  readonly notByDevice: readonly string[]
}

export function settingsProblem(settings: ApplicationSettings, facts: ScopeFacts): SettingsProblem | null {
  if (!isApplicationName(settings.name)) return { field: 'name', problem: 'malformed' }
  if (facts.unknown.length > 0) return { field: 'scopes', problem: 'unknown', names: facts.unknown }
  const { allowedScopes, defaultScopes, requiredScopes } = settings
  const outside = [...defaultScopes, ...requiredScopes].filter((name) => !allowedScopes.includes(name))
  if (outside.length > 0) return { field: 'scopes', problem: 'not_allowed', names: outside }
  const barred = settings.deviceFlow ? defaultScopes.filter((name) => facts.notByDevice.includes(name)) : []
  if (barred.length > 0) return { field: 'scopes', problem: 'not_by_device', names: barred }
  const { redirectUris } = settings
  if (redirectUris.length > MAX_REDIRECTS) return { field: 'redirects', problem: 'too_many', uri: '' }
  for (const uri of redirectUris) {
    const problem = redirectProblem(uri)
    if (problem) return { field: 'redirects', problem, uri }
  }
  return null
}
