/** Webhooks page of an application: endpoints and the latest deliveries. */
import type { EndpointProblem } from '../../core/webhooks/webhook.ts'
import { applicationHref } from '../grants/application-ways.tsx'
import { AreYouSure } from '../ui/are-you-sure.tsx'
import { Day, Moment } from '../ui/elements.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Notice, Problems } from '../ui/notice.tsx'
import { strong } from '../ui/strong.tsx'
import { type DeliveryRow, WebhookLog } from './log.tsx'

export type WebhooksModel = {
  readonly id: string
  readonly name: string
  readonly endpoints: readonly EndpointRow[]
  readonly maxEndpoints: number
  /** Newest first. */
  readonly deliveries: readonly DeliveryRow[]
  readonly maxDeliveries: number
  /** The rejected URL, for correction. */
  readonly url: string
  readonly notice: null | 'removed' | 'tested' | 'resent'
  readonly problem: EndpointProblem | null
}

export type EndpointRow = {
  readonly id: string
  readonly url: string
  readonly createdOn: number
  /** Until when the previous secret signs as well; null when only one does. */
  readonly bothUntil: number | null
  readonly gone: boolean
}

type PartProps = { readonly frame: Frame; readonly model: WebhooksModel }

export function webhooksPage(frame: Frame, model: WebhooksModel): string {
  const { words } = frame
  const { id, name, notice, problem, maxEndpoints: max } = model
  const title = words.t('webhooks.title', { name })
  const wrong = problem && words.t(`webhooks.problem_${problem}`, { max })
  const field = problem === 'too_many' ? null : 'url'
  return page(
    frame,
    title,
    <>
      <Problems words={words} problems={wrong ? [{ field, text: wrong }] : []} />
      {notice && !problem && <Notice kind="success">{words.t(`webhooks.notice_${notice}`)}</Notice>}
      <header class="stack tight">
        <h1>{title}</h1>
        <p class="soft">{words.t('webhooks.text')}</p>
        <p>
          <a href={applicationHref(id)}>{words.t('webhooks.back')}</a>
        </p>
      </header>
      <section class="card stack" aria-labelledby="endpoints">
        <h2 id="endpoints">{words.t('webhooks.endpoints')}</h2>
        {model.endpoints.length === 0 ? (
          <p>{words.t('webhooks.none')}</p>
        ) : (
          <ul class="rows">
            {model.endpoints.map((endpoint) => (
              <Endpoint frame={frame} model={model} endpoint={endpoint} key={endpoint.id} />
            ))}
          </ul>
        )}
        <AddEndpoint frame={frame} model={model} />
      </section>
      <WebhookLog frame={frame} id={id} deliveries={model.deliveries} max={model.maxDeliveries} />
    </>,
    { problem: problem !== null, wide: true },
  )
}

type EndpointProps = PartProps & { readonly endpoint: EndpointRow }

function Endpoint({ frame, model, endpoint }: EndpointProps) {
  const { words } = frame
  const { id, url, gone, bothUntil } = endpoint
  const bound = { application: model.id, endpoint: id }
  return (
    <li>
      <div class="stack tight">
        <div class="heading">
          <h3>
            <bdi class="technical" dir="ltr">
              {url}
            </bdi>
          </h3>
          {gone && <span class="badge warning">{words.t('webhooks.gone')}</span>}
        </div>
        {gone && <p>{words.t('webhooks.gone_text')}</p>}
        <Facts>
          <Fact name={words.t('webhooks.since')}>
            <Day words={words} ms={endpoint.createdOn} />
          </Fact>
          <Fact name={words.t('webhooks.both_until')}>
            {bothUntil !== null && <Moment words={words} ms={bothUntil} />}
          </Fact>
        </Facts>
        <div class="actions">
          {!gone && <LiveActions frame={frame} model={model} endpoint={endpoint} />}
          <Sure frame={frame} what="remove" url={url} bound={bound} />
        </div>
      </div>
    </li>
  )
}

function LiveActions({ frame, model, endpoint: { id, url } }: EndpointProps) {
  const { words } = frame
  const bound = { application: model.id, endpoint: id }
  return (
    <>
      <a class="button quiet" href={`${applicationHref(model.id, '/webhooks/secret')}&endpoint=${id}`}>
        {words.t('webhooks.show')} <span class="visually-hidden">{url}</span>
      </a>
      <Form frame={frame} action="/developer/application/webhooks/test" bound={bound}>
        <button type="submit" class="button quiet">
          {words.t('webhooks.test')} <span class="visually-hidden">{url}</span>
        </button>
      </Form>
      <Sure frame={frame} what="rotate" url={url} bound={bound} />
    </>
  )
}

type SureProps = {
  readonly frame: Frame
  readonly what: 'rotate' | 'remove'
  readonly url: string
  readonly bound: Readonly<Record<string, string>>
}

function Sure({ frame, what, url, bound }: SureProps) {
  const { words } = frame
  return (
    <AreYouSure
      label={
        <>
          {words.t(`webhooks.${what}`)} <span class="visually-hidden">{url}</span>
        </>
      }
      question={words.rich(`webhooks.${what}_sure`, { url, b: strong })}
    >
      <Form frame={frame} action={`/developer/application/webhooks/${what}`} bound={bound} class="actions">
        <button type="submit" class="button danger">
          {words.t(`webhooks.${what}_yes`)}
        </button>
      </Form>
    </AreYouSure>
  )
}

function AddEndpoint({ frame, model }: PartProps) {
  const { words } = frame
  const { problem, maxEndpoints: max } = model
  if (model.endpoints.filter(({ gone }) => !gone).length >= max) return <p>{words.t('webhooks.full', { max })}</p>
  const wrong = problem !== null && problem !== 'too_many' ? words.t(`webhooks.problem_${problem}`, { max }) : null
  return (
    <Form frame={frame} action="/developer/application/webhooks" bound={{ application: model.id }} class="stack tight">
      <Field
        id="url"
        label={words.t('webhooks.address')}
        hint={words.t('webhooks.address_hint')}
        problem={wrong}
        value={model.url}
        autocomplete="off"
        ltr
      />
      <p class="actions">
        <button type="submit" class="button quiet">
          {words.t('webhooks.add')}
        </button>
      </p>
    </Form>
  )
}
