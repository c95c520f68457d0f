/** What waits for an operator: one line each, with the page where it is dealt with. */
import type { ComponentChildren } from 'preact'
import type { Attention } from '../../core/operator/attention.ts'
import { Notice } from '../ui/notice.tsx'
import type { Words } from '../ui/words.ts'
import { operatorHref } from './hrefs.ts'

type AttentionProps = { readonly words: Words; readonly attention: Attention }

export function AttentionCard({ words, attention }: AttentionProps) {
  const { decisions, operatorChanges, suspended, failingWebhooks } = attention
  const lines: readonly (ComponentChildren | false)[] = [
    decisions > 0 && <a href="/operator/reviews">{words.t('attention.decisions', { count: decisions })}</a>,
    operatorChanges > 0 && (
      <a href="/operator/operators">{words.t('attention.operator_changes', { count: operatorChanges })}</a>
    ),
    failingWebhooks.count > 0 && <Failing words={words} failing={failingWebhooks} />,
    suspended > 0 && (
      <a href="/operator/applications?status=suspended">{words.t('attention.suspended', { count: suspended })}</a>
    ),
  ]
  return <AttentionList words={words} lines={lines.filter((line) => line !== false)} />
}

type RestoredProps = { readonly words: Words; readonly restore: NonNullable<Attention['restore']> }

export function RestoredNotice({ words, restore: { since, journalled, lostGrants, toAccept } }: RestoredProps) {
  const values = { since: words.moment(since), count: lostGrants }
  return (
    <Notice kind="warning">
      <p>{words.t(journalled ? 'attention.restored_known' : 'attention.restored_unknown', values)}</p>
      {toAccept > 0 && <p>{words.t('attention.restored_open', { count: toAccept })}</p>}
      <p>
        {words.t('attention.restored_see')} <code dir="ltr">latchkey restore check</code>
      </p>
    </Notice>
  )
}

type ListProps = { readonly words: Words; readonly lines: readonly ComponentChildren[] }

export function AttentionList({ words, lines }: ListProps) {
  return (
    <section class="card stack tight" aria-labelledby="attention">
      <h2 id="attention">{words.t('attention.title')}</h2>
      {lines.length === 0 ? (
        <p>{words.t('attention.none')}</p>
      ) : (
        <ul class="rows">
          {lines.map((line, at) => (
            <li key={at}>
              <div>{line}</div>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

type FailingProps = { readonly words: Words; readonly failing: Attention['failingWebhooks'] }

function Failing({ words, failing: { count, applications } }: FailingProps) {
  return (
    <>
      <p>{words.t('attention.webhooks', { count })}</p>
      <ul class="titles">
        {applications.map(({ id, name }) => (
          <li key={id}>
            <a href={operatorHref(id)}>
              <bdi>{name}</bdi>
            </a>
          </li>
        ))}
      </ul>
    </>
  )
}
