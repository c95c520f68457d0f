/** Page that invites a user into the account. */
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { MailWaits, Problems } from '../ui/notice.tsx'
import { firstBoxOf, RoleChoice, type RoleOption } from './role-choice.tsx'

export type InviteModel = {
  readonly email: string
  readonly roles: readonly RoleOption[]
  readonly problem: null | 'email' | 'exists' | 'role' | 'too_many' | 'already_proposed' | 'only_operator'
}

export function invitePage(frame: Frame, { email, roles, problem }: InviteModel): string {
  const { words } = frame
  const name = frame.account?.name ?? ''
  const wrong = problem && words.t(`invite.problem_${problem}`, { name })
  const wrongEmail = problem === 'email' || problem === 'exists' ? wrong : null
  const field = problem === 'role' ? firstBoxOf(roles) : wrongEmail && 'email'
  return page(
    frame,
    words.t('invite.title', { name }),
    <>
      <Problems words={words} problems={wrong ? [{ field, text: wrong }] : []} />
      <section class="card stack">
        <h1>{words.t('invite.title', { name })}</h1>
        <p>{words.t('invite.text')}</p>
        {frame.user?.operator && <p>{words.t('invite.two_operators')}</p>}
        <MailWaits frame={frame} />
        <Form frame={frame} action="/account/people/invite" class="stack">
          <Field
            id="email"
            type="email"
            label={words.t('invite.email')}
            hint={words.t('invite.email_hint')}
            value={email}
            autocomplete="off"
            problem={wrongEmail}
            focus={!problem}
          />
          <RoleChoice
            words={words}
            legend={words.t('invite.roles')}
            roles={roles}
            problem={problem === 'role' ? wrong : null}
          />
          <p class="actions">
            <button type="submit" class="button">
              {words.t('invite.send')}
            </button>
            <a href="/account/people">{words.t('invite.back')}</a>
          </p>
        </Form>
      </section>
    </>,
    { wide: true, problem: problem !== null },
  )
}
