/** Evidence of a review: each figure beside its threshold. */

import type { ReviewView } from '../../core/reviews/review.ts'
import type { Thresholds, Window } from '../../core/reviews/suspension.ts'
import { Moment } from '../ui/elements.tsx'
import { Scrolled } from '../ui/scrolled.tsx'
import type { Words } from '../ui/words.ts'

/** With the thresholds that the evidence was judged by, also if others are configured since. */
export function EvidenceCard({ words, review }: { readonly words: Words; readonly review: ReviewView }) {
  const { evidence, thresholds } = review
  const { funnel } = evidence
  return (
    <section class="card stack" aria-labelledby="evidence">
      <h2 id="evidence">{words.t('operator.evidence')}</h2>
      <p class="soft">{words.t('operator.evidence_text', { minutes: thresholds.windowMinutes })}</p>
      {review.closedAt !== null && (
        <p>
          {words.t('operator.evidence_closed')} <Moment words={words} ms={review.closedAt} />
        </p>
      )}
      <Windows words={words} windows={evidence.windows} thresholds={thresholds} />
      <Measured
        words={words}
        lines={[
          {
            name: words.t('operator.measure_factor'),
            value: evidence.factor === null ? '–' : words.number(evidence.factor),
            limit: words.number(1),
          },
          { name: words.t('operator.measure_touched'), value: words.number(evidence.touched), limit: '–' },
          {
            name: words.t('operator.measure_reports'),
            value: words.number(evidence.reports),
            limit: words.number(thresholds.reports),
          },
          {
            name: words.t('operator.measure_funnel'),
            value: [funnel.requested, funnel.entered, funnel.granted].map(words.number).join(' / '),
            limit: '–',
          },
        ]}
      />
    </section>
  )
}

type WindowsProps = {
  readonly words: Words
  readonly windows: readonly Window[]
  readonly thresholds: Thresholds
}

/** Counts of established accounts, which the rule uses; counts of all accounts in brackets if they differ. */
function Windows({ words, windows, thresholds }: WindowsProps) {
  if (windows.length === 0) return null
  const both = (counted: number, all: number) =>
    counted === all ? words.number(counted) : `${words.number(counted)} (${words.number(all)})`
  return (
    <Scrolled label={words.t('operator.windows')}>
      <table>
        <thead>
          <tr>
            <th scope="col">{words.t('operator.window')}</th>
            <th scope="col">{words.t('operator.window_accounts')}</th>
            <th scope="col">{words.t('operator.window_share')}</th>
            <th scope="col">{words.t('operator.window_networks')}</th>
          </tr>
        </thead>
        <tbody>
          {windows.map((window) => (
            <tr key={window.startsAt}>
              <th scope="row">
                {words.time(window.startsAt)}
                {window.overloaded && <p class="hint">{words.t('operator.window_overloaded')}</p>}
              </th>
              <td class="figures">{both(window.ignoringAccounts, window.anyAccount.ignoringAccounts)}</td>
              <td class="figures">{words.percent(shareOf(window))}</td>
              <td class="figures">{both(window.ignoringNetworks, window.anyAccount.ignoringNetworks)}</td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">{words.t('operator.window_limit', { windows: thresholds.windows })}</th>
            <td class="figures">{words.number(thresholds.accounts)}</td>
            <td class="figures">{words.percent(thresholds.share)}</td>
            <td class="figures">{words.number(thresholds.networks)}</td>
          </tr>
        </tfoot>
      </table>
    </Scrolled>
  )
}

function shareOf({ ignoringAccounts, grantedAccounts }: Window): number {
  return grantedAccounts === 0 ? 0 : ignoringAccounts / grantedAccounts
}

type MeasuredProps = {
  readonly words: Words
  readonly lines: readonly { readonly name: string; readonly value: string; readonly limit: string }[]
}

function Measured({ words, lines }: MeasuredProps) {
  return (
    <table aria-labelledby="evidence">
      <thead>
        <tr>
          <th scope="col">{words.t('operator.measure')}</th>
          <th scope="col">{words.t('operator.measured')}</th>
          <th scope="col">{words.t('operator.limit')}</th>
        </tr>
      </thead>
      <tbody>
        {lines.map(({ name, value, limit }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{value}</td>
            <td>{limit}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
