/**
 * Activity page of an application, for its developer: polling rate, funnel of its codes, last requests with their
 * answers.
 */
import type { ComponentChildren } from 'preact'
import { type ActivityFigures, seemsToRegenerate } from '../../core/applications/activity.ts'
import { applicationHref } from '../grants/application-ways.tsx'
import { Moment } from '../ui/elements.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Notice, Problems } from '../ui/notice.tsx'
import { Inline } from '../ui/prose.tsx'
import type { Words } from '../ui/words.ts'
import { ApplicationSuspension, SuspensionMeasures, type SuspensionModel } from './suspension.tsx'

export type ApplicationActivityModel = ActivityFigures & {
  /** Newest first. */
  readonly requests: readonly ActivityLine[]
  readonly suspension: SuspensionModel
}

export type ActivityLine = {
  readonly at: number
  /** The path that was called, as the developer knows it. */
  readonly operation: string
  /** Error code as sent; null for a successful request. */
  readonly refusal: string | null
  readonly message: string | null
  /** How to fix the request; `code` between backticks. */
  readonly remedy: string | null
}

export function applicationActivityPage(frame: Frame, model: ApplicationActivityModel): string {
  const { words } = frame
  const { id, name, secretsInUrl, suspension } = model
  const title = words.t('activity.title', { name })
  const wrong = suspension.problem && words.t(`suspension.problem_${suspension.problem}`, { max: suspension.maxWords })
  return page(
    frame,
    title,
    <>
      <Problems
        words={words}
        problems={wrong ? [{ field: suspension.problem === 'words' ? 'words' : null, text: wrong }] : []}
      />
      <header class="stack tight">
        <h1>{title}</h1>
        <p>
          <a href={applicationHref(id)}>{words.t('activity.back')}</a>
        </p>
      </header>
      <ApplicationSuspension frame={frame} id={id} model={suspension} />
      <Polling words={words} polling={model.polling} />
      <SuspensionMeasures words={words} model={suspension} />
      {secretsInUrl > 0 && (
        <Notice kind="warning" title={words.t('activity.secrets_title')}>
          <p>{words.t('activity.secrets', { times: secretsInUrl })}</p>
        </Notice>
      )}
      <Funnel words={words} funnel={model.funnel} />
      <Requests words={words} requests={model.requests} />
    </>,
    { problem: suspension.problem !== null, wide: true },
  )
}

type PollingProps = { readonly words: Words; readonly polling: ApplicationActivityModel['polling'] }

/** A factor below this one would be displayed as "1.0 times as often". */
const AS_OFTEN_AS_ALLOWED = 1.05

function Polling({ words, polling: { polls, early, factor } }: PollingProps) {
  const fast = factor !== null && factor >= AS_OFTEN_AS_ALLOWED
  const code = (chunks: ComponentChildren) => (
    <code class="technical" dir="ltr">
      {chunks}
    </code>
  )
  return (
    <section class="card stack tight" aria-labelledby="polling">
      <h2 id="polling">{words.t('activity.polling')}</h2>
      {factor === null && <p>{words.t('activity.polling_none')}</p>}
      {factor !== null && !fast && <p>{words.t('activity.polling_well')}</p>}
      {fast && (
        <Notice kind="warning">
          <p>{words.rich('activity.polling_fast', { factor, code })}</p>
        </Notice>
      )}
      {factor !== null && <p class="hint">{words.t('activity.polls', { polls, early })}</p>}
    </section>
  )
}

type FunnelProps = { readonly words: Words; readonly funnel: ApplicationActivityModel['funnel'] }

function Funnel({ words, funnel }: FunnelProps) {
  const { requested, entered, granted, rejected } = funnel
  const steps = [
    ['requested', requested],
    ['entered', entered],
    ['granted', granted],
    ['rejected', rejected],
    // Clamped: a crashed process loses its last seconds of `requested` counts, but never a decision.
    ['open', Math.max(0, requested - granted - rejected)],
  ] as const
  return (
    <section class="card stack" aria-labelledby="codes">
      <h2 id="codes">{words.t('activity.codes')}</h2>
      {seemsToRegenerate(funnel) && (
        <Notice kind="warning" title={words.t('activity.unused_title')}>
          <p>{words.t('activity.unused')}</p>
        </Notice>
      )}
      {steps.every(([, codes]) => codes === 0) ? (
        <p>{words.t('activity.codes_none')}</p>
      ) : (
        <table aria-labelledby="codes">
          <thead>
            <tr>
              <th scope="col">{words.t('activity.step')}</th>
              <th scope="col">{words.t('activity.number')}</th>
              <th scope="col">{words.t('activity.share')}</th>
            </tr>
          </thead>
          <tbody>
            {steps.map(([step, codes]) => (
              <tr key={step}>
                <th scope="row">{words.t(`activity.step_${step}`)}</th>
                <td class="figures">{words.t('activity.number_of', { codes })}</td>
                <td class="figures">
                  {requested > 0 && words.t('activity.share_of', { share: Math.min(1, codes / requested) })}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

type RequestsProps = { readonly words: Words; readonly requests: readonly ActivityLine[] }

function Requests({ words, requests }: RequestsProps) {
  return (
    <section class="card stack" aria-labelledby="requests">
      <h2 id="requests">{words.t('activity.requests')}</h2>
      <p class="soft">{words.t(requests.length === 0 ? 'activity.requests_none' : 'activity.requests_text')}</p>
      {requests.length > 0 && (
        <ol class="rows">
          {requests.map((line, index) => (
            <Line words={words} line={line} key={index} />
          ))}
        </ol>
      )}
    </section>
  )
}

/** Error codes, messages and remedies stay in English in every language, as they are on the wire. */
function Line({ words, line }: { readonly words: Words; readonly line: ActivityLine }) {
  const { at, operation, refusal, message, remedy } = line
  return (
    <li>
      <div class="stack tight">
        <p>
          <code class="technical" dir="ltr">
            {operation}
          </code>{' '}
          <span class={`badge ${refusal === null ? 'success' : 'warning'}`}>
            {words.t(refusal === null ? 'activity.answered' : 'activity.refused')}
          </span>
        </p>
        {refusal !== null && (
          <p lang="en" dir="ltr">
            <code class="technical strong">{refusal}</code> {message} {remedy !== null && <Inline text={remedy} />}
          </p>
        )}
        <p class="hint">
          <Moment words={words} ms={at} />
        </p>
      </div>
    </li>
  )
}
