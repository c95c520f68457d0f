/** Who connected an application, or what a user connected, for operators. */
import { isRevocationReason } from '../../core/grants/revocation-reason.ts'
import type { OperatorGrantLine } from '../../core/operator/listed.ts'
import type { TablePage, TableWish } from '../../core/table.ts'
import { Day } from '../ui/elements.tsx'
import { Select } from '../ui/field-kinds.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Table, type TablePlace, TableSearch } from '../ui/table.tsx'
import type { Words } from '../ui/words.ts'
import { operatorHref, personHref } from './hrefs.ts'

export type GrantColumn = 'connected'

export type OperatorGrantsModel = {
  /** The application or the user whose grants are listed. */
  readonly of: { readonly kind: 'application' | 'user'; readonly id: string; readonly name: string }
  readonly wish: TableWish<GrantColumn>
  /** Only live ones. */
  readonly live: boolean
  readonly grants: TablePage<OperatorGrantLine>
}

const PATH = '/operator/grants'

export function operatorGrantsPage(frame: Frame, { of, wish, live, grants }: OperatorGrantsModel): string {
  const { words } = frame
  const title = words.t(`operator.connections_of_${of.kind}`, { name: of.name })
  const kept = { [of.kind]: of.id }
  const state = live ? '' : 'all'
  return page(
    frame,
    title,
    <>
      <header class="stack tight">
        <h1>{title}</h1>
        <p>
          <a href={of.kind === 'application' ? operatorHref(of.id) : personHref(of.id)}>
            {words.t(`operator.back_to_${of.kind}`)}
          </a>
        </p>
        <TableSearch
          words={words}
          place={{ path: PATH, kept, wish }}
          label={words.t('operator.connections_search')}
          hint={words.t('operator.connections_search_hint')}
        >
          <Select
            id="state"
            label={words.t('operator.status')}
            options={[
              { value: '', text: words.t('operator.connections_live') },
              { value: 'all', text: words.t('operator.connections_all') },
            ]}
            value={state}
          />
        </TableSearch>
      </header>
      <div class="card stack">
        <GrantTable words={words} place={{ path: PATH, kept: { ...kept, state }, wish }} grants={grants} />
      </div>
    </>,
    { wide: true, within: of.kind === 'application' ? '/operator/applications' : '/operator/accounts' },
  )
}

type TableProps = {
  readonly words: Words
  readonly place: TablePlace<GrantColumn>
  readonly grants: TablePage<OperatorGrantLine>
}

export function GrantTable({ words, place, grants }: TableProps) {
  return (
    <Table
      words={words}
      label={words.t('operator.connections')}
      place={place}
      columns={[
        { title: words.t('grant.user') },
        { title: words.t('operator.account') },
        { title: words.t('audit.application') },
        { title: words.t('grant.connected_on'), sort: 'connected' },
        { title: words.t('grant.last_used') },
        { title: words.t('operator.status') },
        { title: words.t('developer.id') },
      ]}
      page={grants}
      keyOf={({ id }) => id}
      cellsOf={(grant) => grantCells(words, grant)}
      none={words.t('operator.none_found')}
    />
  )
}

function grantCells(words: Words, grant: OperatorGrantLine) {
  const { id, userId, email, account, applicationId, application, connectedAt, lastUsedOn, endedAt } = grant
  return [
    <a href={personHref(userId)}>
      <bdi>{email}</bdi>
    </a>,
    <bdi>{account}</bdi>,
    <a href={operatorHref(applicationId)}>
      <bdi>{application}</bdi>
    </a>,
    <Day words={words} ms={connectedAt} />,
    lastUsedOn === null ? words.t('grant.not_used') : <Day words={words} ms={lastUsedOn} />,
    endedAt === null ? words.t('operator.connection_live') : endedText(words, grant),
    <bdi class="technical soft">{id}</bdi>,
  ]
}

function endedText(words: Words, { reason }: OperatorGrantLine): string {
  return isRevocationReason(reason) ? words.t(`revocation_reason.${reason}`) : (reason ?? '')
}
