/** Request form for a recovery link. The answer does not reveal whether the address is known. */
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Notice, Problems } from '../ui/notice.tsx'
import { strong } from '../ui/strong.tsx'

export type RecoverModel = { readonly email: string; readonly sent: boolean; readonly problem: null | 'email' }

export function recoverPage(frame: Frame, model: RecoverModel): string {
  return model.sent ? sent(frame, model.email) : ask(frame, model)
}

function ask(frame: Frame, { email, problem }: RecoverModel): string {
  const { words } = frame
  const wrong = problem && words.t('recover.problem_email')
  return page(
    frame,
    words.t('recover.title'),
    <>
      <Problems words={words} problems={wrong ? [{ field: 'email', text: wrong }] : []} />
      <section class="card stack">
        <h1>{words.t('recover.title')}</h1>
        {frame.mail ? <p>{words.t('recover.text')}</p> : <NoMail frame={frame} />}
        <Form frame={frame} action="/recover" class="stack">
          <Field
            id="email"
            type="email"
            label={words.t('recover.email')}
            value={email}
            autocomplete="username"
            problem={wrong}
            focus={!problem}
          />
          <button type="submit" class="button block">
            {words.t('recover.continue')}
          </button>
        </Form>
        <p>
          <a href="/sign-in">{words.t('recover.back')}</a>
        </p>
      </section>
    </>,
    { problem: problem !== null },
  )
}

function NoMail({ frame }: { readonly frame: Frame }) {
  return (
    <Notice kind="warning">
      <p>{frame.words.t('recover.no_mail', { name: frame.account?.name ?? '' })}</p>
    </Notice>
  )
}

function sent(frame: Frame, email: string): string {
  const { words } = frame
  const title = words.t(frame.mail ? 'recover.sent' : 'recover.title')
  return page(
    frame,
    title,
    <section class="card stack">
      <h1>{title}</h1>
      {frame.mail ? (
        <>
          <p>{words.rich('recover.sent_text', { email, b: strong })}</p>
          <p class="soft">{words.t('recover.sent_wait', { name: frame.account?.name ?? '' })}</p>
        </>
      ) : (
        <NoMail frame={frame} />
      )}
      <p>
        <a href="/sign-in">{words.t('recover.back')}</a>
      </p>
    </section>,
  )
}
