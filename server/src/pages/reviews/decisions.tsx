/** Past decisions about an application: operator, reason, text; those that wait for a second operator; and Undo. */
import type { ConfirmationProblem } from '../../core/operator/second-operator.ts'
import { type DecisionLine, waitsForSecond } from '../../core/reviews/review.ts'
import { Moment } from '../ui/elements.tsx'
import { Folded } from '../ui/folded.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import type { Words } from '../ui/words.ts'

type ListProps = {
  readonly frame: Frame
  readonly applicationId: string
  readonly decisions: readonly DecisionLine[]
  /** Why the operator who views the page may not confirm the waiting decision; null: they may. */
  readonly confirmationProblem: ConfirmationProblem | null
}

export function PastDecisions({ frame, applicationId, decisions, confirmationProblem }: ListProps) {
  const { words } = frame
  if (decisions.length === 0) return null
  return (
    <section class="card stack" aria-labelledby="decisions">
      <h2 id="decisions">{words.t('operator.decisions')}</h2>
      <Folded
        words={words}
        items={decisions}
        shown={2}
        render={(some) => (
          <ol class="rows">
            {some.map((decision) => (
              <li key={decision.id}>
                <What words={words} decision={decision} />
                <Actions
                  frame={frame}
                  applicationId={applicationId}
                  decision={decision}
                  confirmationProblem={confirmationProblem}
                />
              </li>
            ))}
          </ol>
        )}
      />
    </section>
  )
}

function What({ words, decision }: { readonly words: Words; readonly decision: DecisionLine }) {
  const { by, at, reason, intervalSeconds, revoked, confirmedBy, undoneBy, undoneAt } = decision
  return (
    <div class="stack tight">
      <div class="heading">
        <h3>{words.t(`operator.decided_${decision.decision}`)}</h3>
        {waitsForSecond(decision) && <span class="badge warning">{words.t('operator.waits')}</span>}
        {undoneAt !== null && <span class="badge">{words.t('operator.undone')}</span>}
      </div>
      <p>
        {words.t(`suspension_reason.${reason}`)}
        {intervalSeconds !== null && ` · ${words.t('operator.interval_is', { seconds: intervalSeconds })}`}
        {revoked > 0 && ` · ${words.t('operator.revoked', { grants: revoked })}`}
      </p>
      <div class="says">
        <blockquote dir="auto" class="spoken">
          {decision.words}
        </blockquote>
      </div>
      <p class="hint">
        {words.t('operator.by', { who: by })} · <Moment words={words} ms={at} />
        {confirmedBy !== null && ` · ${words.t('operator.confirmed_by', { who: confirmedBy })}`}
        {undoneBy !== null && ` · ${words.t('operator.undone_by', { who: undoneBy })}`}
      </p>
    </div>
  )
}

type ActionsProps = Omit<ListProps, 'decisions'> & { readonly decision: DecisionLine }

function Actions({ frame, applicationId, decision, confirmationProblem }: ActionsProps) {
  const { words } = frame
  const bound = { application: applicationId, decision: decision.id }
  const waits = waitsForSecond(decision)
  return (
    <div class="stack tight">
      {waits && confirmationProblem && (
        <p class="hint">{words.t(`second_operator.${confirmationProblem}`, { by: decision.by })}</p>
      )}
      {waits && !confirmationProblem && (
        <Form frame={frame} action="/operator/application/confirm" bound={bound}>
          <button type="submit" class="button">
            {words.t('operator.confirm')}
          </button>
        </Form>
      )}
      {decision.undoable && (
        <Form frame={frame} action="/operator/application/undo" bound={bound}>
          <button type="submit" class="button quiet">
            {words.t(waits ? 'operator.withdraw' : 'operator.undo')}
          </button>
        </Form>
      )}
    </div>
  )
}
