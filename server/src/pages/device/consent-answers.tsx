/** The part of the consent pages where one answers: how long it would last, or why it cannot be, and the two answers. */
import type { ComponentChildren } from 'preact'
import { SteadyAnswers } from '../ui/elements.tsx'
import { strong } from '../ui/strong.tsx'
import type { Words } from '../ui/words.ts'

type OutlookProps = {
  readonly words: Words
  /** Of the heading. */
  readonly id: string
  readonly model: {
    readonly application: string
    readonly variant: 'token_set' | 'access_key'
    /** After so many days without use a token set ends. */
    readonly unusedDays: number
    /** After so many days it ends in any case. */
    readonly maxDays: number
    readonly grantable: boolean
    readonly suspended: boolean
  }
}

export function Outlook({ words, id, model }: OutlookProps) {
  const { application, suspended } = model
  const offered = model.grantable && !suspended
  return (
    <>
      <h2 id={id}>{words.t(offered ? 'consent.how_long' : 'consent.not_possible')}</h2>
      <p>
        {offered
          ? words.t(`consent.lasts_${model.variant}`, { days: model.unusedDays, longest: model.maxDays })
          : words.rich(suspended ? 'consent.suspended' : 'consent.not_grantable', { application, b: strong })}
      </p>
    </>
  )
}

type AnswersProps = { readonly words: Words; readonly offered: boolean; readonly preview: boolean }

/** Two answers of the same weight; only the first when there is nothing to allow. */
export function Answers({ words, offered, preview }: AnswersProps) {
  return (
    <SteadyAnswers>
      <AnswerButton class="button answer" decision="cancel" preview={preview}>
        {words.t('consent.cancel')}
      </AnswerButton>
      {offered && (
        <AnswerButton class="button answer" decision="allow" preview={preview}>
          {words.t('consent.allow')}
        </AnswerButton>
      )}
    </SteadyAnswers>
  )
}

type AnswerButtonProps = {
  readonly class: string
  readonly decision: 'cancel' | 'allow' | 'not_me'
  readonly preview: boolean
  readonly children: ComponentChildren
}

export function AnswerButton({ class: look, decision, preview, children }: AnswerButtonProps) {
  return preview ? (
    <button type="button" class={look} disabled>
      {children}
    </button>
  ) : (
    <button type="submit" class={look} name="decision" value={decision}>
      {children}
    </button>
  )
}
