/** Scope catalogue page: lists every scope of the service; adds scopes and edits their titles. */
import { Checkbox, Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Notice, Problems } from '../ui/notice.tsx'

type ListedScope = {
  readonly name: string
  readonly title: string
  readonly dangerous: boolean
  /** May be granted by a device flow. */
  readonly deviceFlow: boolean
  /** Number of applications that may ask for it. */
  readonly applications: number
}

export type OperatorScopesModel = {
  readonly scopes: readonly ListedScope[]
  /** Input for a new scope, as typed. */
  readonly typed: { readonly name: string; readonly title: string; readonly dangerous: boolean; readonly code: boolean }
  readonly notice: null | 'added' | 'titled'
  /** `titled`: name of the scope whose new title was rejected; `title`: that title as typed. */
  readonly problem: null | 'name' | 'title' | 'exists' | { readonly titled: string; readonly title: string }
}

type PartProps = { readonly frame: Frame; readonly model: OperatorScopesModel }

/** The field id uses the list index: a scope name may contain characters that do not belong in an id. */
const fieldOf = (place: number) => `title-${place}`

export function operatorScopesPage(frame: Frame, model: OperatorScopesModel): string {
  const { words } = frame
  const { scopes, notice, problem } = model
  const title = words.t('operator.nav_scopes')
  return page(
    frame,
    title,
    <>
      <Problems words={words} problems={problemsOf(frame, model)} />
      {notice && !problem && <Notice kind="success">{words.t(`operator.scope_${notice}`)}</Notice>}
      <header class="stack tight">
        <h1>{title}</h1>
        <p class="soft">{words.t('operator.scopes_text')}</p>
      </header>
      <section class="card stack" aria-label={title}>
        {scopes.length === 0 ? (
          <p>{words.t('operator.scopes_none')}</p>
        ) : (
          <ul class="rows columns">
            {scopes.map((scope, place) => (
              <ScopeRow frame={frame} scope={scope} place={place} problem={problem} key={scope.name} />
            ))}
          </ul>
        )}
      </section>
      <NewScope frame={frame} model={model} />
    </>,
    { wide: true, problem: problem !== null },
  )
}

function problemsOf({ words }: Frame, { scopes, problem }: OperatorScopesModel) {
  if (problem === null) return []
  if (typeof problem !== 'string') {
    const place = scopes.findIndex(({ name }) => name === problem.titled)
    return [{ field: fieldOf(place), text: words.t('operator.scope_problem_title') }]
  }
  return [{ field: problem === 'title' ? 'title' : 'name', text: words.t(`operator.scope_problem_${problem}`) }]
}

type RowProps = {
  readonly frame: Frame
  readonly scope: ListedScope
  readonly place: number
  readonly problem: OperatorScopesModel['problem']
}

function ScopeRow({ frame, scope, place, problem }: RowProps) {
  const { words } = frame
  const { name, title, dangerous, deviceFlow, applications } = scope
  const wrong = problem !== null && typeof problem !== 'string' && problem.titled === name ? problem : null
  return (
    <li>
      <div class="stack tight">
        <div class="heading">
          <h2>{title}</h2>
          <span class="badges">
            {dangerous && <span class="badge warning">{words.t('operator.scope_dangerous')}</span>}
            {!deviceFlow && <span class="badge">{words.t('operator.scope_no_code')}</span>}
          </span>
        </div>
        <p class="hint">
          <code class="technical" dir="ltr">
            {name}
          </code>{' '}
          · {words.t('operator.scope_applications', { applications })}
        </p>
        <details open={wrong !== null}>
          <summary>{words.t('operator.scope_retitle')}</summary>
          <Form frame={frame} action="/operator/scopes/title" bound={{ scope: name }} class="stack tight">
            <Field
              id={fieldOf(place)}
              name="title"
              label={words.t('operator.scope_title')}
              value={wrong?.title ?? title}
              autocomplete="off"
              maxLength={100}
              problem={wrong && words.t('operator.scope_problem_title')}
            />
            <p>
              <button type="submit" class="button quiet">
                {words.t('operator.save')}
              </button>
            </p>
          </Form>
        </details>
      </div>
    </li>
  )
}

function NewScope({ frame, model: { typed, problem } }: PartProps) {
  const { words } = frame
  const inName = problem === 'name' || problem === 'exists' ? words.t(`operator.scope_problem_${problem}`) : null
  return (
    <section class="card stack" aria-labelledby="new">
      <h2 id="new">{words.t('operator.scope_new')}</h2>
      <Form frame={frame} action="/operator/scopes" class="stack">
        <Field
          id="name"
          label={words.t('operator.scope_name')}
          hint={words.t('operator.scope_name_hint')}
          value={typed.name}
          autocomplete="off"
          maxLength={64}
          problem={inName}
        />
        <Field
          id="title"
          label={words.t('operator.scope_title')}
          hint={words.t('operator.scope_title_hint')}
          value={typed.title}
          autocomplete="off"
          maxLength={100}
          problem={problem === 'title' ? words.t('operator.scope_problem_title') : null}
        />
        <Checkbox
          id="dangerous"
          label={words.t('operator.scope_dangerous')}
          hint={words.t('operator.scope_dangerous_hint')}
          checked={typed.dangerous}
        />
        <Checkbox
          id="code"
          label={words.t('operator.scope_code')}
          hint={words.t('operator.scope_code_hint')}
          checked={typed.code}
        />
        <p>
          <button type="submit" class="button">
            {words.t('operator.scope_add')}
          </button>
        </p>
      </Form>
    </section>
  )
}
