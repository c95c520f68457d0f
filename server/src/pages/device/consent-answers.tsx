/** Answer section of the consent pages: lifetime of the access or why it cannot be granted, and the two buttons. */
import type { ComponentChildren } from 'preact'
import { MAX_OUTSIDE_GRANTS } from '../../core/applications/vetting.ts'
import { SteadyAnswers } from '../ui/elements.tsx'
import { strong } from '../ui/strong.tsx'
import type { Words } from '../ui/words.ts'
import type { ConsentQuestion } from './consent-model.ts'

type OutlookProps = {
  readonly words: Words
  readonly model: ConsentQuestion & { readonly variant: 'token_set' | 'access_key' }
}

const REASONS = {
  suspended: 'consent.suspended',
  dangerous_scope: 'consent.unvetted_dangerous_scope',
  too_many_grants: 'consent.unvetted_too_many_grants',
  lacking: 'consent.not_grantable',
} as const

export function Outlook({ words, model }: OutlookProps) {
  const { application, variant, unusedDays, maxDays, prevented } = model
  return prevented === null ? (
    <p class="hint">{words.t(`consent.lasts_${variant}`, { days: unusedDays, longest: maxDays })}</p>
  ) : (
    <section class="stack tight" aria-labelledby="not-possible">
      <h2 id="not-possible">{words.t('consent.not_possible')}</h2>
      <p>{words.rich(REASONS[prevented], { application, max: MAX_OUTSIDE_GRANTS, b: strong })}</p>
    </section>
  )
}

type AnswersProps = { readonly words: Words; readonly offered: boolean; readonly preview: boolean }

/** Two buttons of equal weight; only Cancel when nothing can be granted. */
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
  /** Id of the form, for a button outside of it. */
  readonly form?: string
  readonly preview: boolean
  readonly children: ComponentChildren
}

export function AnswerButton({ class: look, decision, form, preview, children }: AnswerButtonProps) {
  return preview ? (
    <button type="button" class={look} disabled>
      {children}
    </button>
  ) : (
    <button type="submit" class={look} name="decision" value={decision} form={form}>
      {children}
    </button>
  )
}
