/** Overview page for operators: problems of the service, live figures, and work that waits. */
import type { ComponentChildren } from 'preact'
import type { Attention } from '../../core/operator/attention.ts'
import type { TaskLine } from '../../core/operator/listed.ts'
import type { QueueLine } from '../../core/reviews/queue.ts'
import { QueueList } from '../reviews/line.tsx'
import { Moment } from '../ui/elements.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Notice } from '../ui/notice.tsx'
import type { Words } from '../ui/words.ts'
import { AttentionCard, RestoredNotice } from './attention.tsx'
import { TaskTable } from './tasks.tsx'

export type OperatorOverviewModel = {
  readonly now: number
  readonly postgres: {
    readonly version: string
    readonly roundTripMs: number
    /** This machine's clock minus PostgreSQL's; negative when behind. */
    readonly clockAheadMs: number
    readonly schema: {
      readonly newest: string | null
      readonly missing: readonly string[]
      readonly unknown: readonly string[]
    }
  }
  /** `shared`: the gate is in Redis, not in this process. */
  readonly gate: { readonly shared: boolean; readonly answers: boolean }
  readonly mail: {
    readonly server: boolean
    readonly waiting: number
    readonly oldest: number | null
    /** In the last day. */
    readonly givenUp: number
  }
  readonly tasks: readonly TaskLine[]
  readonly live: {
    readonly waitingDevices: number
    readonly pollsPerSecond: number
    /** Of the last hour; null: too many to count. */
    readonly outcomes: { readonly granted: number; readonly rejected: number; readonly expired: number } | null
  }
  /** The first few lines of the queue. */
  readonly queue: readonly QueueLine[]
  /** Length of the queue. */
  readonly waiting: number
  readonly attention: Attention
  /** Suspended applications that wait for a decision; `oldest`: since when the first one waits, null if none. */
  readonly waitingSuspensions: { readonly count: number; readonly oldest: number | null }
}

type PartProps = { readonly words: Words; readonly model: OperatorOverviewModel }

export function operatorOverviewPage(frame: Frame, model: OperatorOverviewModel): string {
  const { words } = frame
  const { restore } = model.attention
  return page(
    frame,
    words.t('operator.overview'),
    <>
      <header class="stack tight">
        <h1>{words.t('operator.overview')}</h1>
        <p class="soft">
          {words.t('operator.as_of')} <Moment words={words} ms={model.now} />
          {' · '}
          <a href="/operator">{words.t('operator.reload')}</a>
        </p>
      </header>
      <Verdict words={words} model={model} />
      {restore !== null && <RestoredNotice words={words} restore={restore} />}
      <div class="beside">
        <Queue words={words} model={model} />
        <AttentionCard words={words} attention={model.attention} />
      </div>
      <Live words={words} model={model} />
      <Engines words={words} model={model} />
      <details class="card find" open={model.tasks.some(({ overdue }) => overdue)}>
        <summary>{words.t('operator.tasks')}</summary>
        <p class="soft">{words.t('operator.tasks_text')}</p>
        <TaskTable words={words} tasks={model.tasks} />
      </details>
    </>,
    { wide: true },
  )
}

/** Above this difference, log timestamps of several machines can no longer be compared. */
const CLOCK_MS = 2_000

/** Older mails in the queue are a problem: a mail that could not be sent is retried within minutes. */
const MAIL_MS = 15 * 60 * 1000

/** Older suspensions are a problem: by then operators have had a working day to decide. */
const REVIEW_MS = 24 * 60 * 60 * 1000

