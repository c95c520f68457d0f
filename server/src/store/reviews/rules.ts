/** The table suspension_rules: all versions of the thresholds. Without a row, the defaults apply as version 0. */
import { defaultThresholds, type Thresholds } from '../../core/reviews/suspension.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'

export type SuspensionRule = {
  readonly version: number
  readonly thresholds: Thresholds
  /** Applications are judged and verdicts recorded, but nothing is enforced. */
  readonly dryRun: boolean
  readonly createdAt: number | null
  /** E-mail address of the operator who created it. */
  readonly by: string | null
}

const FIRST: SuspensionRule = {
  version: 0,
  thresholds: defaultThresholds,
  dryRun: false,
  createdAt: null,
  by: null,
}

export async function readRule(db: Queryable): Promise<SuspensionRule> {
  const { rows } = await db.query<SuspensionRule & { thresholds: Partial<Thresholds> }>(
    `select r.version, r.thresholds, r.dry_run as "dryRun", r.created_at as "createdAt", u.email as by
     from suspension_rules r join users u on u.id = r.created_by order by r.version desc limit 1`,
  )
  const [newest] = rows
  return newest ? { ...newest, thresholds: { ...defaultThresholds, ...newest.thresholds } } : FIRST
}

/** Returns the version of the new rule. */
export async function insertRule(
  tx: Transaction,
  rule: Pick<SuspensionRule, 'thresholds' | 'dryRun'>,
  by: string,
): Promise<number> {
  const { rows } = await tx.query<{ version: number }>(
    `insert into suspension_rules (thresholds, dry_run, created_at, created_by) values ($1, $2, now(), $3)
     returning version`,
    [JSON.stringify(rule.thresholds), rule.dryRun, by],
  )
  return rows[0]?.version ?? 0
}
