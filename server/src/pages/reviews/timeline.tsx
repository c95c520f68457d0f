/** History of an application, newest first: event, time, actor. */
import { isAuditKind } from '../../core/audit/kind.ts'
import type { TimelineEvent } from '../../core/reviews/review.ts'
import { reasonText } from '../audit/reason.ts'
import { Moment } from '../ui/elements.tsx'
import { Folded } from '../ui/folded.tsx'
import type { Words } from '../ui/words.ts'

/** Kinds whose actor is not shown to operators. */
const UNNAMED = ['application.reported', 'credential.reported', 'code.reported', 'code.crowd']

type CardProps = {
  readonly words: Words
  /** Name of the application. */
  readonly application: string
  readonly timeline: readonly TimelineEvent[]
}

export function TimelineCard({ words, application, timeline }: CardProps) {
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
                <Line words={words} application={application} fact={fact} key={index} />
              ))}
            </ol>
          )}
        />
      )}
    </section>
  )
}

type LineProps = Omit<CardProps, 'timeline'> & { readonly fact: TimelineEvent }

function Line({ words, application, fact }: LineProps) {
  const { at, kind, detail } = fact
  const reason = reasonText(words, detail.reason)
  const said = Object.entries(detail)
    .filter(([name]) => name !== 'reason' || reason === null)
    .filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value))
  const who = whoDid(words, fact)
  return (
    <li>
      <div>
        <p>
          {/* A newer version may have written other kinds. */}
          {isAuditKind(kind) ? words.t(`audit_kind.${kind}`, { application }) : <bdi class="technical">{kind}</bdi>}
        </p>
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
