/** Scope choice: one select per scope of the catalogue, for registration and settings. */
import type { ComponentChildren } from 'preact'
import type { RedirectProblem } from '../../core/dialog/redirect-uri.ts'
import { Select } from '../ui/field-kinds.tsx'
import type { Words } from '../ui/words.ts'

export type ScopeUse = 'no' | 'may' | 'default' | 'required'

export type ScopeChoice = {
  readonly name: string
  readonly title: string
  readonly dangerous: boolean
  /** May be granted by a device flow. */
  readonly byCode: boolean
  readonly use: ScopeUse
}

/** `not_by_code`: a device-flow application would by default ask for a scope that the device flow cannot grant. */
export type ScopeProblem = 'scopes' | 'not_by_code'

export type RedirectProblemAt = { readonly uri: string; readonly reason: RedirectProblem | 'too_many' | 'none' }

type ScopeFieldsProps = {
  readonly words: Words
  readonly legend: ComponentChildren
  readonly scopes: readonly ScopeChoice[]
  /** The application uses only the device flow: scopes that it cannot grant are not offered. */
  readonly onlyByCode?: boolean
  readonly problem: string | null
}

const USES: readonly ScopeUse[] = ['no', 'may', 'default', 'required']

/** Each select is submitted as `use.<scope>`. */
export function ScopeFields({ words, legend, scopes, onlyByCode = false, problem }: ScopeFieldsProps) {
  const options = USES.map((value) => ({ value, text: words.t(`scope_choice.use_${value}`) }))
  return (
    <fieldset class="listed scopes" aria-describedby={problem === null ? 'scopes-hint' : 'scopes-hint scopes-problem'}>
      <legend>{legend}</legend>
      <div class="hint" id="scopes-hint">
        <p>{words.t(scopes.length === 0 ? 'scope_choice.none' : 'scope_choice.hint')}</p>
        {scopes.length > 0 && <p>{words.t('scope_choice.uses')}</p>}
      </div>
      {problem !== null && (
        <p class="wrong" id="scopes-problem">
          {problem}
        </p>
      )}
      {scopes.map((scope) => {
        const barred = onlyByCode && !scope.byCode
        return (
          <Select
            id={fieldOf(scope)}
            name={`use.${scope.name}`}
            label={scope.title}
            hint={<ScopeMarks words={words} scope={scope} barred={barred} />}
            options={options}
            value={barred ? 'no' : scope.use}
            disabled={barred}
            key={scope.name}
          />
        )
      })}
    </fieldset>
  )
}

type MarksProps = { readonly words: Words; readonly scope: ScopeChoice; readonly barred: boolean }

/** The scope's wire name and its warnings. */
function ScopeMarks({ words, scope, barred }: MarksProps) {
  return (
    <>
      <code class="technical" dir="ltr">
        {scope.name}
      </code>
      {scope.dangerous && (
        <p>
          <span class="badge danger">{words.t('scope_choice.dangerous')}</span> {words.t('scope_choice.dangerous_text')}
        </p>
      )}
      {!scope.byCode && (
        <p>
          <span class="badge warning">{words.t('scope_choice.not_by_code')}</span>{' '}
          {words.t(barred ? 'scope_choice.not_by_code_barred' : 'scope_choice.not_by_code_text')}
        </p>
      )}
    </>
  )
}

const fieldOf = (scope: { readonly name: string }) => `use-${scope.name}`

/** Id of the first select that is enabled: the link target of the problem summary. */
export function firstScopeField(scopes: readonly ScopeChoice[], onlyByCode = false): string | null {
  const first = scopes.find(({ byCode }) => byCode || !onlyByCode)
  return first ? fieldOf(first) : null
}
