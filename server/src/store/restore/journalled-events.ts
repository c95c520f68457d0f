/** Audit events as lines of the revocation journal. */
import { accessKinds, journalledKinds } from '../../core/restore/journal-line.ts'

const quoted = (kinds: readonly string[]) => kinds.map((kind) => `'${kind}'`).join(', ')

/** Id of what an event is about. The same as `subjectOf` in core/restore/journal-line.ts. For a query over `audit_events`. */
export const SUBJECT = `case split_part(kind, '.', 1) when 'account' then account_id when 'application' then application_id
  when 'code' then device_code_id::text when 'grant' then grant_id when 'management_key' then detail ->> 'managementKey'
  when 'role' then detail ->> 'role' when 'webhook' then detail ->> 'endpoint' else user_id end`

/**
 * A query of the lines that the events of a condition over `audit_events` are written as. The names are those of
 * core/restore/journal-line.ts. A reason is taken from revoked grants only: elsewhere it may be a person's words.
 */
export function journalLines(condition: string): string {
  return `select jsonb_strip_nulls(jsonb_build_object('kind', kind, 'event', id, 'at', at::text, 'account', account_id,
      'user', user_id, 'application', application_id, 'grant', grant_id, 'code', device_code_id,
      'reason', case kind when 'grant.revoked' then detail -> 'reason' end, 'secret', detail -> 'secret',
      'revokedSecrets', detail -> 'revokedSecrets', 'managementKey', detail -> 'managementKey', 'key', detail -> 'key',
      'role', detail -> 'role', 'endpoint', detail -> 'endpoint',
      'address', case when kind = 'user.updated' and detail -> 'changed' ? 'email' then true end,
      'left', case when kind in (${quoted(accessKinds)}) then to_jsonb(access_of(${SUBJECT})) end))::text as line
    from audit_events where ${condition} and kind in (${quoted(journalledKinds)})
    order by id`
}
