/**
 * Editor of the rule that warns and suspends: thresholds are data, every version is kept, and a dry run is possible.
 */
import { type Thresholds, thresholdLimits } from '../../core/reviews/suspension.ts'
import { Moment } from '../ui/elements.tsx'
import { Checkbox, Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Notice, Problems } from '../ui/notice.tsx'

export type ThresholdName = keyof Thresholds

export type OperatorRuleModel = {
  readonly version: number
  readonly createdAt: number | null
  /** Operator who made this version; null: the built-in rule. */
  readonly by: string | null
  /** As typed; the share in percent. */
  readonly values: Readonly<Record<ThresholdName, string>>
  readonly dryRun: boolean
  readonly saved: boolean
  readonly problem: ThresholdName | null
}

/** Display order: what counts, when it is enough, what follows. */
export const thresholdNames: readonly ThresholdName[] = [
  'earlyPolls',
  'accountAgeDays',
  'windowMinutes',
  'windows',
  'accounts',
  'share',
  'networks',
  'reports',
  'warningHours',
  'reinstateAfterHours',
  'secondOperatorGrants',
]

export function operatorRulePage(frame: Frame, model: OperatorRuleModel): string {
  const { words } = frame
  const { version, by, createdAt, problem } = model
  const wrong =
    problem &&
    words.t('operator.rule_problem', { name: words.t(`operator.threshold_${problem}`), ...limitsOf(problem) })
  return page(
    frame,
    words.t('operator.nav_rule'),
    <>
      <Problems words={words} problems={wrong && problem ? [{ field: problem, text: wrong }] : []} />
      {model.saved && !problem && <Notice kind="success">{words.t('operator.rule_saved')}</Notice>}
      {model.dryRun && !problem && <Notice kind="warning">{words.t('operator.rule_on_trial')}</Notice>}
      <section class="card stack">
        <h1>{words.t('operator.nav_rule')}</h1>
        <p>{words.t('operator.rule_text')}</p>
        <p class="hint">
          {by === null || createdAt === null ? (
            words.t('operator.rule_delivered', { version })
          ) : (
            <>
              {words.t('operator.rule_changed', { version, who: by })} <Moment words={words} ms={createdAt} />
            </>
          )}
        </p>
        <Form frame={frame} action="/operator/rule" class="stack">
          {thresholdNames.map((name) => (
            <Field
              id={name}
              label={words.t(`operator.threshold_${name}`)}
              hint={`${words.t(`operator.threshold_${name}_hint`)} ${words.t('operator.rule_limits', limitsOf(name))}`}
              value={model.values[name]}
              inputmode="numeric"
              autocomplete="off"
              size={6}
              problem={problem === name ? wrong : null}
              key={name}
            />
          ))}
          <Checkbox
            id="dryRun"
            label={words.t('operator.dry_run')}
            hint={words.t('operator.dry_run_hint')}
            checked={model.dryRun}
          />
          <p>
            <button type="submit" class="button">
              {words.t('operator.rule_save')}
            </button>
          </p>
        </Form>
      </section>
    </>,
    { problem: problem !== null },
  )
}

/** In the units of the form: the share in percent. */
function limitsOf(name: ThresholdName): { least: number; max: number } {
  const [least, max] = thresholdLimits[name]
  return name === 'share' ? { least: least * 100, max: max * 100 } : { least, max }
}
