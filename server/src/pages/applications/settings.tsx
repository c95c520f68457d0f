/** Settings page of an application: name, flows, PKCE, scopes, redirect URIs. */
import { applicationHref } from '../grants/application-ways.tsx'
import { Checkbox, Field } from '../ui/field.tsx'
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

export type ApplicationSettingsModel = {
  readonly id: string
  readonly name: string
  readonly deviceFlow: boolean
  /** `always`: public client, so there is no choice. */
  readonly pkce: 'always' | 'required' | 'offered'
  readonly scopes: readonly ScopeChoice[]
  /** One URI per line. */
  readonly redirects: string
  /** A new name waits until an operator accepts it. */
  readonly secondLook: boolean
  readonly problem: null | 'name' | 'taken' | ScopeProblem | RedirectProblemAt
}

export function applicationSettingsPage(frame: Frame, model: ApplicationSettingsModel): string {
  const { words } = frame
  const { id, scopes, problem } = model
  const part = problem === null || typeof problem === 'string' ? problem : 'redirects'
  const wrong = problem && problemText(words, problem)
  const isName = part === 'name' || part === 'taken'
  const isScopes = part === 'scopes' || part === 'not_by_code'
  const field = isScopes ? firstScopeField(scopes) : isName ? 'name' : part
  return page(
    frame,
    words.t('application_settings.title'),
    <>
      <Problems words={words} problems={wrong ? [{ field, text: wrong }] : []} />
      <section class="card stack">
        <h1>{words.t('application_settings.title')}</h1>
        <p>{words.t('application_settings.text')}</p>
        <Form frame={frame} action="/developer/application/settings" bound={{ application: id }} class="stack">
          <Field
            id="name"
            label={words.t('register.name')}
            hint={
              <>
                <p>{words.t('register.name_hint')}</p>
                {model.secondLook && <p>{words.t('application_settings.second_look')}</p>}
              </>
            }
            value={model.name}
            autocomplete="off"
            maxLength={100}
            problem={isName ? wrong : null}
          />
          <Checkbox
            id="device_flow"
            label={words.t('application_settings.device_flow')}
            hint={words.t('application_settings.device_flow_hint')}
            checked={model.deviceFlow}
          />
          {model.pkce !== 'always' && (
            <Checkbox
              id="require_pkce"
              label={words.t('application_settings.require_pkce')}
              hint={words.t('application_settings.require_pkce_hint')}
              checked={model.pkce === 'required'}
            />
          )}
          <RedirectsField words={words} value={model.redirects} problem={part === 'redirects' ? wrong : null} />
          <ScopeFields
            words={words}
            legend={<h2>{words.t('register.heading_scopes')}</h2>}
            scopes={scopes}
            problem={isScopes ? wrong : null}
          />
          <p class="actions">
            <button type="submit" class="button">
              {words.t('application_settings.save')}
            </button>
            <a href={applicationHref(id)}>{words.t('application_settings.back')}</a>
          </p>
        </Form>
      </section>
    </>,
    { wide: true, problem: problem !== null },
  )
}

function problemText(words: Words, problem: NonNullable<ApplicationSettingsModel['problem']>): string {
  if (problem === 'not_by_code') return words.t('scope_choice.problem_not_by_code')
  if (typeof problem !== 'string') return redirectProblemText(words, problem)
  return words.t(`application_settings.problem_${problem}`)
}