/** Each problem is a sentence: what is wrong, and what it means. */
function problems({ words, model }: PartProps): readonly string[] {
  const { now, postgres, gate, mail, tasks, waitingSuspensions } = model
  const { missing, unknown } = postgres.schema
  const seconds = Math.round(Math.abs(postgres.clockAheadMs) / 1000)
  const failing = tasks.filter(({ overdue }) => overdue).map(({ name }) => name)
  return [
    missing.length > 0 && words.t('operator.problem_missing', { names: words.list(missing) }),
    unknown.length > 0 && words.t('operator.problem_unknown', { names: words.list(unknown) }),
    gate.shared && !gate.answers && words.t('operator.problem_gate'),
    seconds * 1000 > CLOCK_MS && words.t('operator.problem_clock', { seconds }),
    failing.length > 0 && words.t('operator.problem_tasks', { names: words.list(failing) }),
    !mail.server && mail.waiting > 0 && words.t('operator.problem_no_mail', { mails: mail.waiting }),
    mail.server &&
      mail.oldest !== null &&
      now - mail.oldest > MAIL_MS &&
      words.t('operator.problem_mail', { mails: mail.waiting }),
    waitingSuspensions.oldest !== null &&
      now - waitingSuspensions.oldest > REVIEW_MS &&
      words.t('operator.problem_suspensions', { suspensions: waitingSuspensions.count }),
    mail.givenUp > 0 && words.t('operator.problem_given_up', { mails: mail.givenUp }),
  ].filter((text) => text !== false)
}

function Verdict(props: PartProps) {
  const { words, model } = props
  const wrong = problems(props)
  if (wrong.length === 0)
    return model.attention.restore === null ? <Notice kind="success">{words.t('operator.well')}</Notice> : null
  return (
    <Notice kind="warning" title={words.t('operator.not_well', { problems: wrong.length })}>
      <ul>
        {wrong.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </Notice>
  )
}

function Live({ words, model: { live, mail, waiting, waitingSuspensions } }: PartProps) {
  const { outcomes } = live
  const many = words.t('operator.too_many')
  return (
    <section class="card stack" aria-labelledby="live">
      <h2 id="live">{words.t('operator.live')}</h2>
      <dl class="tiles">
        <Tile name={words.t('operator.live_waiting')}>{words.number(live.waitingDevices)}</Tile>
        <Tile name={words.t('operator.live_polls')}>{words.number(live.pollsPerSecond)}</Tile>
        <Tile name={words.t('operator.live_granted')}>{outcomes ? words.number(outcomes.granted) : many}</Tile>
        <Tile name={words.t('operator.live_rejected')}>{outcomes ? words.number(outcomes.rejected) : many}</Tile>
        <Tile name={words.t('operator.live_expired')}>{outcomes ? words.number(outcomes.expired) : many}</Tile>
        <Tile name={words.t('operator.live_mails')}>{words.number(mail.waiting)}</Tile>
        <Tile name={words.t('operator.live_reviews')}>{words.number(waiting)}</Tile>
        <Tile name={words.t('operator.live_suspensions')}>{words.number(waitingSuspensions.count)}</Tile>
      </dl>
    </section>
  )
}

function Tile({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class="figures">{children}</dd>
    </div>
  )
}

function Queue({ words, model: { queue, waiting, now } }: PartProps) {
  return (
    <section class="card stack" aria-labelledby="queue">
      <h2 id="queue">{words.t('operator.queue')}</h2>
      {queue.length === 0 ? (
        <p>{words.t('operator.reviews_open_none')}</p>
      ) : (
        <>
          <QueueList words={words} lines={queue} now={now} />
          <p>
            <a href="/operator/reviews">{words.t('operator.queue_all', { reviews: waiting })}</a>
          </p>
        </>
      )}
    </section>
  )
}

function Engines({ words, model: { postgres, gate, mail } }: PartProps) {
  const { version, roundTripMs, schema, clockAheadMs } = postgres
  const seconds = words.number(Math.round(clockAheadMs / 100) / 10 || 0)
  return (
    <section class="card stack" aria-labelledby="engines">
      <h2 id="engines">{words.t('operator.engines')}</h2>
      <Facts>
        <Fact name="PostgreSQL">
          {words.t('operator.postgres', { version, ms: words.number(Math.round(roundTripMs)) })}
        </Fact>
        <Fact name={words.t('operator.schema')}>
          {schema.newest !== null && <bdi class="technical">{schema.newest}</bdi>}
        </Fact>
        <Fact name={words.t('operator.clock')}>{words.t('operator.clock_off', { seconds })}</Fact>
        <Fact name={words.t('operator.gate')}>
          {words.t(gate.shared ? (gate.answers ? 'operator.gate_up' : 'operator.gate_down') : 'operator.gate_process')}
        </Fact>
        <Fact name={words.t('operator.mail')}>{words.t(mail.server ? 'operator.mail_on' : 'operator.mail_off')}</Fact>
      </Facts>
    </section>
  )
}
