/** Delivery log of the webhooks page: event, number of attempts, last answer. */
import { Moment } from '../ui/elements.tsx'
import { Folded } from '../ui/folded.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import type { Words } from '../ui/words.ts'

export type DeliveryRow = {
  readonly id: string
  /** Event id as sent to the receiver. */
  readonly eventId: string
  readonly kind: string
  readonly url: string
  readonly happenedAt: number
  readonly attempts: number
  readonly status: 'waiting' | 'delivered' | 'given_up' | 'off'
  /** The last completed attempt; null if there was none. */
  readonly last: null | { readonly tookMs: number; readonly answer: number | DeliveryError }
  /** Null: no further attempt. */
  readonly nextAt: number | null
}

export type DeliveryError = 'unreachable' | 'timeout' | 'tls' | 'broken' | 'key_retired' | 'other'

type LogProps = {
  readonly frame: Frame
  /** Id of the application. */
  readonly id: string
  readonly deliveries: readonly DeliveryRow[]
  readonly max: number
}

export function WebhookLog({ frame, id, deliveries, max }: LogProps) {
  const { words } = frame
  const several = new Set(deliveries.map(({ url }) => url)).size > 1
  return (
    <section class="card stack" aria-labelledby="log">
      <h2 id="log">{words.t('webhooks.log')}</h2>
      <p class="soft">
        {deliveries.length === 0 ? words.t('webhooks.log_none') : words.t('webhooks.log_text', { max })}
      </p>
      {deliveries.length > 0 && (
        <Folded
          words={words}
          items={deliveries}
          shown={5}
          render={(some) => (
            <ol class="rows">
              {some.map((delivery) => (
                <Delivery frame={frame} id={id} delivery={delivery} several={several} key={delivery.id} />
              ))}
            </ol>
          )}
        />
      )}
    </section>
  )
}

const BADGES = { delivered: 'success', waiting: '', given_up: 'danger', off: 'warning' } as const

type DeliveryProps = {
  readonly frame: Frame
  readonly id: string
  readonly delivery: DeliveryRow
  /** The log has deliveries to several endpoints, so the URL is shown. */
  readonly several: boolean
}

function Delivery({ frame, id, delivery, several }: DeliveryProps) {
  const { words } = frame
  const { kind, status, last, nextAt } = delivery
  return (
    <li>
      <div class="stack tight">
        <p>
          <code class="technical strong" dir="ltr">
            {kind}
          </code>{' '}
          <span class={`badge ${BADGES[status]}`}>{words.t(`webhooks.status_${status}`)}</span>
        </p>
        {last !== null && <p>{inWords(words, last)}</p>}
        <p class="hint">
          <Moment words={words} ms={delivery.happenedAt} /> ·{' '}
          {words.t('webhooks.attempts', { attempts: delivery.attempts })}
          {nextAt !== null && (
            <>
              {' '}
              · {words.t('webhooks.next')} <Moment words={words} ms={nextAt} />
            </>
          )}
        </p>
        <p class="hint">
          <bdi class="technical" dir="ltr">
            {delivery.eventId}
          </bdi>
          {several && (
            <>
              {' '}
              ·{' '}
              <bdi class="technical" dir="ltr">
                {delivery.url}
              </bdi>
            </>
          )}
        </p>
      </div>
      {status !== 'off' && (
        <Form
          frame={frame}
          action="/developer/application/webhooks/resend"
          bound={{ application: id, delivery: delivery.id }}
        >
          <button type="submit" class="button quiet">
            {words.t('webhooks.resend')} <span class="visually-hidden">{delivery.eventId}</span>
          </button>
        </Form>
      )}
    </li>
  )
}

function inWords(words: Words, { answer, tookMs }: NonNullable<DeliveryRow['last']>): string {
  if (typeof answer === 'string') return words.t(`webhooks.error_${answer}`)
  return words.t('webhooks.answered', { status: String(answer), seconds: tookMs / 1000 })
}
