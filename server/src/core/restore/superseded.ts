/**
 * Lost lines that a later decision in PostgreSQL supersedes. After a restore, each machine replays its own journal, and an
 * operator may give the journal of another machine to `latchkey restore finish` hours later: what was decided about
 * the same thing meanwhile stays.
 */
import type { EventLine, JournalledKind } from './journal-line.ts'

const SUPERSEDED_BY: Partial<Record<JournalledKind, readonly JournalledKind[]>> = {
  'application.suspended': ['application.suspended', 'application.restored'],
  'grant.revoked': ['grant.revoked', 'grant.restored'],
  'user.disabled': ['user.disabled', 'user.enabled'],
  'user.password_set': ['user.password_set', 'user.reset'],
  'user.reset': ['user.reset'],
}

export const supersedingKinds: readonly JournalledKind[] = [...new Set(Object.values(SUPERSEDED_BY).flat())]

/** An event that PostgreSQL has. `at`: as in the lines of a journal, which compare as text. */
export type Decision = { readonly kind: JournalledKind; readonly subject: string; readonly at: string }

/** The application, grant or user that an event of a superseding kind is about. */
export function subjectOf(line: EventLine): string | undefined {
  if (line.kind.startsWith('application.')) return line.application
  return line.kind.startsWith('grant.') ? line.grant : line.user
}

/** Whether one of these decisions supersedes a line. */
export function createSupersededCheck(decisions: readonly Decision[]): (line: EventLine) => boolean {
  const newest = new Map<string, string>()
  for (const { kind, subject, at } of decisions) {
    const key = `${kind} ${subject}`
    if ((newest.get(key) ?? '') < at) newest.set(key, at)
  }
  return (line) =>
    (SUPERSEDED_BY[line.kind] ?? []).some((kind) => (newest.get(`${kind} ${subjectOf(line)}`) ?? '') > line.at)
}
