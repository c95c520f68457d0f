/** Decision forms for operators: each decision needs a reason and a text that is sent to the developer. */

import { type Decision, reasons } from '../../core/reviews/review.ts'
import { operatorHref } from '../operator/hrefs.ts'
import { AreYouSure } from '../ui/are-you-sure.tsx'
import { Field } from '../ui/field.tsx'
import { OwnWords, Radio, Select } from '../ui/field-kinds.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { MailWaits } from '../ui/notice.tsx'
import type { Words } from '../ui/words.ts'
import type { DecisionForm, OperatorApplicationModel } from './application-model.ts'

type CardProps = { readonly frame: Frame; readonly model: OperatorApplicationModel }

type Offer = { readonly decision: Decision; readonly label: string; readonly hint: string }

/** Decisions that fit the current state. Revoking all grants has a form of its own that asks for confirmation. */
function offersFor(words: Words, model: OperatorApplicationModel): readonly Offer[] {
  const { suspended, review, pollIntervalSeconds, usualIntervalSeconds: seconds, restorable: grants } = model
  const how = suspended ? 'suspended' : 'running'
  const offer = (decision: 'reinstate' | 'reinstate_slower' | 'keep'): Offer => ({
    decision,
    label: words.t(`operator.${how}_${decision}`),
    hint: words.t(`operator.${how}_${decision}_hint`),
  })
  const restore: Offer = {
    decision: 'reinstate_and_restore',
    label: words.t('operator.reinstate_and_restore'),
    hint: words.t('operator.reinstate_and_restore_hint', { grants }),
  }
  const restoring = grants > 0 ? [restore] : []
  if (suspended || (review !== null && review.closedAt === null)) {
    return [offer('reinstate'), offer('reinstate_slower'), ...restoring, offer('keep')]
  }
  const slower = { ...offer('reinstate_slower'), label: words.t('operator.quiet_reinstate_slower') }
  const usual: Offer = {
    decision: 'reinstate',
    label: words.t('operator.quiet_reinstate'),
    hint: words.t('operator.quiet_reinstate_hint', { seconds }),
  }
  return [offer('keep'), slower, ...restoring, ...(pollIntervalSeconds === seconds ? [] : [usual])]
}

/** Id of the field that the form's problem is about. */
export function fieldOf(words: Words, { decision, problem }: DecisionForm, model: OperatorApplicationModel): string {
  if (problem === 'decision') return `decision-${offersFor(words, model)[0]?.decision}`
  return decision === 'keep_and_revoke' ? `all-${problem}` : (problem ?? '')
}

export function DecisionCard({ frame, model }: CardProps) {
  const { words } = frame
  return (
    <section class="card stack" aria-labelledby="decide">
      <h2 id="decide">{words.t('operator.decide')}</h2>
      <Decisions frame={frame} model={model} />
    </section>
  )
}

/** Where nothing but a request of its developers calls for a decision. */
export function FoldedDecisions({ frame, model }: CardProps) {
  return (
    <details class="card find" open={model.form?.problem != null}>
      <summary>{frame.words.t('operator.decide_otherwise')}</summary>
      <div class="stack">
        <Decisions frame={frame} model={model} />
      </div>
    </details>
  )
}

function Decisions({ frame, model }: CardProps) {
  const { words } = frame
  const { id, form } = model
  return (
    <>
      <p>{words.t('operator.decide_text')}</p>
      <MailWaits frame={frame} />
      {form === null ? (
        <ProveLink words={words} applicationId={id} />
      ) : (
        <>
          <Decide frame={frame} model={model} form={about(form, form.decision !== 'keep_and_revoke')} />
          <RevokeAll frame={frame} model={model} form={about(form, form.decision === 'keep_and_revoke')} />
        </>
      )}
    </>
  )
}

/** Instead of a form, if the last sign-in is too long ago. */
export function ProveLink({ words, applicationId }: { readonly words: Words; readonly applicationId: string }) {
  return (
    <p>
      <a class="button" href={`/confirm?next=${encodeURIComponent(operatorHref(applicationId))}`}>
        {words.t('operator.prove')}
      </a>
    </p>
  )
}

/** Empties the form that was not submitted: input of one form must not appear in the other. */
function about(form: DecisionForm, mine: boolean): DecisionForm {
  const nothing = { decision: null, reason: null, words: '', intervalSeconds: '', problem: null }
  return mine ? form : { ...form, ...nothing }
}

type FormProps = CardProps & { readonly form: DecisionForm }

const ACTION = '/operator/application/decide'

function Decide({ frame, model, form }: FormProps) {
  const { words } = frame
  const wrong = form.problem
  return (
    <Form frame={frame} action={ACTION} bound={{ application: model.id, seen: form.seen }} class="stack">
      <fieldset class="listed">
        <legend>{words.t('operator.decision')}</legend>
        {wrong === 'decision' && <p class="wrong">{words.t('operator.problem_decision')}</p>}
        {offersFor(words, model).map(({ decision, label, hint }) => (
          <Radio
            name="decision"
            value={decision}
            label={label}
            hint={hint}
            checked={form.decision === decision}
            key={decision}
          />
        ))}
      </fieldset>
      <Field
        id="interval"
        label={words.t('operator.interval_new')}
        hint={words.t('operator.interval_hint', {
          usual: model.usualIntervalSeconds,
          seconds: model.pollIntervalSeconds,
        })}
        value={form.intervalSeconds}
        inputmode="numeric"
        autocomplete="off"
        size={6}
        problem={wrong === 'interval' ? words.t('operator.problem_interval') : null}
      />
      <ReasonFields words={words} id="" form={form} wrong={wrong} />
      <p>
        <button type="submit" class="button">
          {words.t('operator.decide_send')}
        </button>
      </p>
    </Form>
  )
}

type ReasonProps = {
  readonly words: Words
  /** Prefix of the field ids: the fields are on the page twice. */
  readonly id: string
  readonly form: DecisionForm
  readonly wrong: DecisionForm['problem']
}

function ReasonFields({ words, id, form, wrong }: ReasonProps) {
  const options = reasons.map((reason) => ({ value: reason, text: words.t(`suspension_reason.${reason}`) }))
  return (
    <>
      <Select
        id={`${id}reason`}
        name="reason"
        label={words.t('operator.reason')}
        options={[{ value: '', text: words.t('operator.reason_choose') }, ...options]}
        value={form.reason ?? ''}
        problem={wrong === 'reason' ? words.t('operator.problem_reason') : null}
      />
      <OwnWords
        id={`${id}words`}
        name="words"
        label={words.t('operator.words')}
        hint={words.t('operator.words_hint')}
        value={form.words}
        rows={4}
        problem={wrong === 'words' ? words.t('operator.problem_words') : null}
      />
    </>
  )
}

/** Revokes every grant of the application, so it asks for confirmation. */
function RevokeAll({ frame, model, form }: FormProps) {
  const { words } = frame
  return (
    <AreYouSure
      label={words.t('operator.end_all')}
      question={words.t('operator.end_all_question', { grants: model.grants })}
      open={form.problem !== null}
    >
      <Form
        frame={frame}
        action={ACTION}
        bound={{ application: model.id, seen: form.seen }}
        hidden={{ decision: 'keep_and_revoke' }}
        class="stack"
      >
        <ReasonFields words={words} id="all-" form={form} wrong={form.problem} />
        <p>
          <button type="submit" class="button danger">
            {words.t('operator.end_all_yes')}
          </button>
        </p>
      </Form>
    </AreYouSure>
  )
}
