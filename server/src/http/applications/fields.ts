/** Readers for the application forms of the developer console. */
import type { ApplicationSettings, SettingsProblem } from '../../core/applications/settings.ts'
import type { RedirectProblemAt, ScopeChoice, ScopeUse } from '../../pages/applications/scope-choice.tsx'
import type { Scope } from '../../store/applications/scopes.ts'
import type { FormFields } from '../parameters.ts'

const USES: readonly ScopeUse[] = ['no', 'may', 'default', 'required']

/** The form's choice for every scope of the catalogue. */
export function readScopeChoice(catalogue: readonly Scope[], fields: FormFields): readonly ScopeChoice[] {
  return choiceOf(catalogue, (name) => USES.find((use) => use === fields.get(`use.${name}`)) ?? 'no')
}

/** The same, from the stored settings of an application. */
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

/** Required scopes are also default scopes. */
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

/** URIs separated by line breaks or other white space, without duplicates. */
export function readRedirects(text: string): readonly string[] {
  return [...new Set(text.split(/\s+/).filter((line) => line !== ''))]
}

/** The part of the form that a problem is about. */
export function problemOf(problem: SettingsProblem): 'name' | 'taken' | 'scopes' | 'not_by_code' | RedirectProblemAt {
  if (problem.problem === 'not_by_device') return 'not_by_code'
  if (problem.field === 'redirects') return { uri: problem.uri, reason: problem.problem }
  return problem.field === 'name' && problem.problem === 'taken' ? 'taken' : problem.field
}
