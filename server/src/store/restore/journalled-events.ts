/** Audit events as lines of the revocation journal. */
import { journalledKinds } from '../../core/restore/journal-line.ts'

/**
 * A query of the lines that the events of a condition over `audit_events` are written as. The names are those of
 * core/restore/journal-line.ts. A reason is taken from revoked grants only: elsewhere it may be a person's words.
 */
export function journalLines(condition: string): string {
  return `select jsonb_strip_nulls(jsonb_build_object('kind', kind, 'event', id, 'at', at::text, 'account', account_id,
      'user', user_id, 'application', application_id, 'grant', grant_id, 'code', device_code_id,
      'reason', case kind when 'grant.revoked' then detail -> 'reason' end, 'secret', detail -> 'secret',
      'revokedSecrets', detail -> 'revokedSecrets', 'managementKey', detail -> 'managementKey', 'key', detail -> 'key'))::text as line
    from audit_events where ${condition} and kind in (${journalledKinds.map((kind) => `'${kind}'`).join(', ')})
    order by id`
}
