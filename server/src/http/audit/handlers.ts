/** Audit log, as a page and as a download: an account's own for its administrators, all accounts' for operators. */
import type { AuditEntry } from '../../core/audit/entry.ts'
import { isAuditGroup, kindsIn } from '../../core/audit/kind.ts'
import { accountOrigin } from '../../flows/accounts/address.ts'
import { downloadAudit, isExportFormat, MAX_ROWS } from '../../flows/audit/export.ts'
import { type AuditLine, type AuditWish, DAY_MS, readAudit, readDay } from '../../flows/audit/read.ts'
import { type AuditFilters, type AuditModel, auditHref, auditPage } from '../../pages/audit/audit.tsx'
import type { FormFields } from '../parameters.ts'
import type { PageHandler, UserRequest } from '../web/answer.ts'

/** `account`: the log of the account on whose host the page is. `operator`: that of all accounts. */
type Scope = 'account' | 'operator'

const BASES = { account: '/account/audit', operator: '/operator/audit' } as const

/** Spreadsheets recognize a CSV file as UTF-8 by its byte order mark. */
const BYTE_ORDER_MARK = '\ufeff'

export function showAudit(scope: Scope): PageHandler<UserRequest> {
  return async (context, request) => {
    const { fields, frame, now } = request
    const filters = readFilters(scope, fields)
    const wish = wishFor(scope, request, filters)
    const continued = fields.get('after') || null
    const weekFrom = new Date(now - 6 * DAY_MS).toISOString().slice(0, 10)
    const base = { base: BASES[scope], filters, weekFrom, max: MAX_ROWS }
    if ('problems' in wish) {
      const nothing = { entries: [], continued: null, after: null, sealed: null }
      return { page: auditPage(frame, { ...base, ...nothing, problems: wish.problems }), status: 400 }
    }
    const { lines, after, sealed } = await readAudit(context, wish, continued)
    const entries = lines.map((line) => entryOf(line, scope))
    return { page: auditPage(frame, { ...base, problems: [], entries, continued, after, sealed }) }
  }
}

/** A POST, because the export itself is recorded in the audit log. */
export function exportAudit(scope: Scope): PageHandler<UserRequest> {
  return async (context, request) => {
    const { fields, sessionUser, account, now } = request
    const filters = readFilters(scope, fields)
    const wish = wishFor(scope, request, filters)
    const format = fields.get('format') ?? ''
    if ('problems' in wish || !isExportFormat(format)) return { refusal: 'invalid_request' }
    const file = await downloadAudit(context, sessionUser.id, wish, {
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

function readFilters(scope: Scope, fields: FormFields): AuditFilters {
  const typed = (name: string) => (fields.get(name) ?? '').trim()
  const kind = typed('kind')
  return {
    kind: isAuditGroup(kind) ? kind : '',
    person: typed('person'),
    application: typed('application'),
    request: typed('request'),
    from: typed('from'),
    until: typed('until'),
    account: scope === 'operator' ? typed('account') : null,
  }
}

function wishFor(
  scope: Scope,
  { account }: UserRequest,
  filters: AuditFilters,
): AuditWish | { readonly problems: AuditModel['problems'] } {
  const [from, until] = [readDay(filters.from), readDay(filters.until)]
  const problems = (['from', 'until'] as const).filter(
    (name) => filters[name] !== '' && readDay(filters[name]) === null,
  )
  if (problems.length > 0) return { problems }
  return {
    accountId: scope === 'account' ? account.id : null,
    account: filters.account || null,
    kinds: isAuditGroup(filters.kind) ? kindsIn(filters.kind) : null,
    person: filters.person || null,
    application: filters.application || null,
    request: filters.request || null,
    from,
    until: until === null ? null : until + DAY_MS,
  }
}

export function entryOf(line: AuditLine, scope: Scope): AuditEntry {
  const { id, at, kind, who, userId, applicationId, grantId, deviceCodeId, detail, requestId, position } = line
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
    requestId,
    position,
  }
}
