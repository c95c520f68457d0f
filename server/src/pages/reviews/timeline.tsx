/** History of an application, newest first: event, time, actor. */
import type { TimelineEvent } from '../../core/reviews/review.ts'
import { reasonText } from '../audit/reason.ts'
import { Moment } from '../ui/elements.tsx'
import { Folded } from '../ui/folded.tsx'
import type { MessageKey, Words } from '../ui/words.ts'

/** Kinds with a text of their own; others are shown as recorded. */
const KNOWN: Readonly<Record<string, MessageKey>> = {
  'application.created': 'operator.fact_created',
  'application.changed': 'operator.fact_changed',
  'application.publisher_set': 'operator.fact_publisher_set',
  'application.redirects_set': 'operator.fact_redirects_set',
  'application.secret_rotated': 'operator.fact_secret_rotated',
  'application.secret_revoked': 'operator.fact_secret_revoked',
  'application.reported': 'operator.fact_reported',
  'application.warned': 'operator.fact_warned',
  'application.suspended': 'operator.fact_suspended',
  'application.restored': 'operator.fact_restored',
  'application.appealed': 'operator.fact_appealed',
  'credential.reported': 'operator.fact_credential_reported',
  'code.reported': 'operator.fact_code_reported',
  'code.crowd': 'operator.fact_code_crowd',
  'application.judged': 'operator.fact_judged',
  'review.proposed': 'operator.fact_review_proposed',
  'review.decided': 'operator.fact_review_decided',
  'review.withdrawn': 'operator.fact_review_withdrawn',
}

/** Kinds whose actor is not shown to operators. */
const UNNAMED = ['application.reported', 'credential.reported', 'code.reported', 'code.crowd']

export function TimelineCard({
  words,
  timeline,
}: {
  readonly words: Words
  readonly timeline: readonly TimelineEvent[]
}) {
  return (
    <section class="card stack" aria-labelledby="timeline">
      <h2 id="timeline">{words.t('operator.timeline')}</h2>
      {timeline.length === 0 ? (
        <p>{words.t('operator.timeline_none')}</p>
      ) : (
        <Folded
          words={words}
          items={timeline}
          shown={3}
          render={(facts) => (
            <ol class="rows timeline">
              {facts.map((fact, index) => (
                <Line words={words} fact={fact} key={index} />
              ))}
            </ol>
          )}
        />
      )}
    </section>
  )
}

function Line({ words, fact }: { readonly words: Words; readonly fact: TimelineEvent }) {
  const { at, kind, detail } = fact
  const known = KNOWN[kind]
  const reason = reasonText(words, detail.reason)
  const said = Object.entries(detail)
    .filter(([name]) => name !== 'reason' || reason === null)
    .filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value))
  const who = whoDid(words, fact)
  return (
    <li>
      <div>
        <p>{known ? words.t(known) : <bdi class="technical">{kind}</bdi>}</p>
        <p class="hint">
          <Moment words={words} ms={at} />
          {who !== null && ` · ${who}`}
          {reason !== null && ` · ${reason}`}
        </p>
        {said.length > 0 && (
          <p class="hint technical" dir="ltr">
            {said.map(([name, value]) => `${name}: ${value}`).join(', ')}
          </p>
        )}
      </div>
    </li>
  )
}

/** Null: the actor is not shown, or the entry of the decision names the operator. */
function whoDid(words: Words, { kind, by, detail }: TimelineEvent): string | null {
  if (by !== null) return words.t('operator.by', { who: by })
  if (UNNAMED.includes(kind) || 'decision' in detail) return null
  return words.t('review' in detail ? 'operator.by_rule' : 'operator.by_command')
}
