/**
 * Mail to the owner of an application about a review of it or an answer to a request: what happened, figures, reason,
 * what to do. Never names the operator.
 */
import { MAX_OUTSIDE_GRANTS } from '../../core/applications/vetting.ts'
import { type ReviewNotification, requestAnswers } from '../../core/mail.ts'
import type { Figures } from '../../core/reviews/suspension.ts'
import type { Words } from '../ui/words.ts'
import type { Block } from './block.ts'

export function composeReview(
  words: Words,
  news: ReviewNotification,
  accountHost: string,
  link: string,
): readonly [string, ...Block[]] {
  const { what, application, reason, figures } = news
  const about = {
    application,
    name: accountHost,
    until: news.until === null ? '' : words.moment(news.until),
    seconds: news.intervalSeconds ?? 0,
    max: MAX_OUTSIDE_GRANTS,
  }
  const facts: [string, string | null][] = [
    [words.t('application_review.fact_reason'), reason && words.t(`suspension_reason.${reason}`)],
    ...(figures ? factsOf(words, figures) : []),
  ]
  return [
    words.t(`application_review.${what}_subject`, about),
    { says: words.t(`application_review.${what}_text`, about) },
    ...(what === 'suspended' ? [{ says: howLong(words, news) }] : []),
    ...(facts.some(([, value]) => value) ? [{ facts }] : []),
    ...(news.words === null ? [] : [{ says: words.t('application_review.words', { words: news.words }) }]),
    ...whatToDo(words, news),
    { link, label: words.t(`application_review.${labelOf(news)}`) },
  ]
}

function howLong(words: Words, { until }: ReviewNotification): string {
  if (until === null) return words.t('application_review.suspended_until_review')
  return words.t('application_review.suspended_until', { until: words.moment(until) })
}

const isAnswer = ({ what }: ReviewNotification) => requestAnswers.some((each) => each === what)

function labelOf(news: ReviewNotification): 'link_application' | 'link_appeal' | 'link' {
  if (isAnswer(news)) return 'link_application'
  return news.suspended ? 'link_appeal' : 'link'
}

function whatToDo(words: Words, news: ReviewNotification): Block[] {
  const { what, suspended } = news
  if (what === 'warned' || what === 'expired') return [{ says: words.t(`application_review.${what}_what`) }]
  return suspended && !isAnswer(news) ? [{ says: words.t('application_review.suspended_what') }] : []
}

/** Leaves out facts without a figure: a review opened by reports has no polling figures, and the reverse. */
function factsOf(words: Words, figures: Figures): [string, string | null][] {
  const { ignoringAccounts, grantedAccounts, ignoringNetworks, factor, reports, thresholds } = figures
  const { windowMinutes: minutes, windows, accounts, share, networks } = thresholds
  const counted = { ignoring: ignoringAccounts, granted: grantedAccounts, networks: ignoringNetworks, minutes }
  const ignored = ignoringAccounts > 0
  const rule = words.t('application_review.value_rule', { windows, accounts, share, networks })
  const fast = factor !== null && factor > 1
  return [
    [
      words.t('application_review.fact_accounts'),
      ignored ? words.t('application_review.value_accounts', counted) : null,
    ],
    [words.t('application_review.fact_rule'), ignored ? rule : null],
    [words.t('application_review.fact_factor'), fast ? words.t('application_review.value_factor', { factor }) : null],
    [
      words.t('application_review.fact_reports'),
      reports > 0 ? words.t('application_review.value_reports', { reports }) : null,
    ],
  ]
}
