/** Second step of sign-in: a passkey, the code of an authenticator app, or a recovery code. */
import { PasskeyForm } from '../ui/elements.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Problems } from '../ui/notice.tsx'

export type SecondStepModel = {
  readonly next: string
  readonly authenticator: boolean
  /** JSON of PublicKeyCredentialRequestOptions; null when the user has no passkey. */
  readonly passkey: string | null
  /** `recovery`: a wrong recovery code. */
  readonly problem: null | 'wrong' | 'recovery' | 'locked'
  readonly minutes: number
}

export function secondStepPage(frame: Frame, model: SecondStepModel): string {
  const { words } = frame
  const { next, problem, minutes, authenticator, passkey } = model
  const wrong = problem && words.t(`second_step.problem_${problem}`, { minutes })
  const field = problem === 'recovery' || !authenticator ? 'recovery-code' : 'code'
  return page(
    frame,
    words.t('second_step.title'),
    <>
      <Problems words={words} problems={wrong ? [{ field, text: wrong }] : []} />
      <section class="card stack">
        {authenticator ? (
          <CodeForm frame={frame} model={model} wrong={problem === 'recovery' ? null : wrong} />
        ) : (
          <h1>{words.t('second_step.heading_passkey')}</h1>
        )}
        {passkey !== null && (
          <PasskeyForm
            frame={frame}
            mode="sign-in"
            action="/sign-in/passkey"
            options={passkey}
            hidden={{ next }}
            label={words.t('confirm.passkey')}
          />
        )}
        <RecoveryForm frame={frame} model={model} wrong={field === 'recovery-code' ? wrong : null} />
        <p class="soft">{words.t('second_step.lost', { name: frame.account?.name ?? '' })}</p>
        <p>
          <a href={`/sign-in?next=${encodeURIComponent(next)}`}>{words.t('second_step.back')}</a>
        </p>
      </section>
    </>,
    { problem: problem !== null },
  )
}

type StepFormProps = { readonly frame: Frame; readonly model: SecondStepModel; readonly wrong: string | null }

function CodeForm({ frame, model: { next, problem }, wrong }: StepFormProps) {
  const { words } = frame
  return (
    <Form frame={frame} action="/sign-in/code" hidden={{ next }} class="stack">
      <Field
        id="code"
        heading
        label={words.t('second_step.heading')}
        hint={words.t('second_step.hint')}
        problem={wrong}
        autocomplete="one-time-code"
        inputmode="numeric"
        focus={!problem}
        code
      />
      <button type="submit" class="button block">
        {words.t('second_step.continue')}
      </button>
    </Form>
  )
}

function RecoveryForm({ frame, model: { next, passkey, authenticator }, wrong }: StepFormProps) {
  const { words } = frame
  return (
    <details class="more" open={wrong !== null || (passkey === null && !authenticator)}>
      <summary>{words.t('second_step.recovery')}</summary>
      <Form frame={frame} action="/sign-in/recovery-code" hidden={{ next }} class="stack">
        <Field
          id="recovery-code"
          name="code"
          label={words.t('confirm.recovery')}
          hint={words.t('second_step.recovery_hint')}
          problem={wrong}
          autocomplete="off"
          maxLength={40}
          ltr
        />
        <button type="submit" class="button quiet block">
          {words.t('second_step.continue')}
        </button>
      </Form>
    </details>
  )
}
