/** The audit log on pages: an account's own for its administrators, everybody's for operators; and as a file to take along. */
import { isAuditGroup, kindsIn } from '../../core/audit-kind.ts'
import { accountOrigin } from '../../flows/account-address.ts'
import { downloadAudit, isExportFormat, MOST_ROWS } from '../../flows/export-audit.ts'
import { type AuditLine, type AuditWish, readAudit } from '../../flows/read-audit.ts'
import { type AuditFilters, auditHref, auditPage } from '../../pages/audit.tsx'
import type { AuditEntry } from '../../pages/audit-line.tsx'
import type { Parameters } from '../parameters.ts'
import type { PageHandler, UserRequest } from './answer.ts'

/** Whose log: the account's at whose address it is asked for, or that of all of them. */
type Scope = 'account' | 'operator'

const BASES = { account: '/account/audit', operator: '/operator/audit' } as const

const DAY_MS = 24 * 60 * 60 * 1000

/** A spreadsheet takes a table for UTF-8 when it begins with this. */
const BYTE_ORDER_MARK = '\ufeff'

export function showAudit(scope: Scope): PageHandler<UserRequest> {
  return async (context, request) => {
    const { fields, frame } = request
    const filters = readFilters(scope, fields)
    const wish = wishFor(scope, request, filters)
    const continued = fields.get('after') || null
    const base = { base: BASES[scope], filters, most: MOST_ROWS }
    if ('problem' in wish) {
      const nothing = { entries: [], continued: null, after: null, sealed: null }
      return { page: auditPage(frame, { ...base, ...nothing, problem: wish.problem }), status: 400 }
    }
    const { lines, after, sealed } = await readAudit(context, wish, continued)
    const entries = lines.map((line) => entryOf(line, scope))
    return { page: auditPage(frame, { ...base, problem: null, entries, continued, after, sealed }) }
  }
}

/** A form, because it is written down who took the log along. */
export function exportAudit(scope: Scope): PageHandler<UserRequest> {
  return async (context, request) => {
    const { fields, visitor, account, now } = request
    const filters = readFilters(scope, fields)
    const wish = wishFor(scope, request, filters)
    const format = fields.get('format') ?? ''
    if ('problem' in wish || !isExportFormat(format)) return { refusal: 'invalid_request' }
    const file = await downloadAudit(context, visitor.id, wish, {
      format,
      after: fields.get('after') || null,
      addressAfter: (event) => accountOrigin(context, account.slug) + auditHref(BASES[scope], filters, String(event)),
    })
    const day = new Date(now).toISOString().slice(0, 10)
    const whose = scope === 'account' ? account.slug : 'all'
    const [start, type] = format === 'csv' ? [BYTE_ORDER_MARK, 'text/csv'] : ['', 'application/x-ndjson']
    return {
      bytes: Buffer.concat([Buffer.from(start), file.bytes]),
      type: `${type}; charset=utf-8`,
      lasting: false,
      fileName: `audit-${whose}-${day}.${format}`,
    }
  }
}

function readFilters(scope: Scope, fields: Parameters): AuditFilters {
  const typed = (name: string) => (fields.get(name) ?? '').trim()
  const kind = typed('kind')
  return {
    kind: isAuditGroup(kind) ? kind : '',
    person: typed('person'),
    application: typed('application'),
    from: typed('from'),
    until: typed('until'),
    account: scope === 'operator' ? typed('account') : null,
  }
}

function wishFor(
  scope: Scope,
  { account }: UserRequest,
  filters: AuditFilters,
): AuditWish | { readonly problem: 'from' | 'until' } {
  const [from, until] = [readDay(filters.from), readDay(filters.until)]
  if (from === undefined) return { problem: 'from' }
  if (until === undefined) return { problem: 'until' }
  return {
    accountId: scope === 'account' ? account.id : null,
    account: filters.account || null,
    kinds: isAuditGroup(filters.kind) ? kindsIn(filters.kind) : null,
    person: filters.person || null,
    application: filters.application || null,
    from,
    until: until === null ? null : until + DAY_MS,
  }
}

/** The beginning of a day in UTC. Null when none was given, undefined when it is none. */
function readDay(text: string): number | null | undefined {
  if (text === '') return null
  const ms = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

function entryOf(line: AuditLine, scope: Scope): AuditEntry {
  const { id, at, kind, who, userId, applicationId, grantId, deviceCodeId, detail, position } = line
  return {
    id,
    at,
    kind,
    who,
    person: line.person ?? userId,
    application: line.application ?? applicationId,
    applicationId,
    account: scope === 'operator' ? line.account : null,
    grantId,
    deviceCodeId,
    detail,
    position,
  }
}
