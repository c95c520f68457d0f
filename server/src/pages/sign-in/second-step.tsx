/** Second step of sign-in: the code of an authenticator app. */
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Problems } from '../ui/notice.tsx'

export type SecondStepModel = {
  readonly next: string
  readonly problem: null | 'wrong' | 'locked'
  readonly minutes: number
}

export function secondStepPage(frame: Frame, { next, problem, minutes }: SecondStepModel): string {
  const { words } = frame
  const wrong = problem && words.t(`second_step.problem_${problem}`, { minutes })
  return page(
    frame,
    words.t('second_step.title'),
    <>
      <Problems words={words} problems={wrong ? [{ field: 'code', text: wrong }] : []} />
      <section class="card stack">
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
        <p class="soft">{words.t('second_step.lost', { name: frame.account?.name ?? '' })}</p>
        <p>
          <a href={`/sign-in?next=${encodeURIComponent(next)}`}>{words.t('second_step.back')}</a>
        </p>
      </section>
    </>,
    { problem: problem !== null },
  )
}
