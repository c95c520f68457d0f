/** Re-authentication before actions for which a stolen session must not suffice. */
import { PasskeyForm } from '../ui/elements.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Problems } from '../ui/notice.tsx'
import { strong } from '../ui/strong.tsx'

export type ConfirmModel = {
  readonly next: string
  readonly problem: null | 'wrong' | 'locked' | 'busy' | 'passkey'
  readonly minutes: number
  readonly password: boolean
  /** What is required besides the password; null: the user has no second factor. */
  readonly code: 'authenticator' | 'recovery' | null
  /** JSON of PublicKeyCredentialRequestOptions; null when the user has no passkey. */
  readonly passkey: string | null
}

export function confirmPage(frame: Frame, model: ConfirmModel): string {
  const { words } = frame
  const { problem, next } = model
  const kind = problem === 'wrong' && model.code !== null ? 'wrong_either' : problem
  const wrong = kind && words.t(`confirm.problem_${kind}`, { minutes: model.minutes })
  const wrongHere = problem === 'wrong' ? wrong : null
  return page(
    frame,
    words.t('confirm.title'),
    <>
      <Problems words={words} problems={wrong ? [{ field: wrongHere ? 'password' : null, text: wrong }] : []} />
      <section class="card stack">
        <h1>{words.t('confirm.title')}</h1>
        <p>{words.rich('confirm.text', { email: frame.user?.email ?? '', b: strong })}</p>
        {model.password && (
          <Form frame={frame} action="/confirm" hidden={{ next }} class="stack">
            <Field
              id="password"
              type="password"
              label={words.t('confirm.password')}
              autocomplete="current-password"
              problem={wrongHere}
              focus={!problem}
            />
            {model.code !== null && (
              <Field
                id="code"
                label={words.t(model.code === 'recovery' ? 'confirm.recovery' : 'confirm.code')}
                hint={words.t(model.code === 'recovery' ? 'second_step.recovery_hint' : 'confirm.code_hint')}
                autocomplete={model.code === 'recovery' ? 'off' : 'one-time-code'}
                code
              />
            )}
            <button type="submit" class="button block">
              {words.t('confirm.continue')}
            </button>
          </Form>
        )}
        {model.passkey !== null && (
          <PasskeyForm
            frame={frame}
            mode="sign-in"
            action="/confirm/passkey"
            options={model.passkey}
            hidden={{ next }}
            label={words.t('confirm.passkey')}
          />
        )}
      </section>
    </>,
    { problem: problem !== null, single: true },
  )
}
