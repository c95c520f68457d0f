/** The operators' queue, and what was decided before. */
import { type QueueKind, type QueueLine, queueKinds } from '../../core/reviews/queue.ts'
import type { TablePage, TableWish } from '../../core/table.ts'
import { accountHref, operatorHref } from '../operator/hrefs.ts'
import { KeyList, Moment } from '../ui/elements.tsx'
import { Select } from '../ui/field-kinds.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Table, TableSearch, Tabs } from '../ui/table.tsx'
import type { Words } from '../ui/words.ts'
import { QueueBadges, queueReason } from './line.tsx'

export type OperatorReviewsModel = {
  readonly filter: 'open' | 'closed'
  /** Null: all. */
  readonly kind: QueueKind | null
  readonly wish: TableWish<'name' | 'harm' | 'opened' | 'closed'>
  readonly queue: TablePage<QueueLine>
  readonly now: number
}

const FILTERS = ['open', 'closed'] as const

export function operatorReviewsPage(frame: Frame, model: OperatorReviewsModel): string {
  const { words } = frame
  const { filter, kind, wish } = model
  const path = '/operator/reviews'
  return page(
    frame,
    words.t('operator.reviews'),
    <>
      <header class="stack tight">
        <h1>{words.t('operator.reviews')}</h1>
        <p class="soft">{words.t(`operator.reviews_${filter}_text`)}</p>
        <Tabs
          label={words.t('operator.filter')}
          tabs={FILTERS.map((each) => ({ href: `${path}?filter=${each}`, text: words.t(`operator.filter_${each}`) }))}
          current={FILTERS.indexOf(filter)}
        />
        <TableSearch
          words={words}
          place={{ path, wish, kept: { filter } }}
          label={words.t('operator.applications_search')}
          hint={words.t('operator.applications_search_hint')}
        >
          <Select
            id="kind"
            label={words.t('operator.kind')}
            options={[
              { value: '', text: words.t('operator.kind_any') },
              ...queueKinds.map((value) => ({ value, text: words.t(`operator.kind_${value}`) })),
            ]}
            value={kind ?? ''}
          />
        </TableSearch>
      </header>
      <section class="card stack" aria-label={words.t(`operator.filter_${filter}`)}>
        <KeyList>
          <QueueTable words={words} model={model} />
        </KeyList>
      </section>
    </>,
    { wide: true },
  )
}

type TableProps = { readonly words: Words; readonly model: OperatorReviewsModel }

function QueueTable({ words, model: { filter, kind, wish, queue, now } }: TableProps) {
  return (
    <Table
      words={words}
      label={words.t('operator.reviews')}
      place={{ path: '/operator/reviews', wish, kept: { filter, kind: kind ?? '' } }}
      columns={[
        { title: words.t('audit.application'), sort: 'name' },
        { title: words.t('operator.account') },
        { title: words.t('operator.impact'), sort: 'harm' },
        { title: words.t('operator.status') },
        filter === 'open'
          ? { title: words.t('operator.opened'), sort: 'opened' }
          : { title: words.t('operator.closed'), sort: 'closed' },
      ]}
      page={queue}
      keyOf={({ id }) => id}
      cellsOf={(line) => [
        <a href={operatorHref(line.applicationId)}>
          <bdi>{line.application}</bdi>
        </a>,
        <a href={accountHref(line.account)}>
          <bdi>{line.account}</bdi>
        </a>,
        queueReason(words, line),
        <Status words={words} line={line} now={now} />,
        line.closedAt === null ? words.ago(now - line.openedAt) : <Moment words={words} ms={line.closedAt} />,
      ]}
      none={words.t(wish.search === '' && kind === null ? `operator.reviews_${filter}_none` : 'operator.none_found')}
    />
  )
}

type StatusProps = { readonly words: Words; readonly line: QueueLine; readonly now: number }

/** Badges, and below them since when the suspension waits for a decision, and when it ends without one. */
function Status({ words, line, now }: StatusProps) {
  if (line.kind !== 'suspension') return <QueueBadges words={words} line={line} />
  const { closedAt, waitingSince, suspensionEndsAt } = line
  return (
    <>
      <QueueBadges words={words} line={line} />
      {waitingSince !== null && <p class="hint">{words.ago(now - waitingSince)}</p>}
      {closedAt === null && suspensionEndsAt !== null && (
        <p class="hint">
          {words.t('operator.line_ends')} <Moment words={words} ms={suspensionEndsAt} />
        </p>
      )}
    </>
  )
}
