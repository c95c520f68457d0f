/** Operators' console: the thresholds at which applications are warned or suspended. */
import type { Thresholds } from '../../core/reviews/suspension.ts'
import type { Context } from '../../flows/context.ts'
import { changeRule } from '../../flows/reviews/rule.ts'
import {
  type OperatorRuleModel,
  operatorRulePage,
  type ThresholdName,
  thresholdNames,
} from '../../pages/reviews/rule.tsx'
import { readRule } from '../../store/reviews/rules.ts'
import type { PageAnswer, PageHandler, UserRequest } from '../web/answer.ts'

export const showRule: PageHandler<UserRequest> = (context, request) => rulePage(context, request, null, null)

export const saveRule: PageHandler<UserRequest> = async (context, request) => {
  const { fields, sessionUser } = request
  const values = Object.fromEntries(thresholdNames.map((name) => [name, (fields.get(name) ?? '').trim()]))
  const given = { values: values as Record<ThresholdName, string>, dryRun: fields.has('dryRun') }
  const wrong = thresholdNames.find((name) => !/^\d{1,9}([.,]\d{1,2})?$/.test(given.values[name]))
  if (wrong) return rulePage(context, request, given, wrong)
  const result = await changeRule(context, sessionUser.id, thresholdsFrom(given.values), given.dryRun)
  if (result.outcome === 'changed') return { seeOther: '/operator/rule?notice=saved' }
  if (result.outcome !== 'unfit') return { refusal: result.outcome }
  const field = thresholdNames.find((name) => name === result.field)
  return rulePage(context, request, given, field ?? 'windows')
}

/** `share` is a percentage on the page and a fraction in the rule. */
function thresholdsFrom(values: Readonly<Record<ThresholdName, string>>): Thresholds {
  const numbers = thresholdNames.map((name) => [name, numberFrom(name, values[name])])
  return Object.fromEntries(numbers) as Thresholds
}

function numberFrom(name: ThresholdName, text: string): number {
  const value = Number(text.replace(',', '.'))
  return name === 'share' ? value / 100 : value
}

function textsOf(thresholds: Thresholds): Record<ThresholdName, string> {
  const texts = thresholdNames.map((name) => [
    name,
    String(name === 'share' ? Math.round(thresholds.share * 10_000) / 100 : thresholds[name]),
  ])
  return Object.fromEntries(texts)
}

async function rulePage(
  context: Context,
  { fields, frame }: UserRequest,
  given: Pick<OperatorRuleModel, 'values' | 'dryRun'> | null,
  problem: ThresholdName | null,
): Promise<PageAnswer> {
  const { version, createdAt, by, thresholds, dryRun } = await readRule(context.db)
  const model = {
    version,
    createdAt,
    by,
    ...(given ?? { values: textsOf(thresholds), dryRun }),
    saved: fields.get('notice') === 'saved',
    problem,
  }
  return { page: operatorRulePage(frame, model), status: problem === null ? 200 : 400 }
}
