/** One management key: what it may do, and the forms that replace its secret or revoke it. */
import { AreYouSure } from '../ui/are-you-sure.tsx'
import { Day, Moment } from '../ui/elements.tsx'
import { Fact, Facts, Titles } from '../ui/facts.tsx'
import { Select } from '../ui/field-kinds.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Notice } from '../ui/notice.tsx'
import { strong } from '../ui/strong.tsx'
import { ToCopy } from '../ui/to-copy.tsx'
import { Creator, LastUse, Lifetime, type ListedKey } from './keys.tsx'

export type KeyModel = ListedKey & {
  readonly path: string
  readonly createdAt: number
  /** The only ones from which it is accepted; empty: from everywhere. */
  readonly networks: readonly string[]
  /** Until when the replaced secret works; null: it does not. */
  readonly previousUntil: number | null
  readonly rotatable: boolean
  /** Hours. */
  readonly overlaps: readonly number[]
  readonly overlap: number
  readonly lifetimes: readonly number[]
  readonly days: number
}

type PartProps = { readonly frame: Frame; readonly model: KeyModel }

export function keyPage(frame: Frame, model: KeyModel): string {
  const { words } = frame
  return page(
    frame,
    words.t('key.title'),
    <>
      <section class="card stack">
        <h1>
          <bdi>{model.label}</bdi>
        </h1>
        <Facts>
          <Fact name={words.t('key.id')}>
            <bdi class="technical" dir="ltr">
              {model.id}
            </bdi>
          </Fact>
          <Fact name={words.t('keys.scopes')}>
            <Titles titles={model.scopes} />
          </Fact>
          <Fact name={words.t('key.created')}>
            <Day words={words} ms={model.createdAt} />
          </Fact>
          <Fact name={words.t('keys.created_by')}>
            <Creator words={words} createdBy={model.createdBy} />
          </Fact>
          <Fact name={words.t('keys.last_used')}>
            <LastUse words={words} used={model} />
          </Fact>
          <Fact name={words.t('audit_detail.networks')}>
            {model.networks.length === 0 ? words.t('keys.networks_any') : <Titles titles={model.networks} />}
          </Fact>
          <Fact name={words.t('keys.expires')}>
            {model.state === 'revoked' ? words.t('keys.revoked') : <Day words={words} ms={model.expiresAt} />}
          </Fact>
          {model.previousUntil !== null && model.state === 'live' && (
            <Fact name={words.t('key.previous')}>
              <Moment words={words} ms={model.previousUntil} />
            </Fact>
          )}
        </Facts>
        {model.state !== 'revoked' && <Revoke frame={frame} model={model} />}
      </section>
      {model.state === 'live' && <Rotate frame={frame} model={model} />}
    </>,
    { within: model.path },
  )
}

function Revoke({ frame, model: { path, id, label } }: PartProps) {
  const { words } = frame
  return (
    <AreYouSure label={words.t('key.revoke')} question={words.rich('key.revoke_sure', { name: label, b: strong })}>
      <Form frame={frame} action={`${path}/revoke`} bound={{ key: id }} class="actions">
        <button type="submit" class="button danger">
          {words.t('key.revoke_yes')}
        </button>
      </Form>
    </AreYouSure>
  )
}

function Rotate({ frame, model }: PartProps) {
  const { words } = frame
  const options = model.overlaps.map((hours) => ({ value: String(hours), text: words.t('key.hours', { hours }) }))
  return (
    <section class="card stack" aria-labelledby="rotate">
      <h2 id="rotate">{words.t('key.rotate')}</h2>
      {model.rotatable ? (
        <Form frame={frame} action={`${model.path}/rotate`} bound={{ key: model.id }} class="stack">
          <p>{words.t('key.rotate_text')}</p>
          <Select id="overlap" label={words.t('key.overlap')} options={options} value={String(model.overlap)} />
          <Lifetime words={words} lifetimes={model.lifetimes} days={model.days} />
          <p class="actions">
            <button type="submit" class="button quiet">
              {words.t('key.rotate')}
            </button>
          </p>
        </Form>
      ) : (
        <p>{words.t('keys.service_writes')}</p>
      )}
    </section>
  )
}

export type KeyShownModel = {
  readonly path: string
  readonly label: string
  readonly key: string
  readonly expiresAt: number
}

/** Shows a new key once and never again. */
export function keyShownPage(frame: Frame, { path, label, key, expiresAt }: KeyShownModel): string {
  const { words } = frame
  return page(
    frame,
    words.t('key.shown_title'),
    <section class="card stack">
      <h1>{words.rich('key.shown', { name: label, b: strong })}</h1>
      <Notice kind="warning" title={words.t('key.once')}>
        <p>{words.t('key.once_text')}</p>
      </Notice>
      <ToCopy words={words} id="management-key" label={words.t('key.title')} text={key} />
      <Facts>
        <Fact name={words.t('keys.expires')}>
          <Day words={words} ms={expiresAt} />
        </Fact>
      </Facts>
      <p class="actions">
        <a class="button" href={path}>
          {words.t('key.stored')}
        </a>
      </p>
    </section>,
    { once: true, within: path },
  )
}
