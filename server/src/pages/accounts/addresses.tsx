/** Changes of e-mail addresses that management keys asked for, to be decided by an administrator, many at once. */
import { Moment } from '../ui/elements.tsx'
import { Checkbox } from '../ui/field.tsx'
import { Folded } from '../ui/folded.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Notice, Problems } from '../ui/notice.tsx'
import { strong } from '../ui/strong.tsx'
import type { Words } from '../ui/words.ts'

export type AddressChangeLine = {
  readonly mark: string
  readonly email: string
  readonly pendingEmail: string
  /** Label of the management key; null: deleted. */
  readonly program: string | null
  readonly requestedAt: number
}

export type AddressesModel = {
  /** Changes of the domain only. */
  readonly domains: readonly {
    readonly mark: string
    readonly from: string
    readonly to: string
    readonly changes: readonly AddressChangeLine[]
  }[]
  readonly others: readonly AddressChangeLine[]
  /** There are more than are listed. */
  readonly more: boolean
  readonly notice: null | 'change' | 'keep'
  readonly problem: null | 'none' | 'stale' | 'taken'
  /** Addresses that the problem is about. */
  readonly taken: readonly string[]
}

/** Lines that are visible before the rest is folded. */
const SHOWN = 10

export function addressesPage(frame: Frame, model: AddressesModel): string {
  const { words } = frame
  const { domains, others, notice, problem } = model
  const title = words.t('addresses.title')
  const text = problem && words.t(`addresses.problem_${problem}`, { who: words.list(model.taken) })
  return page(
    frame,
    title,
    <>
      <Problems words={words} problems={text ? [{ field: null, text }] : []} />
      {notice && !problem && <Notice kind="success">{words.t(`addresses.notice_${notice}`)}</Notice>}
      <header class="stack tight">
        <h1>{title}</h1>
        <p class="soft">{words.t('addresses.text')}</p>
      </header>
      {domains.length + others.length === 0 ? (
        <p class="card">{words.t('addresses.none')}</p>
      ) : (
        <Decision frame={frame} model={model} />
      )}
      <p>
        <a href="/account/people">{words.t('person.back')}</a>
      </p>
    </>,
    { wide: true, problem: problem !== null, within: '/account/people' },
  )
}

function Decision({ frame, model }: { readonly frame: Frame; readonly model: AddressesModel }) {
  const { words } = frame
  return (
    <Form frame={frame} action="/account/people/addresses" class="card stack">
      <Notice kind="warning">
        <p>{words.t('addresses.warning')}</p>
      </Notice>
      {model.domains.map(({ mark, from, to, changes }) => (
        <fieldset class="stack tight" key={mark}>
          <legend class="visually-hidden">{words.t('addresses.title')}</legend>
          <Checkbox
            id={`change-${mark}`}
            name={`change.${mark}`}
            label={words.rich('addresses.domain', { count: changes.length, from, to, b: strong })}
            hint={words.t('addresses.domain_hint')}
          />
          <details class="more stack">
            <summary>{words.t('addresses.single')}</summary>
            <Lines words={words} changes={changes} />
          </details>
        </fieldset>
      ))}
      {model.others.length > 0 && (
        <fieldset class="stack tight">
          <legend class="visually-hidden">{words.t('addresses.title')}</legend>
          <Folded
            words={words}
            items={model.others}
            shown={SHOWN}
            render={(changes) => <Lines words={words} changes={changes} />}
          />
        </fieldset>
      )}
      {model.more && <p class="hint">{words.t('addresses.more')}</p>}
      <p class="actions">
        <button type="submit" class="button" name="decision" value="change">
          {words.t('addresses.confirm')}
        </button>
        <button type="submit" class="button quiet" name="decision" value="keep">
          {words.t('addresses.keep')}
        </button>
      </p>
    </Form>
  )
}

type LinesProps = { readonly words: Words; readonly changes: readonly AddressChangeLine[] }

function Lines({ words, changes }: LinesProps) {
  return (
    <div class="stack tight">
      {changes.map(({ mark, email, pendingEmail, program, requestedAt }) => (
        <Checkbox
          id={`change-${mark}`}
          name={`change.${mark}`}
          label={words.rich('addresses.change', { email, pending: pendingEmail, b: strong })}
          hint={
            <>
              <bdi>{program ?? words.t('addresses.program')}</bdi> · <Moment words={words} ms={requestedAt} />
            </>
          }
          key={mark}
        />
      ))}
    </div>
  )
}
