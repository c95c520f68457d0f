/**
 * Suspension state of an application, for its developer: measures against the rule's thresholds, warnings, appeal form.
 */
import type { ComponentChildren } from 'preact'
import type { SuspensionStatus } from '../../core/reviews/suspension.ts'
import { OwnWords } from '../ui/field-kinds.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { Notice } from '../ui/notice.tsx'
import type { Words } from '../ui/words.ts'

export type SuspensionModel = SuspensionStatus & {
  /** Problem of a submitted appeal; `words` is its text. */
  readonly problem: null | 'words' | 'not_suspended'
  readonly words: string
  readonly maxWords: number
}

type SuspensionProps = { readonly frame: Frame; readonly id: string; readonly model: SuspensionModel }

/** State (warned, suspended, appealed) and the appeal form. */
export function ApplicationSuspension({ frame, id, model }: SuspensionProps) {
  const { words } = frame
  const { suspended, warned, appealedAt, pollIntervalSeconds } = model
  return (
    <>
      {suspended && <Suspended words={words} model={model} />}
      {!suspended && warned && (
        <Notice kind="warning" title={words.t('suspension.warned_title')}>
          <p>{words.t('suspension.warned', { when: words.moment(warned.at), until: words.moment(warned.until) })}</p>
        </Notice>
      )}
      {pollIntervalSeconds !== null && (
        <Notice kind="info">
          <p>{words.t('suspension.slower', { seconds: pollIntervalSeconds })}</p>
        </Notice>
      )}
      {suspended && appealedAt === null && <Appeal frame={frame} id={id} model={model} />}
    </>
  )
}

function Suspended({ words, model }: { readonly words: Words; readonly model: SuspensionModel }) {
  const { suspensionEndsAt, appealedAt } = model
  return (
    <Notice kind="warning" title={words.t('suspension.suspended_title')}>
      <p>{words.t('suspension.suspended')}</p>
      {suspensionEndsAt !== null && (
        <p>{words.t('suspension.suspended_until', { until: words.moment(suspensionEndsAt) })}</p>
      )}
      {appealedAt !== null && <p>{words.t('suspension.appealed', { when: words.moment(appealedAt) })}</p>}
    </Notice>
  )
}

function Appeal({ frame, id, model }: SuspensionProps) {
  const { words } = frame
  const { problem, maxWords: max } = model
  return (
    <section class="card stack" aria-labelledby="appeal">
      <h2 id="appeal">{words.t('suspension.appeal')}</h2>
      <Form frame={frame} action="/developer/application/appeal" bound={{ application: id }} class="stack">
        <OwnWords
          id="words"
          label={words.t('suspension.appeal_words')}
          hint={words.t('suspension.appeal_hint', { max })}
          problem={problem === 'words' ? words.t('suspension.problem_words', { max }) : null}
          value={model.words}
          rows={6}
        />
        <p class="actions">
          <button type="submit" class="button">
            {words.t('suspension.appeal_send')}
          </button>
        </p>
      </Form>
    </section>
  )
}

/** The measures of the rule, each with its threshold. */
export function SuspensionMeasures({ words, model }: { readonly words: Words; readonly model: SuspensionModel }) {
  const { figures, inARow, overloaded } = model
  const { thresholds, ignoringAccounts, grantedAccounts, ignoringNetworks } = figures
  const number = (value: number) => words.t('suspension.number', { value })
  const percent = (value: number) => words.t('suspension.percent', { value })
  const code = (chunks: ComponentChildren) => (
    <code class="technical" dir="ltr">
      {chunks}
    </code>
  )
  const measures = [
    ['accounts', number(ignoringAccounts), number(thresholds.accounts)],
    ['share', percent(grantedAccounts === 0 ? 0 : ignoringAccounts / grantedAccounts), percent(thresholds.share)],
    ['networks', number(ignoringNetworks), number(thresholds.networks)],
    ['windows', number(inARow), number(thresholds.windows)],
  ] as const
  const { earlyPolls: polls, windowMinutes: minutes, windows } = thresholds
  return (
    <section class="card stack" aria-labelledby="suspension">
      <h2 id="suspension">{words.t('suspension.title')}</h2>
      <p>{words.rich('suspension.text', { polls, minutes, windows, code })}</p>
      <table aria-labelledby="suspension">
        <thead>
          <tr>
            <th scope="col">{words.t('suspension.measure')}</th>
            <th scope="col">{words.t('suspension.now')}</th>
            <th scope="col">{words.t('suspension.limit')}</th>
          </tr>
        </thead>
        <tbody>
          {measures.map(([name, now, limit]) => (
            <tr key={name}>
              <th scope="row">{words.t(`suspension.${name}`)}</th>
              <td class="figures">{now}</td>
              <td class="figures">{limit}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {overloaded && <p class="hint">{words.t('suspension.overloaded')}</p>}
    </section>
  )
}
