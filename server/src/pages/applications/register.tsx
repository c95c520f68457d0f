/**
 * Registration of an application, in steps of one question each. Every step carries the other answers in hidden fields;
 * nothing is stored before the last.
 */
import type { ComponentChildren } from 'preact'
import { MAX_UNVETTED_APPLICATIONS } from '../../core/applications/vetting.ts'
import { Field } from '../ui/field.tsx'
import { Radio } from '../ui/field-kinds.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Problems } from '../ui/notice.tsx'
import type { Words } from '../ui/words.ts'
import { RedirectsField, redirectProblemText } from './redirects-field.tsx'
import {
  firstScopeField,
  type RedirectProblemAt,
  type ScopeChoice,
  ScopeFields,
  type ScopeProblem,
} from './scope-choice.tsx'

export type RegisterModel = {
  readonly step: 'kind' | 'scopes' | 'redirects'
  readonly name: string
  /** `device`: device flow. `web`, `page`: dialog; a `page` is a public client and gets no secret. */
  readonly kind: 'device' | 'web' | 'page' | null
  readonly scopes: readonly ScopeChoice[]
  /** One URI per line. */
  readonly redirects: string
  readonly problem: null | 'name' | 'taken' | 'kind' | 'too_many_unvetted' | ScopeProblem | RedirectProblemAt
}

type StepProps = { readonly frame: Frame; readonly model: RegisterModel; readonly wrong: string | null }

const STEPS: readonly RegisterModel['step'][] = ['kind', 'scopes', 'redirects']
const KINDS = ['device', 'web', 'page'] as const

export function registerApplicationPage(frame: Frame, model: RegisterModel): string {
  const { words } = frame
  const { step, kind, problem } = model
  const wrong = problem && problemText(words, problem)
  const at = { step: STEPS.indexOf(step) + 1, of: kind === 'device' ? 2 : 3 }
  const Step = { kind: KindStep, scopes: ScopesStep, redirects: RedirectsStep }[step]
  return page(
    frame,
    words.t('register.title', at),
    <>
      <Problems words={words} problems={wrong ? [{ field: fieldOf(model), text: wrong }] : []} />
      <section class="card stack">
        <div class="stack tight">
          <p class="soft">{words.t('register.step', at)}</p>
          <h1>{words.t(`register.heading_${step}`)}</h1>
          {step !== 'kind' && model.name !== '' && (
            <p class="soft">
              <bdi>{model.name}</bdi>
            </p>
          )}
        </div>
        <Step frame={frame} model={model} wrong={wrong} />
      </section>
    </>,
    { problem: problem !== null },
  )
}

function problemText(words: Words, problem: NonNullable<RegisterModel['problem']>): string {
  if (problem === 'not_by_code') return words.t('scope_choice.problem_not_by_code')
  if (problem === 'too_many_unvetted') {
    return words.t('register.problem_too_many_unvetted', { max: MAX_UNVETTED_APPLICATIONS })
  }
  return typeof problem === 'string' ? words.t(`register.problem_${problem}`) : redirectProblemText(words, problem)
}

/** Id of the field that the problem summary links to. */
function fieldOf({ problem, scopes, kind }: RegisterModel): string | null {
  if (problem === 'too_many_unvetted') return null
  if (problem === 'kind') return `kind-${KINDS[0]}`
  if (problem === 'scopes' || problem === 'not_by_code') return firstScopeField(scopes, kind === 'device')
  return problem === 'name' || problem === 'taken' ? 'name' : 'redirects'
}

function usesOf(scopes: readonly ScopeChoice[]): Readonly<Record<string, string>> {
  return Object.fromEntries(scopes.filter(({ use }) => use !== 'no').map(({ name, use }) => [`use.${name}`, use]))
}

/** All answers except those that the current step asks for. */
function carried({ step, name, kind, scopes, redirects }: RegisterModel): Readonly<Record<string, string>> {
  return {
    step,
    ...(step === 'kind' ? {} : { name, kind: kind ?? '' }),
    ...(step === 'scopes' ? {} : usesOf(scopes)),
    ...(step === 'redirects' ? {} : { redirects }),
  }
}

type StepFormProps = {
  readonly frame: Frame
  readonly model: RegisterModel
  readonly last: boolean
  readonly children: ComponentChildren
}

function StepForm({ frame, model, last, children }: StepFormProps) {
  const { words } = frame
  return (
    <Form frame={frame} action="/developer/new" hidden={carried(model)} class="stack">
      {children}
      <p class="actions">
        <button type="submit" class="button">
          {words.t(last ? 'register.register' : 'register.continue')}
        </button>
        <a href="/developer">{words.t('register.cancel')}</a>
      </p>
    </Form>
  )
}

function KindStep({ frame, model, wrong }: StepProps) {
  const { words } = frame
  const wrongKind = model.problem === 'kind' ? wrong : null
  return (
    <StepForm frame={frame} model={model} last={false}>
      <Field
        id="name"
        label={words.t('register.name')}
        hint={words.t('register.name_hint')}
        value={model.name}
        autocomplete="off"
        maxLength={100}
        problem={model.problem === 'name' || model.problem === 'taken' ? wrong : null}
        focus={!wrong}
      />
      <fieldset class="listed" aria-describedby={wrongKind === null ? 'kind-hint' : 'kind-hint kind-problem'}>
        <legend>{words.t('register.kind')}</legend>
        <p class="hint" id="kind-hint">
          {words.t('register.kind_hint')}
        </p>
        {wrongKind !== null && (
          <p class="wrong" id="kind-problem">
            {wrongKind}
          </p>
        )}
        {KINDS.map((kind) => (
          <Radio
            name="kind"
            value={kind}
            label={words.t(`register.kind_${kind}`)}
            hint={words.t(`register.kind_${kind}_hint`)}
            checked={model.kind === kind}
            key={kind}
          />
        ))}
      </fieldset>
    </StepForm>
  )
}

function ScopesStep({ frame, model, wrong }: StepProps) {
  const { words } = frame
  const { name, kind, scopes } = model
  // The redirect URIs of the last step are left out: they could make the URL too long.
  const back = new URLSearchParams({ name, kind: kind ?? '', ...usesOf(scopes) })
  return (
    <>
      <StepForm frame={frame} model={model} last={kind === 'device'}>
        <ScopeFields
          words={words}
          legend={<span class="visually-hidden">{words.t('register.heading_scopes')}</span>}
          scopes={scopes}
          onlyByCode={kind === 'device'}
          problem={wrong}
        />
      </StepForm>
      <p>
        <a href={`/developer/new?${back}`}>{words.t('register.back')}</a>
      </p>
    </>
  )
}

function RedirectsStep({ frame, model, wrong }: StepProps) {
  const { words } = frame
  const back = { ...carried(model), step: 'kind', redirects: model.redirects }
  return (
    <>
      <StepForm frame={frame} model={model} last>
        <RedirectsField words={words} value={model.redirects} problem={wrong} focus={!wrong} />
      </StepForm>
      <Form frame={frame} action="/developer/new" hidden={back}>
        <button type="submit" class="plain">
          {words.t('register.back')}
        </button>
      </Form>
    </>
  )
}
