/**
 * Proposals queue: new names and logos of applications that users already know, accepted or declined by an operator
 * before users see them.
 */

import type { Publisher } from '../../core/applications/application.ts'
import { PublisherLine } from '../applications/publisher.tsx'
import { operatorHref } from '../reviews/line.tsx'
import { Avatar } from '../ui/avatar.tsx'
import { Moment } from '../ui/elements.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import { Field } from '../ui/field.tsx'
import { Folded } from '../ui/folded.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { MailWaits, Notice, Problems } from '../ui/notice.tsx'

export type PendingChange = {
  readonly id: string
  /** The version shown here; accepting applies to this version only. */
  readonly version: number
  readonly account: string
  readonly publisher: Publisher
  readonly nameNow: string
  readonly logoNow: string | null
  readonly name: string
  readonly logo: string | null
  readonly since: number
  readonly by: string | null
}

export type OperatorChangesModel = {
  /** Oldest first. */
  readonly changes: readonly PendingChange[]
  readonly notice: null | 'accepted' | 'declined'
  /**
   * `noWordsFor`: id of the application that was declined without a reason. The others: the state changed in the
   * meantime.
   */
  readonly problem: null | 'stale' | 'taken' | { readonly noWordsFor: string }
}

type ChangeProps = { readonly frame: Frame; readonly change: PendingChange; readonly wordless: boolean }

const SHOWN = 3

const wordsField = (place: number) => `words-${place}`

export function operatorChangesPage(frame: Frame, model: OperatorChangesModel): string {
  const { words } = frame
  const { changes, notice, problem } = model
  const title = words.t('operator.nav_changes')
  const wordless = typeof problem === 'object' && problem !== null ? problem.noWordsFor : null
  const place = changes.findIndex(({ id }) => id === wordless)
  return page(
    frame,
    title,
    <>
      {wordless !== null && place !== -1 && (
        <Problems words={words} problems={[{ field: wordsField(place), text: words.t('operator.change_no_words') }]} />
      )}
      {typeof problem === 'string' && <Notice kind="warning">{words.t(`operator.change_${problem}`)}</Notice>}
      {notice && !problem && (
        <Notice kind="success">
          {words.t(`operator.change_${notice}`)}
          <MailWaits frame={frame} />
        </Notice>
      )}
      <header class="stack tight">
        <h1>{title}</h1>
        <p class="soft">{words.t('operator.changes_text')}</p>
      </header>
      {changes.length === 0 && <p>{words.t('operator.changes_none')}</p>}
      <Folded
        words={words}
        items={changes}
        shown={SHOWN}
        open={place >= SHOWN}
        render={(some, from) =>
          some.map((change, at) => (
            <Proposed
              frame={frame}
              change={change}
              wordless={change.id === wordless}
              place={from + at}
              key={change.id}
            />
          ))
        }
      />
    </>,
    { wide: true, problem: problem !== null },
  )
}

function Proposed({ frame, change, wordless, place }: ChangeProps & { readonly place: number }) {
  const { words } = frame
  const bound = { application: change.id, version: String(change.version) }
  return (
    <section class="card stack" aria-labelledby={`change-${place}`}>
      <h2 id={`change-${place}`}>
        <a href={operatorHref(change.id)}>
          <bdi>{change.nameNow}</bdi>
        </a>
      </h2>
      <PublisherLine words={words} publisher={change.publisher} />
      <Facts>
        <Fact name={words.t('operator.change_now')}>
          <Named name={change.nameNow} logo={change.logoNow} />
        </Fact>
        <Fact name={words.t('operator.change_new')}>
          <Named name={change.name} logo={change.logo} />
        </Fact>
        <Fact name={words.t('operator.change_by')}>
          <bdi>{change.by ?? change.account}</bdi>
        </Fact>
        <Fact name={words.t('proposal.since')}>
          <Moment words={words} ms={change.since} />
        </Fact>
      </Facts>
      <Form frame={frame} action="/operator/changes/accept" bound={bound}>
        <button type="submit" class="button">
          {words.t('operator.change_accept')}
        </button>
      </Form>
      <Form frame={frame} action="/operator/changes/decline" bound={bound} class="stack">
        <Field
          id={wordsField(place)}
          name="words"
          label={words.t('operator.change_words')}
          hint={words.t('operator.change_words_hint')}
          problem={wordless ? words.t('operator.change_no_words') : null}
          value=""
        />
        <p>
          <button type="submit" class="button quiet">
            {words.t('operator.change_decline')}
          </button>
        </p>
      </Form>
    </section>
  )
}

function Named({ name, logo }: { readonly name: string; readonly logo: string | null }) {
  return (
    <div class="named">
      <Avatar name={name} logo={logo} />
      <bdi>{name}</bdi>
    </div>
  )
}
