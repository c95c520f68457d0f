/** Page that shows an application's new secret once and never again; after registration also its id. */
import { applicationHref } from '../grants/application-ways.tsx'
import type { Frame } from './frame.ts'
import { page } from './layout.tsx'
import { Notice } from './notice.tsx'
import { type Sample, Samples } from './samples.tsx'
import { strong } from './strong.tsx'
import { ToCopy } from './to-copy.tsx'

export type SecretShownModel = {
  readonly id: string
  readonly name: string
  /** Null: public client. */
  readonly secret: string | null
  /** The application is new, not only the secret. */
  readonly registered: boolean
  readonly samples: readonly Sample[]
}

export function secretShownPage(frame: Frame, model: SecretShownModel): string {
  const { words } = frame
  const { id, name, secret, registered } = model
  const key = registered ? 'secret_shown.registered' : 'secret_shown.added'
  return page(
    frame,
    words.t(`${key}_title`),
    <>
      <section class="card stack">
        <h1>{words.rich(key, { name, b: strong })}</h1>
        {!registered && <p>{words.t('secret_shown.added_text')}</p>}
        <ToCopy words={words} id="application-id" label={words.t('secret_shown.id')} text={id} />
        {secret === null ? (
          <Notice kind="info" title={words.t('secret_shown.public')}>
            <p>{words.t('secret_shown.public_text')}</p>
          </Notice>
        ) : (
          <>
            <Notice kind="warning" title={words.t('secret_shown.once')}>
              <p>{words.t('secret_shown.once_text')}</p>
            </Notice>
            <ToCopy words={words} id="application-secret" label={words.t('secret_shown.secret')} text={secret} />
            <p class="hint">{words.t('secret_shown.where')}</p>
          </>
        )}
        <p class="actions">
          <a class="button" href={applicationHref(id)}>
            {words.t(secret === null ? 'secret_shown.continue' : 'secret_shown.stored')}
          </a>
        </p>
      </section>
      <Samples words={words} samples={model.samples} secret={secret !== null} />
    </>,
    { wide: true, once: true },
  )
}
