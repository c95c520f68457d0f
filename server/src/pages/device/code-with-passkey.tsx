/** Entry form for a user code that also signs in, for a browser that has a passkey: one page instead of two. */
import { PasskeyForm } from '../ui/elements.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Problems } from '../ui/notice.tsx'
import { UserCodeField } from './user-code-field.tsx'

export type CodeWithPasskeyModel = {
  /** The input of a form that came back. */
  readonly typed: string
  readonly problem: null | 'passkey'
  /** JSON of PublicKeyCredentialRequestOptions. */
  readonly passkey: string
}

export function codeWithPasskeyPage(frame: Frame, { typed, problem, passkey }: CodeWithPasskeyModel): string {
  const { words } = frame
  const wrong = problem && words.t('sign_in.problem_passkey')
  return page(
    frame,
    words.t('enter_code.title'),
    <>
      <Problems words={words} problems={wrong ? [{ field: null, text: wrong }] : []} />
      <section class="card stack">
        <PasskeyForm
          frame={frame}
          mode="sign-in"
          action="/connect/code/passkey"
          options={passkey}
          label={words.t('enter_code.passkey')}
          main
        >
          <UserCodeField words={words} typed={typed} problem={null} focus={problem === null} />
        </PasskeyForm>
        <p>
          <a href="/sign-in?next=%2Fconnect%2Fcode&another">{words.t('enter_code.other_way')}</a>
        </p>
      </section>
    </>,
    { problem: problem !== null, single: true, compact: true },
  )
}
