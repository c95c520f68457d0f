/**
 * Audit events about refusals, which anybody can cause in any number: one per subject, network and hour. Those in
 * `summedUp` are recorded when the hour is over, with a count; the others with the first refusal.
 */
import type { AuditKind } from './kind.ts'

export const summedUp = [
  'session.refused',
  'page.refused',
  'management_key.refused',
] as const satisfies readonly AuditKind[]

export const countedKinds = [...summedUp, 'session.locked', 'session.slowed'] as const satisfies readonly AuditKind[]

export type CountedKind = (typeof countedKinds)[number]

export function isSummedUp(kind: CountedKind): boolean {
  return (summedUp as readonly string[]).includes(kind)
}

export type CountedRefusal = {
  readonly kind: CountedKind
  /** Null: of the whole service. */
  readonly accountId: string | null
  /** Keyed digest of an e-mail address, id of a user or a management key, or empty if the event is about the network. */
  readonly subject: string
  readonly network: string | null
  readonly userId: string | null
  /** What was refused or why: a step of signing in, a budget, the path of a page, the scope that a key lacks. */
  readonly reason: string
}
