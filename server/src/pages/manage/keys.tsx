/** Management keys of an account or of the whole service: the list, with the form for a new one. */
import { Day } from '../ui/elements.tsx'
import { Checkbox, Field } from '../ui/field.tsx'
import { Select } from '../ui/field-kinds.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Notice, Problems } from '../ui/notice.tsx'
import { Scrolled } from '../ui/scrolled.tsx'
import type { MessageKey, Words } from '../ui/words.ts'

export type ListedKey = {
  readonly id: string
  readonly label: string
  readonly scopes: readonly string[]
  /** Null: on the command line. */
  readonly createdBy: string | null
  readonly lastUsedAt: number | null
  readonly lastNetwork: string | null
  readonly expiresAt: number
  readonly state: 'live' | 'expired' | 'revoked'
}

export type KeysModel = {
  /** `/account/keys` or `/operator/keys`. */
  readonly path: string
  readonly of: 'account' | 'service'
  readonly keys: readonly ListedKey[]
  /** There are more than are listed. */
  readonly more: boolean
  readonly offered: readonly string[]
  readonly lifetimes: readonly number[]
  readonly typed: {
    readonly label: string
    readonly scopes: readonly string[]
    readonly days: number
    readonly networks: string
  }
  readonly notice: null | 'revoked'
  readonly problem: null | 'label' | 'scope' | 'networks'
}

type PartProps = { readonly frame: Frame; readonly model: KeysModel }

export function keysPage(frame: Frame, model: KeysModel): string {
  const { words } = frame
  const { of, notice, problem } = model
  const wrong = problem && {
    field: problem === 'scope' ? `scope-${model.offered[0]}` : problem,
    text: words.t(`keys.problem_${problem}`),
  }
  return page(
    frame,
    words.t('keys.title'),
    <>
      <Problems words={words} problems={wrong ? [wrong] : []} />
      {notice && !problem && <Notice kind="success">{words.t(`keys.notice_${notice}`)}</Notice>}
      <header class="stack tight">
        <h1>{words.t('keys.title')}</h1>
        <p class="soft">{words.t(`keys.text_${of}`, { name: frame.account?.name ?? '' })}</p>
      </header>
      <div class="card stack">
        {model.keys.length === 0 ? <p>{words.t('keys.none')}</p> : <List words={words} model={model} />}
        {model.more && <p class="hint">{words.t('keys.more')}</p>}
      </div>
      <NewKey frame={frame} model={model} />
    </>,
    { wide: true, problem: problem !== null },
  )
}

function List({ words, model: { path, keys } }: { readonly words: Words; readonly model: KeysModel }) {
  return (
    <Scrolled label={words.t('keys.title')}>
      <table class="listing">
        <thead>
          <tr>
            {(['name', 'scopes', 'created_by', 'last_used', 'expires'] as const).map((each) => (
              <th scope="col" key={each}>
                {words.t(`keys.${each}`)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => (
            <tr key={key.id}>
              <th scope="row">
                <a href={`${path}/key?key=${key.id}`}>
                  <bdi>{key.label}</bdi>
                </a>
              </th>
              <td>
                <bdi class="technical" dir="ltr">
                  {key.scopes.join(' ')}
                </bdi>
              </td>
              <td>
                <Creator words={words} createdBy={key.createdBy} />
              </td>
              <td>
                <LastUse words={words} used={key} />
              </td>
              <td>{key.state === 'revoked' ? words.t('keys.revoked') : <Day words={words} ms={key.expiresAt} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolled>
  )
}

export function Creator({ words, createdBy }: { readonly words: Words; readonly createdBy: string | null }) {
  return createdBy === null ? <span>{words.t('keys.command_line')}</span> : <bdi>{createdBy}</bdi>
}

type LastUseProps = { readonly words: Words; readonly used: Pick<ListedKey, 'lastUsedAt' | 'lastNetwork'> }

export function LastUse({ words, used: { lastUsedAt, lastNetwork } }: LastUseProps) {
  if (lastUsedAt === null) return <span>{words.t('keys.not_used')}</span>
  return (
    <>
      <Day words={words} ms={lastUsedAt} />{' '}
      {lastNetwork !== null && (
        <bdi class="technical" dir="ltr">
          {lastNetwork}
        </bdi>
      )}
    </>
  )
}

/** Scopes whose name does not say enough. */
const EXPLAINED: Readonly<Record<string, MessageKey>> = {
  scim: 'keys.scope_scim',
  'administrators:write': 'keys.scope_administrators',
}

function NewKey({ frame, model }: PartProps) {
  const { words } = frame
  const { typed, problem } = model
  return (
    <section class="card stack" aria-labelledby="new">
      <h2 id="new">{words.t('keys.new')}</h2>
      {model.of === 'service' && <p>{words.t('keys.service_writes')}</p>}
      <Form frame={frame} action={model.path} class="stack">
        <Field
          id="label"
          label={words.t('keys.name')}
          hint={words.t('keys.name_hint')}
          value={typed.label}
          autocomplete="off"
          maxLength={60}
          problem={problem === 'label' ? words.t('keys.problem_label') : null}
        />
        <fieldset>
          <legend>{words.t('keys.scopes')}</legend>
          <p class="hint">{words.t('keys.scopes_hint')}</p>
          <div class="choices">
            {model.offered.map((scope) => (
              <Checkbox
                id={`scope-${scope}`}
                name={`scope.${scope}`}
                label={
                  <bdi class="technical" dir="ltr">
                    {scope}
                  </bdi>
                }
                hint={EXPLAINED[scope] && words.t(EXPLAINED[scope])}
                checked={typed.scopes.includes(scope)}
                key={scope}
              />
            ))}
          </div>
        </fieldset>
        <Field
          id="networks"
          label={words.t('keys.networks')}
          hint={words.t('keys.networks_hint')}
          value={typed.networks}
          autocomplete="off"
          ltr
          problem={problem === 'networks' ? words.t('keys.problem_networks') : null}
        />
        <Lifetime words={words} lifetimes={model.lifetimes} days={typed.days} />
        <p class="actions">
          <button type="submit" class="button">
            {words.t('keys.create')}
          </button>
        </p>
      </Form>
    </section>
  )
}

type LifetimeProps = { readonly words: Words; readonly lifetimes: readonly number[]; readonly days: number }

export function Lifetime({ words, lifetimes, days }: LifetimeProps) {
  const options = lifetimes.map((each) => ({ value: String(each), text: words.t('keys.days', { days: each }) }))
  return <Select id="days" label={words.t('keys.lifetime')} options={options} value={String(days)} />
}
