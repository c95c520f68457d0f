/** What can be changed about an application that is registered: its name, how it is connected, what it may ask for. */
import { applicationHref } from './application-ways.tsx'
import { Checkbox, Field } from './field.tsx'
import { Form } from './form.tsx'
import { type Frame, page } from './layout.tsx'
import { Problems } from './notice.tsx'
import { RedirectsField, redirectTroubleText } from './redirects-field.tsx'
import { firstScopeField, type RedirectTrouble, type ScopeChoice, ScopeFields } from './scope-choice.tsx'

export type ApplicationSettingsModel = {
  readonly id: string
  readonly name: string
  readonly deviceFlow: boolean
  /** It decides its own codes, for its developer's tests. */
  readonly testMode: boolean
  readonly scopes: readonly ScopeChoice[]
  /** One per line. */
  readonly redirects: string
  /** A new name waits until an operator has seen it. */
  readonly secondLook: boolean
  readonly problem: null | 'name' | 'taken' | 'scopes' | RedirectTrouble
}

export function applicationSettingsPage(frame: Frame, model: ApplicationSettingsModel): string {
  const { words } = frame
  const { id, scopes, problem } = model
  const part = problem === null || typeof problem === 'string' ? problem : 'redirects'
  const wrong =
    problem &&
    (typeof problem === 'string'
      ? words.t(`application_settings.problem_${problem}`)
      : redirectTroubleText(words, problem))
  const isName = part === 'name' || part === 'taken'
  const field = part === 'scopes' ? firstScopeField(scopes) : isName ? 'name' : part
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
          <Checkbox
            id="test_mode"
            label={words.t('application_settings.test_mode')}
            hint={words.t('application_settings.test_mode_hint')}
            checked={model.testMode}
          />
          <RedirectsField words={words} value={model.redirects} problem={part === 'redirects' ? wrong : null} />
          <ScopeFields
            words={words}
            legend={<h2>{words.t('register.heading_scopes')}</h2>}
            scopes={scopes}
            problem={part === 'scopes' ? wrong : null}
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
    { problem: problem !== null },
  )
}
