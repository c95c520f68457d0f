/** Suspension rule: thresholds for warnings and suspensions, read and changed by operators. All versions are kept. */
import { byOperator } from '../../core/audit/actor.ts'
import { type Thresholds, thresholdProblem } from '../../core/reviews/suspension.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { insertRule, type SuspensionRule } from '../../store/reviews/rules.ts'
import type { Forbidden } from '../accounts/administrator.ts'
import { notifyAdministrators } from '../accounts/notify-administrators.ts'
import type { Context } from '../context.ts'
import { asOperator } from '../operator/operator.ts'

export type Rule = SuspensionRule

export type RuleResult =
  | { readonly outcome: 'changed' }
  | { readonly outcome: 'unfit'; readonly field: keyof Thresholds }
  | Forbidden

/** One operator changes it alone, so all others are told. */
export function changeRule(context: Context, by: string, thresholds: Thresholds, dryRun: boolean): Promise<RuleResult> {
  return asOperator(context, by, async (tx, operator): Promise<RuleResult> => {
    const field = thresholdProblem(thresholds)
    if (field) return { outcome: 'unfit', field }
    const version = await insertRule(tx, { thresholds, dryRun }, by)
    const detail = { version, thresholds, dryRun }
    await recordEvent(tx, { kind: 'rule.changed', actor: byOperator(by), accountId: operator.accountId, detail })
    const notification = { kind: 'rule_changed', detail: { by: operator.email, version } } as const
    await notifyAdministrators(tx, operator.accountId, notification, operator.id)
    return { outcome: 'changed' }
  })
}
