/** What the console's forms say about an application. */
import type { ApplicationSettings, SettingsProblem } from '../../core/applications/settings.ts'
import type { RedirectProblemAt, ScopeChoice, ScopeUse } from '../../pages/applications/scope-choice.tsx'
import type { Scope } from '../../store/applications/scopes.ts'
import type { FormFields } from '../parameters.ts'

const USES: readonly ScopeUse[] = ['no', 'may', 'default', 'required']

/** For every scope of the catalogue, what the form says of it. */
export function readScopeChoice(catalogue: readonly Scope[], fields: FormFields): readonly ScopeChoice[] {
  return choiceOf(catalogue, (name) => USES.find((use) => use === fields.get(`use.${name}`)) ?? 'no')
}

/** The same, as an application has it. */
export function scopeChoiceOf(
  catalogue: readonly Scope[],
  of: Pick<ApplicationSettings, 'allowedScopes' | 'defaultScopes' | 'requiredScopes'>,
): readonly ScopeChoice[] {
  return choiceOf(catalogue, (name) => {
    if (of.requiredScopes.includes(name)) return 'required'
    if (of.defaultScopes.includes(name)) return 'default'
    return of.allowedScopes.includes(name) ? 'may' : 'no'
  })
}

function choiceOf(catalogue: readonly Scope[], useOf: (name: string) => ScopeUse): readonly ScopeChoice[] {
  return catalogue.map(({ name, title, dangerous, deviceFlow }) => {
    return { name, title, dangerous, byCode: deviceFlow, use: useOf(name) }
  })
}

/** What it cannot work without, it asks for by default as well. */
export function scopeSettings(
  choice: readonly ScopeChoice[],
): Pick<ApplicationSettings, 'allowedScopes' | 'defaultScopes' | 'requiredScopes'> {
  const named = (...uses: ScopeUse[]) => choice.filter(({ use }) => uses.includes(use)).map(({ name }) => name)
  return {
    allowedScopes: named('may', 'default', 'required'),
    defaultScopes: named('default', 'required'),
    requiredScopes: named('required'),
  }
}

/** One address per line; empty lines and spaces around them mean nothing. */
export function readRedirects(text: string): readonly string[] {
  return [...new Set(text.split(/\s+/).filter((line) => line !== ''))]
}

/** Which part of the form it is about. */
export function problemOf(problem: SettingsProblem): 'name' | 'taken' | 'scopes' | 'not_by_code' | RedirectProblemAt {
  if (problem.problem === 'not_by_device') return 'not_by_code'
  if (problem.field === 'redirects') return { uri: problem.uri, reason: problem.problem }
  return problem.field === 'name' && problem.problem === 'taken' ? 'taken' : problem.field
}
