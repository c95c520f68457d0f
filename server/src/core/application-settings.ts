/** What an application may be registered with, or changed to. One set of rules for the command line and the console. */
import { isApplicationName } from './application.ts'
import { MOST_REDIRECTS, type RedirectProblem, redirectProblem } from './redirect-uri.ts'

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
  /** Not in the catalogue, or default or required without being allowed. */
  | { readonly field: 'scopes'; readonly problem: 'unknown' | 'not_allowed'; readonly names: readonly string[] }
  | { readonly field: 'redirects'; readonly problem: RedirectProblem | 'too_many'; readonly uri: string }

/** `unknown`: those of its scopes that are not in the catalogue. Null when all is well. */
export function settingsProblem(settings: ApplicationSettings, unknown: readonly string[]): SettingsProblem | null {
  if (!isApplicationName(settings.name)) return { field: 'name', problem: 'malformed' }
  if (unknown.length > 0) return { field: 'scopes', problem: 'unknown', names: unknown }
  const { allowedScopes, defaultScopes, requiredScopes } = settings
  const outside = [...defaultScopes, ...requiredScopes].filter((name) => !allowedScopes.includes(name))
  if (outside.length > 0) return { field: 'scopes', problem: 'not_allowed', names: outside }
  const { redirectUris } = settings
  if (redirectUris.length > MOST_REDIRECTS) return { field: 'redirects', problem: 'too_many', uri: '' }
  for (const uri of redirectUris) {
    const problem = redirectProblem(uri)
    if (problem) return { field: 'redirects', problem, uri }
  }
  return null
}
