/** Sign-in page: password or passkey. */
import { PasskeyForm } from '../ui/elements.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Notice, Problems } from '../ui/notice.tsx'

export type SignInModel = {
  readonly email: string
  readonly next: string
  readonly problem: null | 'wrong' | 'locked' | 'busy' | 'expired' | 'passkey'
  /** Remaining minutes of the lockout. */
  readonly minutes: number
  readonly notice: null | 'signed_out' | 'switched'
  /** JSON of PublicKeyCredentialRequestOptions. */
  readonly passkey: string
  /** URL of the page that asks for the account, for users who came with a code; else null. */
  readonly otherAccount: string | null
  /** Identity provider of the account: its name, and the path that leads there; null: none. */
  readonly provider: { readonly host: string; readonly href: string } | null
  /** Path of this page for administrators who sign in without the provider; null: everybody may, and the form is shown. */
  readonly ownAt: string | null
}

export function signInPage(frame: Frame, model: SignInModel): string {
  const { words } = frame
  const { problem, notice } = model
  const wrong = problem && words.t(`sign_in.problem_${problem}`, { minutes: model.minutes })
  const name = frame.account?.name ?? ''
  return page(
    frame,
    words.t('sign_in.title'),
    <>
      <Problems words={words} problems={wrong ? [{ field: problem === 'wrong' ? 'email' : null, text: wrong }] : []} />
      {notice && !problem && <Notice kind="success">{words.t(`sign_in.notice_${notice}`)}</Notice>}
      <section class="card stack">
        <h1>{words.t('sign_in.heading', { name })}</h1>
        {model.provider && (
          <p class="actions">
            <a href={model.provider.href} class="button block">
              {words.t('at_host.continue', { host: model.provider.host })}
            </a>
          </p>
        )}
        {model.ownAt === null ? (
          <OwnMeans frame={frame} model={model} />
        ) : (
          <p class="hint">
            <a href={model.ownAt}>{words.t('sign_in.emergency')}</a>
          </p>
        )}
        {model.otherAccount && (
          <p>
            <a href={model.otherAccount}>{words.t('enter_code.other_account')}</a>
          </p>
        )}
      </section>
    </>,
    { problem: problem !== null },
  )
}

type OwnMeansProps = { readonly frame: Frame; readonly model: SignInModel }

/** Password, passkey and recovery. */
function OwnMeans({ frame, model }: OwnMeansProps) {
  const { words } = frame
  const { problem, next } = model
  const wrong = problem === 'wrong' ? words.t('sign_in.problem_wrong') : null
  return (
    <>
      <Form frame={frame} action="/sign-in" hidden={{ next }} class="stack">
        <Field
          id="email"
          type="email"
          label={words.t('sign_in.email')}
          value={model.email}
          autocomplete="username webauthn"
          problem={wrong}
          focus={!problem && model.email === '' && model.provider === null}
        />
        <Field
          id="password"
          type="password"
          label={words.t('sign_in.password')}
          autocomplete="current-password"
          focus={!problem && model.email !== ''}
        />
        <p class="actions">
          <button type="submit" class="button block">
            {words.t('sign_in.continue')}
          </button>
        </p>
      </Form>
      <PasskeyForm
        frame={frame}
        mode="sign-in"
        action="/sign-in/passkey"
        options={model.passkey}
        hidden={{ next }}
        label={words.t('sign_in.passkey')}
      />
      <p>
        {/* In a dialog the link opens a new tab: leaving the window would lose the request. */}
        <a href="/recover" {...(frame.dialog ? { target: '_blank', rel: 'noopener noreferrer' } : {})}>
          {words.t('sign_in.recover')}
        </a>
      </p>
    </>
  )
}
