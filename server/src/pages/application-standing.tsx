/** How near an application is to being suspended, in the figures of the rule; what has happened so far, and an appeal. */
import type { ComponentChildren } from 'preact'
import type { Standing } from '../core/suspension.ts'
import { OwnWords } from './field-kinds.tsx'
import { Form } from './form.tsx'
import type { Frame } from './layout.tsx'
import { Notice } from './notice.tsx'
import type { Words } from './words.ts'

export type StandingModel = Standing & {
  /** Of an appeal that came back, with its words. */
  readonly problem: null | 'words' | 'not_suspended'
  readonly words: string
  readonly mostWords: number
}

type StandingProps = { readonly frame: Frame; readonly id: string; readonly model: StandingModel }

/** What has happened so far, and what to do about it. */
export function ApplicationStanding({ frame, id, model }: StandingProps) {
  const { words } = frame
  const { suspended, warned, appealedAt, pollIntervalSeconds } = model
  return (
    <>
      {suspended && <Suspended words={words} model={model} />}
      {!suspended && warned && (
        <Notice kind="warning" title={words.t('standing.warned_title')}>
          <p>{words.t('standing.warned', { when: words.moment(warned.at), until: words.moment(warned.until) })}</p>
        </Notice>
      )}
      {pollIntervalSeconds !== null && (
        <Notice kind="info">
          <p>{words.t('standing.slower', { seconds: pollIntervalSeconds })}</p>
        </Notice>
      )}
      {suspended && appealedAt === null && <Appeal frame={frame} id={id} model={model} />}
    </>
  )
}

function Suspended({ words, model }: { readonly words: Words; readonly model: StandingModel }) {
  const { suspensionEndsAt, appealedAt } = model
  return (
    <Notice kind="warning" title={words.t('standing.suspended_title')}>
      <p>{words.t('standing.suspended')}</p>
      {suspensionEndsAt !== null && (
        <p>{words.t('standing.suspended_until', { until: words.moment(suspensionEndsAt) })}</p>
      )}
      {appealedAt !== null && <p>{words.t('standing.appealed', { when: words.moment(appealedAt) })}</p>}
    </Notice>
  )
}

function Appeal({ frame, id, model }: StandingProps) {
  const { words } = frame
  const { problem, mostWords: most } = model
  return (
    <section class="card stack" aria-labelledby="appeal">
      <h2 id="appeal">{words.t('standing.appeal')}</h2>
      <Form frame={frame} action="/developer/application/appeal" bound={{ application: id }} class="stack">
        <OwnWords
          id="words"
          label={words.t('standing.appeal_words')}
          hint={words.t('standing.appeal_hint', { most })}
          problem={problem === 'words' ? words.t('standing.problem_words', { most }) : null}
          value={model.words}
          rows={6}
        />
        <p class="actions">
          <button type="submit" class="button">
            {words.t('standing.appeal_send')}
          </button>
        </p>
      </Form>
    </section>
  )
}

/** How near it is, measure by measure. */
export function StandingMeasures({ words, model }: { readonly words: Words; readonly model: StandingModel }) {
  const { figures, inARow, overloaded, dryRun } = model
  const { thresholds, ignoringAccounts, grantedAccounts, ignoringNetworks } = figures
  const number = (value: number) => words.t('standing.number', { value })
  const percent = (value: number) => words.t('standing.percent', { value })
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
    <section class="card stack" aria-labelledby="standing">
      <h2 id="standing">{words.t('standing.title')}</h2>
      <p>{words.rich('standing.text', { polls, minutes, windows, code })}</p>
      <table aria-labelledby="standing">
        <thead>
          <tr>
            <th scope="col">{words.t('standing.measure')}</th>
            <th scope="col">{words.t('standing.now')}</th>
            <th scope="col">{words.t('standing.limit')}</th>
          </tr>
        </thead>
        <tbody>
          {measures.map(([name, now, limit]) => (
            <tr key={name}>
              <th scope="row">{words.t(`standing.${name}`)}</th>
              <td class="figures">{now}</td>
              <td class="figures">{limit}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {overloaded && <p class="hint">{words.t('standing.overloaded')}</p>}
      {dryRun && <p class="hint">{words.t('standing.dry_run')}</p>}
    </section>
  )
}
