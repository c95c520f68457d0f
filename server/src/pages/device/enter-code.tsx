/** Entry form for a user code. Never prefilled from the URL. */
import { MIN_RANDOM_DIGITS } from '../../core/device/user-code.ts'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Notice, Problems } from '../ui/notice.tsx'
import type { Words } from '../ui/words.ts'
import { UserCodeField } from './user-code-field.tsx'

export type EnterCodeModel = {
  /** The rejected input, for correction. */
  readonly typed: string
  readonly problem:
    | null
    | { readonly kind: 'empty' }
    | { readonly kind: 'length'; readonly digits: number }
    | { readonly kind: 'mistyped' }
    /** Another user of this account has claimed the code and not decided yet. `offer`: to continue instead of them. */
    | { readonly kind: 'taken'; readonly offer: boolean }
    /** A user of another account had entered it: this one, or after this one. */
    | { readonly kind: 'closed' }
    /** Unknown, expired, used or entered in another account: one text for all. */
    | { readonly kind: 'not_recognised' }
    | { readonly kind: 'locked'; readonly minutes: number }
  /** The account's policy disables the device flow. */
  readonly off: boolean
  /** Names of the applications that the account's policy allows; null: all. */
  readonly only: readonly string[] | null
  /** URL of the page that asks for the account. */
  readonly otherAccount: string
}

export function enterCodePage(frame: Frame, model: EnterCodeModel): string {
  const { words } = frame
  if (model.off) return switchedOff(frame)
  const wrong = model.problem && problemText(frame, model.problem)
  return page(
    frame,
    words.t('enter_code.title'),
    <>
      <Problems words={words} problems={wrong ? [{ field: 'app-code', text: wrong }] : []} />
      <section class="card stack">
        <Form frame={frame} action="/connect/code" class="stack">
          <UserCodeField words={words} typed={model.typed} problem={wrong} focus={!wrong} />
          <button type="submit" class="button big block">
            {words.t('enter_code.continue')}
          </button>
          {model.problem?.kind === 'taken' && model.problem.offer && <TakeOver words={words} />}
          {model.only && <p class="soft">{onlyText(words, model.only)}</p>}
        </Form>
        <p>
          <a href={model.otherAccount}>{words.t('enter_code.other_account')}</a>
        </p>
      </section>
    </>,
    { problem: wrong !== null, single: true, compact: true },
  )
}

/** A second button of the form: who presses Enter does not take over. */
function TakeOver({ words }: { readonly words: Words }) {
  return (
    <div class="stack tight">
      <p class="hint" id="take-over">
        {words.t('enter_code.take_over_hint')}
      </p>
      <button type="submit" class="button quiet block" name="take_over" value="yes" aria-describedby="take-over">
        {words.t('enter_code.take_over')}
      </button>
    </div>
  )
}

/** Random digits plus the check digit. */
const MIN_CHARACTERS = MIN_RANDOM_DIGITS + 1

function problemText({ words, account }: Frame, problem: NonNullable<EnterCodeModel['problem']>): string {
  switch (problem.kind) {
    case 'length':
      return words.t('enter_code.problem_length', { fewest: MIN_CHARACTERS, digits: problem.digits })
    case 'locked':
      return words.t('enter_code.problem_locked', { minutes: problem.minutes })
    case 'taken':
      return words.t('enter_code.problem_taken', { name: account?.name ?? '' })
    default:
      return words.t(`enter_code.problem_${problem.kind}`)
  }
}

function onlyText(words: Words, only: readonly string[]): string {
  return only.length === 0
    ? words.t('enter_code.only_none')
    : words.t('enter_code.only', { applications: words.list(only) })
}

function switchedOff(frame: Frame): string {
  const { words } = frame
  const name = frame.account?.name ?? ''
  return page(
    frame,
    words.t('enter_code.title'),
    <section class="card stack">
      <h1>{words.t('enter_code.off')}</h1>
      <Notice kind="info">
        <p>{words.t('enter_code.off_text', { name })}</p>
      </Notice>
    </section>,
  )
}
