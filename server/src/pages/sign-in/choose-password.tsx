/** Page behind a mailed link that sets a password: for the first administrator, invited users and account recovery. */
import { MAX_CHARACTERS, MIN_CHARACTERS, type PasswordProblem } from '../../core/sign-in/password.ts'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Problems } from '../ui/notice.tsx'
import type { Words } from '../ui/words.ts'

export type ChoosePasswordModel = {
  readonly kind: 'setup' | 'invitation' | 'recovery'
  readonly email: string
  readonly link: string
  readonly problem: null | PasswordProblem
  /** Identity provider with which the link can be used: its name, and the path that leads there; null: none. */
  readonly provider: { readonly host: string; readonly href: string } | null
  /** The user may choose a password. */
  readonly own: boolean
}

export function choosePasswordPage(frame: Frame, model: ChoosePasswordModel): string {
  const { kind, email, link, problem, provider } = model
  const { words } = frame
  const name = frame.account?.name ?? ''
  const wrong = problem && passwordProblemText(words, problem)
  return page(
    frame,
    words.t('choose_password.title'),
    <>
      <Problems words={words} problems={wrong ? [{ field: passwordFieldOf(problem), text: wrong }] : []} />
      <section class="card stack">
        <h1>{words.t(`choose_password.heading_${kind}`, { name })}</h1>
        {provider && (
          <>
            <p>{words.t('choose_password.provider', { email, host: provider.host })}</p>
            <p class="actions">
              <a href={provider.href} class="button block">
                {words.t('at_host.continue', { host: provider.host })}
              </a>
            </p>
          </>
        )}
        {model.own && (
          <>
            <p>{words.t(`choose_password.text_${kind}`, { name })}</p>
            <Form frame={frame} action="/link" hidden={{ link }} class="stack">
              {/* Password managers store a password under the user name field beside it. */}
              <Field
                id="email"
                type="email"
                label={words.t('choose_password.email')}
                value={email}
                autocomplete="username"
                readOnly
              />
              <NewPassword frame={frame} problem={problem} focus={!problem && provider === null} />
              <button type="submit" class="button block">
                {words.t('choose_password.continue')}
              </button>
            </Form>
          </>
        )}
      </section>
    </>,
    { problem: problem !== null },
  )
}

type NewPasswordProps = { readonly frame: Frame; readonly problem: null | PasswordProblem; readonly focus?: boolean }

/** New password, entered twice; its requirements are stated up front. */
export function NewPassword({ frame: { words }, problem, focus = false }: NewPasswordProps) {
  const wrongIn = (field: string) =>
    problem && passwordFieldOf(problem) === field ? passwordProblemText(words, problem) : null
  return (
    <>
      <Field
        id="password"
        type="password"
        label={words.t('password.new')}
        hint={words.t('password.hint', { fewest: MIN_CHARACTERS })}
        autocomplete="new-password"
        problem={wrongIn('password')}
        focus={focus}
      />
      <Field
        id="again"
        type="password"
        label={words.t('password.again')}
        autocomplete="new-password"
        problem={wrongIn('again')}
      />
    </>
  )
}

export function passwordFieldOf(problem: PasswordProblem): 'password' | 'again' {
  return problem === 'differ' ? 'again' : 'password'
}

export function passwordProblemText(words: Words, problem: PasswordProblem): string {
  return words.t(`password.${problem}`, { fewest: MIN_CHARACTERS, max: MAX_CHARACTERS })
}
