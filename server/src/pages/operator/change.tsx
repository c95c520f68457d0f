/** One proposed name or logo, accepted or declined by an operator before users see it. */
import type { Publisher } from '../../core/applications/application.ts'
import { PublisherLine } from '../applications/publisher.tsx'
import { operatorHref } from '../reviews/line.tsx'
import { Avatar } from '../ui/avatar.tsx'
import { Moment } from '../ui/elements.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Notice, Problems } from '../ui/notice.tsx'

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

export type OperatorChangeModel = {
  readonly change: PendingChange
  /** `no_words`: declined without a reason. The others: the state changed in the meantime. */
  readonly problem: null | 'stale' | 'taken' | 'no_words'
}

const WORDS_FIELD = 'words'

export function operatorChangePage(frame: Frame, { change, problem }: OperatorChangeModel): string {
  const { words } = frame
  return page(
    frame,
    change.nameNow,
    <>
      {problem === 'no_words' && (
        <Problems words={words} problems={[{ field: WORDS_FIELD, text: words.t('operator.change_no_words') }]} />
      )}
      {problem !== null && problem !== 'no_words' && (
        <Notice kind="warning">{words.t(`operator.change_${problem}`)}</Notice>
      )}
      <header class="stack tight">
        <p>
          <a href="/operator/changes">{words.t('operator.back_to_changes')}</a>
        </p>
        <h1>
          <bdi>{change.nameNow}</bdi>
        </h1>
        <p>
          <a href={operatorHref(change.id)}>{words.t('operator.application_details')}</a>
        </p>
      </header>
      <Proposed frame={frame} change={change} wordless={problem === 'no_words'} />
    </>,
    { wide: true, problem: problem !== null, within: '/operator/changes' },
  )
}

type ProposedProps = { readonly frame: Frame; readonly change: PendingChange; readonly wordless: boolean }

function Proposed({ frame, change, wordless }: ProposedProps) {
  const { words } = frame
  const bound = { application: change.id, version: String(change.version) }
  return (
    <section class="card stack" aria-label={words.t('operator.nav_changes')}>
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
          id={WORDS_FIELD}
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

export function Named({ name, logo }: { readonly name: string; readonly logo: string | null }) {
  return (
    <div class="named">
      <Avatar name={name} logo={logo} />
      <bdi>{name}</bdi>
    </div>
  )
}
