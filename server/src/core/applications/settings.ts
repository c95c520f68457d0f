/** What an application may be registered with, or changed to. One set of rules for the command line and the console. */

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
  /** `taken`: it looks like the name of an application of another account that somebody vouches for. */
  | { readonly field: 'name'; readonly problem: 'malformed' | 'taken' }
  /**
   * Not in the catalogue; default or required without being allowed; or default for an application with the device flow,
   * although no typed code may lead to it.
   */
  | {
      readonly field: 'scopes'
      readonly problem: 'unknown' | 'not_allowed' | 'not_by_device'
      readonly names: readonly string[]
    }
  | { readonly field: 'redirects'; readonly problem: RedirectProblem | 'too_many'; readonly uri: string }

/** What the catalogue says of an application's scopes. It never changes: a scope stays what it was made. */
export type ScopeFacts = {
  /** Those that are not in the catalogue. */
  readonly unknown: readonly string[]
  /** Those that no typed code may lead to. */
  readonly notByDevice: readonly string[]
}

/** Null when all is well. */
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
