/** Search of the operators' console: one text that names an account, a user, an application, a grant or a request. */

import { isGrantId } from '../../core/grants/grant.ts'
import type { OperatorGrantLine, PersonLine } from '../../core/operator/listed.ts'
import { findEveryGrant } from '../../store/operator/grants.ts'
import {
  type FoundAccount,
  type FoundApplication,
  findAccounts,
  findApplications,
  findPeople,
} from '../../store/operator/search.ts'
import { type AuditLine, EVERY_EVENT, readLines } from '../audit/read.ts'
import type { Context } from '../context.ts'

export type Findings = {
  readonly accounts: readonly FoundAccount[]
  readonly people: readonly PersonLine[]
  readonly applications: readonly FoundApplication[]
  readonly grants: readonly OperatorGrantLine[]
  /** Audit events of the request with this id. */
  readonly events: readonly AuditLine[]
}

const MAX_EVENTS = 10

export async function searchEverything({ db }: Pick<Context, 'db'>, text: string): Promise<Findings> {
  const page = { after: null, max: MAX_EVENTS, order: 'newest_first' } as const
  const [accounts, people, applications, grant, log] = await Promise.all([
    findAccounts(db, text),
    findPeople(db, text),
    findApplications(db, text),
    isGrantId(text) ? findEveryGrant(db, text) : null,
    readLines(db, { ...EVERY_EVENT, request: text }, page),
  ])
  return { accounts, people, applications, grants: grant ? [grant] : [], events: log.lines }
}
