/** Security page: password, passkeys, authenticator app, recovery codes and sessions of the user. */
import type { PasswordProblem } from '../../core/sign-in/password.ts'
import { Moment } from '../ui/elements.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Notice, Problems } from '../ui/notice.tsx'
import { agentText } from './agent.ts'
import { NewPassword, passwordFieldOf, passwordProblemText } from './choose-password.tsx'
import { AuthenticatorCard, PasskeysCard, RecoveryCodesCard } from './security-methods.tsx'
import type { SecurityModel } from './security-model.ts'

export function securityPage(frame: Frame, model: SecurityModel): string {
  const { words } = frame
  const elsewhere = signsInElsewhere(frame)
  const { problem, notice } = model
  const wrong = problem && problemText(frame, problem)
  return page(
    frame,
    words.t('security.title'),
    <>
      <Problems words={words} problems={wrong ? [{ field: fieldOf(problem), text: wrong }] : []} />
      {notice && !problem && <Notice kind="success">{words.t(`security.notice_${notice}`)}</Notice>}
      <h1>{words.t('security.title')}</h1>
      {elsewhere === null ? (
        <>
          <PasswordCard frame={frame} model={model} />
          <PasskeysCard frame={frame} model={model} />
          <AuthenticatorCard frame={frame} authenticator={model.authenticator} />
          {model.recoveryCodes !== null && <RecoveryCodesCard frame={frame} left={model.recoveryCodes} />}
        </>
      ) : (
        <p>{words.t('security.host', { host: elsewhere })}</p>
      )}
      <SessionsCard frame={frame} model={model} />
    </>,
    { problem: problem !== null },
  )
}

/** Host at which the user signs in; null: here. */
function signsInElsewhere({ user, signInAt }: Frame): string | null {
  return user?.signsInAt ?? signInAt
}

type Wrong = NonNullable<SecurityModel['problem']>

function problemText({ words }: Frame, problem: Wrong): string {
  return isAboutNewPassword(problem) ? passwordProblemText(words, problem) : words.t(`security.problem_${problem}`)
}

function isAboutNewPassword(problem: Wrong): problem is PasswordProblem {
  return !ABOUT_ELSE.includes(problem)
}

const ABOUT_ELSE: readonly Wrong[] = ['wrong', 'passkey', 'last_passkey', 'required', 'locked']

function fieldOf(problem: Wrong): string | null {
  if (isAboutNewPassword(problem)) return passwordFieldOf(problem)
  if (problem === 'last_passkey') return 'password'
  return problem === 'wrong' ? 'current' : null
}

type CardProps = { readonly frame: Frame; readonly model: SecurityModel }

function PasswordCard({ frame, model: { hasPassword, problem } }: CardProps) {
  const { words } = frame
  return (
    <section class="card stack" aria-labelledby="change-password">
      <h2 id="change-password">{words.t(hasPassword ? 'security.password' : 'security.password_none')}</h2>
      <Form frame={frame} action="/security/password" class="stack">
        {/* Password managers store a password under the user name field beside it. */}
        <input
          class="visually-hidden"
          type="text"
          autocomplete="username"
          value={frame.user?.email}
          readOnly
          tabIndex={-1}
          aria-hidden="true"
        />
        {hasPassword && (
          <Field
            id="current"
            type="password"
            label={words.t('security.current')}
            autocomplete="current-password"
            problem={problem === 'wrong' ? words.t('security.problem_wrong') : null}
          />
        )}
        <NewPassword frame={frame} problem={problem && isAboutNewPassword(problem) ? problem : null} />
        <p class="hint">{words.t('security.password_hint')}</p>
        <div class="actions">
          <button type="submit" class="button">
            {words.t(hasPassword ? 'security.change_password' : 'security.set_password')}
          </button>
        </div>
      </Form>
    </section>
  )
}

function SessionsCard({ frame, model: { sessions } }: CardProps) {
  const { words } = frame
  return (
    <section class="card stack" aria-labelledby="sessions">
      <h2 id="sessions">{words.t('security.sessions')}</h2>
      <ul class="rows">
        {sessions.map((session) => (
          <li key={session.id}>
            <div class="stack tight">
              <h3>
                <bdi>{agentText(words, session.agent)}</bdi>{' '}
                {session.current && <span class="badge success">{words.t('security.this_one')}</span>}
              </h3>
              <Facts>
                <Fact name={words.t('security.signed_in')}>
                  <Moment words={words} ms={session.createdAt} />
                </Fact>
                <Fact name={words.t('security.last_used')}>
                  {!session.current && <Moment words={words} ms={session.lastUsedAt} />}
                </Fact>
                <Fact name={words.t('security.place')}>{session.place}</Fact>
                <Fact name={words.t('security.address')}>{session.address && <bdi>{session.address}</bdi>}</Fact>
              </Facts>
            </div>
            <Form frame={frame} action="/security/sign-out" bound={{ session: session.id }}>
              <button type="submit" class="button quiet">
                {words.t('security.sign_out_one')}
              </button>
            </Form>
          </li>
        ))}
      </ul>
      <Form frame={frame} action="/security/sign-out-everywhere" class="stack tight">
        <p class="hint">
          {signsInElsewhere(frame) === null
            ? words.t('security.everywhere_hint')
            : words.t('security.everywhere_hint_host', { host: signsInElsewhere(frame) ?? '' })}
        </p>
        <div class="actions">
          <button type="submit" class="button quiet">
            {words.t('security.everywhere')}
          </button>
        </div>
      </Form>
    </section>
  )
}
