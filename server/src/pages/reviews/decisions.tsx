/** Past decisions about an application: operator, reason, text; and those that wait for a second operator. */
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
                {waitsForSecond(decision) && (
                  <Actions
                    frame={frame}
                    applicationId={applicationId}
                    decision={decision}
                    confirmationProblem={confirmationProblem}
                  />
                )}
              </li>
            ))}
          </ol>
        )}
      />
    </section>
  )
}

function What({ words, decision }: { readonly words: Words; readonly decision: DecisionLine }) {
  const { by, at, reason, intervalSeconds, grants, confirmedBy, withdrawnBy, withdrawnAt } = decision
  return (
    <div class="stack tight">
      <div class="heading">
        <h3>{words.t(`operator.decided_${decision.decision}`)}</h3>
        {waitsForSecond(decision) && <span class="badge warning">{words.t('operator.waits')}</span>}
        {withdrawnAt !== null && <span class="badge">{words.t('operator.withdrawn')}</span>}
      </div>
      <p>
        {words.t(`suspension_reason.${reason}`)}
        {intervalSeconds !== null && ` · ${words.t('operator.interval_is', { seconds: intervalSeconds })}`}
        {grants > 0 &&
          ` · ${words.t(decision.decision === 'keep_and_revoke' ? 'operator.revoked' : 'operator.restored', { grants })}`}
      </p>
      <div class="says">
        <blockquote dir="auto" class="spoken">
          {decision.words}
        </blockquote>
      </div>
      <p class="hint">
        {words.t('operator.by', { who: by })} · <Moment words={words} ms={at} />
        {confirmedBy !== null && ` · ${words.t('operator.confirmed_by', { who: confirmedBy })}`}
        {withdrawnBy !== null && ` · ${words.t('operator.withdrawn_by', { who: withdrawnBy })}`}
      </p>
    </div>
  )
}

type ActionsProps = Omit<ListProps, 'decisions'> & { readonly decision: DecisionLine }

/** Of the decision that waits. */
function Actions({ frame, applicationId, decision, confirmationProblem }: ActionsProps) {
  const { words } = frame
  const bound = { application: applicationId, decision: decision.id }
  return (
    <div class="stack tight">
      {confirmationProblem ? (
        <p class="hint">{words.t(`second_operator.${confirmationProblem}`, { by: decision.by })}</p>
      ) : (
        <Form frame={frame} action="/operator/application/confirm" bound={bound}>
          <button type="submit" class="button">
            {words.t('operator.confirm')}
          </button>
        </Form>
      )}
      <Form frame={frame} action="/operator/application/withdraw" bound={bound}>
        <button type="submit" class="button quiet">
          {words.t('operator.withdraw')}
        </button>
      </Form>
    </div>
  )
}
