/** One line of the operators' queue: what it is about, the number affected, and what happens next. */
import { MAX_OUTSIDE_GRANTS } from '../../core/applications/vetting.ts'
import type { QueueLine, RequestLine } from '../../core/reviews/queue.ts'
import type { ReviewLine } from '../../core/reviews/review.ts'
import { operatorHref } from '../operator/hrefs.ts'
import { KeyList, Moment } from '../ui/elements.tsx'
import type { Words } from '../ui/words.ts'

type ListProps = { readonly words: Words; readonly lines: readonly QueueLine[]; readonly now: number }

/** Expects the lines sorted, worst first. */
export function QueueList({ words, lines, now }: ListProps) {
  return (
    <KeyList>
      <ol class="rows">
        {lines.map((line) => (
          <QueueItem words={words} line={line} now={now} key={line.id} />
        ))}
      </ol>
    </KeyList>
  )
}

type LineProps = { readonly words: Words; readonly line: QueueLine; readonly now: number }

function QueueItem({ words, line, now }: LineProps) {
  const { applicationId, application, account, openedAt } = line
  return (
    <li>
      <div class="stack tight">
        <div class="heading">
          <a class="target" href={operatorHref(applicationId)}>
            <bdi>{application}</bdi>
          </a>
          <QueueBadges words={words} line={line} />
        </div>
        <p>{queueReason(words, line)}</p>
        <p class="hint">
          {words.t('operator.line_account', { account })}
          {' · '}
          {words.t('operator.line_opened', { ago: words.ago(now - openedAt) })}
          {line.kind === 'suspension' && <Waiting words={words} review={line} now={now} />}
        </p>
      </div>
    </li>
  )
}

type WaitingProps = { readonly words: Words; readonly review: ReviewLine; readonly now: number }

function Waiting({ words, review: { waitingSince, suspensionEndsAt }, now }: WaitingProps) {
  return (
    <>
      {waitingSince !== null && ` · ${words.t('operator.line_waiting', { ago: words.ago(now - waitingSince) })}`}
      {suspensionEndsAt !== null && (
        <>
          {' · '}
          {words.t('operator.line_ends')} <Moment words={words} ms={suspensionEndsAt} />
        </>
      )}
    </>
  )
}

export function QueueBadges({ words, line }: { readonly words: Words; readonly line: QueueLine }) {
  if (line.kind === 'suspension') return <ReviewBadges words={words} review={line} />
  return (
    <span class="badges">
      {line.suspended && <span class="badge danger">{words.t('operator.suspended')}</span>}
      <span class="badge">{words.t(requestState(line))}</span>
    </span>
  )
}

function requestState({ kind, closedAt }: RequestLine) {
  if (closedAt === null) return `operator.kind_${kind}` as const
  return kind === 'vetting' ? 'operator.approved' : 'operator.declined'
}

type BadgesProps = {
  readonly words: Words
  readonly review: Pick<ReviewLine, 'suspended' | 'verdict' | 'closedAt' | 'appealedAt' | 'waitsForSecond'>
}

/** Badges for what needs an operator's attention. */
export function ReviewBadges({ words, review }: BadgesProps) {
  const { suspended, verdict, closedAt, appealedAt, waitsForSecond } = review
  const open = closedAt === null
  return (
    <span class="badges">
      {suspended && <span class="badge danger">{words.t('operator.suspended')}</span>}
      {open && !suspended && <span class="badge warning">{words.t(`operator.verdict_${verdict}`)}</span>}
      {open && waitsForSecond && <span class="badge warning">{words.t('operator.waits')}</span>}
      {open && appealedAt !== null && <span class="badge warning">{words.t('operator.appealed')}</span>}
    </span>
  )
}

/** What the line is about, in one sentence with its figures. */
export function queueReason(words: Words, line: QueueLine): string {
  switch (line.kind) {
    case 'suspension':
      return reviewReason(words, line)
    case 'vetting':
      return words.t('operator.line_vetting', { count: line.outsideGrants, max: MAX_OUTSIDE_GRANTS })
    case 'profile': {
      const what = line.name === null ? 'logo' : line.logo ? 'both' : 'name'
      return words.t('operator.line_profile', { what, name: line.name ?? '' })
    }
  }
}

/** Reason of the review in one sentence with its figures. */
export function reviewReason(
  words: Words,
  { reason, people, factor }: Pick<ReviewLine, 'reason' | 'people' | 'factor'>,
): string {
  if (reason !== 'polling') return words.t(`operator.review_reason_${reason}`, { people })
  return factor === null
    ? words.t('operator.review_reason_polling_only', { people })
    : words.t('operator.review_reason_polling', { people, factor })
}
