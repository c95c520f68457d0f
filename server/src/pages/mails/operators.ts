/** Mails to operators about what needs two of them: changes of operators, and decisions about applications. */
import type { OperatorChangeNotification, SecondDecisionNotification } from '../../core/mail.ts'
import type { Words } from '../ui/words.ts'
import type { Block } from './block.ts'

export function composeOperatorChange(
  words: Words,
  { what, change, email, by, confirmedBy }: OperatorChangeNotification,
  link: string,
): readonly [string, ...Block[]] {
  const who = { by: by ?? '', confirmedBy: confirmedBy ?? '' }
  return [
    words.t(`mail.operator_change_${what}_subject`, { email }),
    { says: words.t(`mail.operator_change_${what}_text`, who) },
    {
      facts: [
        [words.t('mail.operator_change_who'), email],
        [words.t('operators.change'), words.t(`operators.change_${change}`)],
      ],
    },
    { says: words.t('mail.operator_change_what') },
    { link, label: words.t('mail.operator_change_link') },
  ]
}

export function composeSecondDecision(
  words: Words,
  { application, decision, by, confirmedBy }: SecondDecisionNotification,
  link: string,
): readonly [string, ...Block[]] {
  const what = confirmedBy === null ? 'proposed' : 'confirmed'
  return [
    words.t(`mail.second_decision_${what}_subject`, { application }),
    { says: words.t(`mail.second_decision_${what}_text`, { application, by, confirmedBy: confirmedBy ?? '' }) },
    { facts: [[words.t('mail.second_decision_which'), words.t(`operator.decided_${decision}`)]] },
    { link, label: words.t('mail.second_decision_link') },
  ]
}
