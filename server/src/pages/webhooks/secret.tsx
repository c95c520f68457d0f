/** Signing secret of a webhook endpoint. Unlike an application's secret, it can be shown again. */
import { applicationHref } from '../grants/application-ways.tsx'
import { CopyButton } from '../ui/elements.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Notice } from '../ui/notice.tsx'

export type WebhookSecretModel = {
  readonly id: string
  readonly name: string
  readonly url: string
  /** Null: the key from which it is derived was retired. */
  readonly secret: string | null
  readonly notice: null | 'added' | 'rotated'
}

export function webhookSecretPage(frame: Frame, model: WebhookSecretModel): string {
  const { words } = frame
  const { id, secret, notice } = model
  return page(
    frame,
    words.t('webhook_secret.title'),
    <>
      {notice && <Notice kind="success">{words.t(`webhook_secret.notice_${notice}`)}</Notice>}
      <section class="card stack">
        <h1>{words.t('webhook_secret.title')}</h1>
        <Facts>
          <Fact name={words.t('webhook_secret.application')}>
            <bdi>{model.name}</bdi>
          </Fact>
          <Fact name={words.t('webhook_secret.endpoint')}>
            <bdi class="technical" dir="ltr">
              {model.url}
            </bdi>
          </Fact>
        </Facts>
        {secret === null ? (
          <Notice kind="warning" title={words.t('webhook_secret.retired')}>
            <p>{words.t('webhook_secret.retired_text')}</p>
          </Notice>
        ) : (
          <>
            <div class="copied">
              <bdi class="secret boxed" dir="ltr" id="webhook-secret">
                {secret}
              </bdi>
              <CopyButton words={words} from="webhook-secret" />
            </div>
            <p>{words.t('webhook_secret.text')}</p>
          </>
        )}
        <p class="actions">
          <a class="button" href={applicationHref(id, '/webhooks')}>
            {words.t('webhook_secret.back')}
          </a>
        </p>
      </section>
    </>,
    { wide: true },
  )
}
