/** Pending changes of operators: each is confirmed by another operator, declined, or withdrawn. */
import type { OperatorChangeLine } from '../../core/operator/operator-change.ts'
import { Moment } from '../ui/elements.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import { Folded } from '../ui/folded.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { MailWaits, Notice, Problems } from '../ui/notice.tsx'

export type OperatorsModel = {
  /** Oldest first. */
  readonly changes: readonly OperatorChangeLine[]
  readonly notice: null | 'confirmed' | 'declined' | 'withdrawn'
  readonly problem: null | 'not_eligible' | 'stale' | 'too_many'
}

export function operatorsPage(frame: Frame, { changes, notice, problem }: OperatorsModel): string {
  const { words } = frame
  const title = words.t('operator.nav_operators')
  return page(
    frame,
    title,
    <>
      <Problems
        words={words}
        problems={problem ? [{ field: null, text: words.t(`operators.problem_${problem}`) }] : []}
      />
      {notice && !problem && (
        <Notice kind="success">
          {words.t(`operators.notice_${notice}`)}
          {notice === 'confirmed' && <MailWaits frame={frame} />}
        </Notice>
      )}
      <header class="stack tight">
        <h1>{title}</h1>
        <p class="soft">{words.rich('operators.text', { a: (chunks) => <a href="/account/people">{chunks}</a> })}</p>
      </header>
      {changes.length === 0 && <p>{words.t('operators.none')}</p>}
      <Folded
        words={words}
        items={changes}
        shown={5}
        open={problem !== null}
        render={(some) => some.map((change) => <Change frame={frame} change={change} key={change.id} />)}
      />
    </>,
    { wide: true, problem: problem !== null },
  )
}

function Change({ frame, change }: { readonly frame: Frame; readonly change: OperatorChangeLine }) {
  const { words } = frame
  const { id, email, by, own, problem } = change
  const bound = { change: id }
  return (
    <section class="card stack" aria-labelledby={id}>
      <h2 id={id}>
        <bdi>{email}</bdi>
      </h2>
      <Facts>
        <Fact name={words.t('operators.change')}>{words.t(`operators.change_${change.change}`)}</Fact>
        <Fact name={words.t('operator.change_by')}>
          <bdi>{by}</bdi>
        </Fact>
        <Fact name={words.t('operators.proposed')}>
          <Moment words={words} ms={change.proposedAt} />
        </Fact>
        <Fact name={words.t('operators.expires')}>
          <Moment words={words} ms={change.expiresAt} />
        </Fact>
      </Facts>
      {problem ? (
        <p class="hint">{words.t(`second_operator.${problem}`, { by })}</p>
      ) : (
        <Form frame={frame} action="/operator/operators/confirm" bound={bound}>
          <button type="submit" class="button">
            {words.t('operators.confirm')}
          </button>
        </Form>
      )}
      <Form frame={frame} action="/operator/operators/reject" bound={bound}>
        <button type="submit" class="button quiet">
          {words.t(own ? 'operator.withdraw' : 'operator.decline')}
        </button>
      </Form>
    </section>
  )
}
