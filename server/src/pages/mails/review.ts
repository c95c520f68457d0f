/**
 * Mail to the owner of an application about its review: what happened, figures, reason, what to do. Never names the
 * operator.
 */
import type { ReviewNotification } from '../../core/mail.ts'
import type { Figures } from '../../core/reviews/suspension.ts'
import type { Words } from '../ui/words.ts'
import type { Block } from './block.ts'

export function composeReview(
  words: Words,
  news: ReviewNotification,
  accountHost: string,
  link: string,
): readonly [string, ...Block[]] {
  const { what, application, reason, figures, suspended } = news
  const about = {
    application,
    name: accountHost,
    until: news.until === null ? '' : words.moment(news.until),
    seconds: news.intervalSeconds ?? 0,
    suspended: suspended ? 'yes' : 'no',
  }
  const facts: [string, string | null][] = [
    [words.t('application_review.fact_reason'), reason && words.t(`suspension_reason.${reason}`)],
    ...(figures ? factsOf(words, figures) : []),
  ]
  const label = words.t(suspended ? 'application_review.link_appeal' : 'application_review.link')
  return [
    words.t(`application_review.${what}_subject`, about),
    { says: words.t(`application_review.${what}_text`, about) },
    ...(what === 'suspended' ? [{ says: howLong(words, news) }] : []),
    ...(facts.some(([, value]) => value) ? [{ facts }] : []),
    ...(news.words === null ? [] : [{ says: words.t('application_review.words', { words: news.words }) }]),
    ...whatToDo(words, news),
    { link, label },
  ]
}

function howLong(words: Words, { until }: ReviewNotification): string {
  if (until === null) return words.t('application_review.suspended_until_review')
  return words.t('application_review.suspended_until', { until: words.moment(until) })
}

function whatToDo(words: Words, { what, suspended }: ReviewNotification): Block[] {
  if (what === 'warned' || what === 'expired') return [{ says: words.t(`application_review.${what}_what`) }]
  return suspended ? [{ says: words.t('application_review.suspended_what') }] : []
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
