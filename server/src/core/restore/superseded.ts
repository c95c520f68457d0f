/**
 * Lost lines that a later decision in PostgreSQL supersedes. After a restore, each machine replays its own journal, and an
 * operator may give the journal of another machine to `latchkey restore finish` hours later: what was decided about
 * the same thing meanwhile stays.
 */
import type { AuditKind } from '../audit/kind.ts'
import { accessKinds, type EventLine, type JournalledKind, subjectOf, type unrepeatableKinds } from './journal-line.ts'

/** Of one subject: whoever changed its access since has seen what it has now. */
const ACCESS_OF: Readonly<Record<string, readonly AuditKind[]>> = {
  account: ['account.policy_changed'],
  application: [
    'application.changed',
    'application.publisher_proven',
    'application.publisher_removed',
    'application.publisher_set',
  ],
  management_key: ['management_key.rotated'],
  role: ['role.changed'],
  user: ['user.authenticator_added', 'user.passkey_added', 'user.reset', 'user.roles_changed', 'user.updated'],
  webhook: [],
}

const UNREPEATABLE: Readonly<Record<(typeof unrepeatableKinds)[number], readonly AuditKind[]>> = {
  'account.provider_changed': ['account.provider_changed'],
  'application.test_mode_ended': ['application.test_mode_ended', 'application.test_mode_started'],
  'application.vetting_withdrawn': ['application.vetting_withdrawn', 'application.vetted'],
  'user.recovery_code_used': ['user.recovery_codes_created', 'user.reset'],
  'user.recovery_codes_created': ['user.recovery_codes_created', 'user.reset'],
}

const SUPERSEDED_BY: Partial<Record<JournalledKind, readonly AuditKind[]>> = {
  ...Object.fromEntries(accessKinds.map((kind) => [kind, ACCESS_OF[kind.slice(0, kind.indexOf('.'))] ?? []])),
  ...UNREPEATABLE,
  'application.suspended': ['application.suspended', 'application.restored'],
  'grant.revoked': ['grant.revoked', 'grant.restored'],
  'user.disabled': ['user.disabled', 'user.enabled'],
  'user.password_set': ['user.password_set', 'user.reset'],
  'user.reset': ['user.reset'],
}

export const supersedingKinds: readonly AuditKind[] = [...new Set(Object.values(SUPERSEDED_BY).flat())]

/** An event that PostgreSQL has. `at`: as in the lines of a journal, which compare as text. */
export type Decision = { readonly kind: AuditKind; readonly subject: string; readonly at: string }

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
