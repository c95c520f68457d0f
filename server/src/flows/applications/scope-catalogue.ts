/** Scope catalogue, managed by operators. Scopes are immutable; only their titles can be corrected. */

import { isName } from '../../core/applications/name.ts'
import { byOperator } from '../../core/audit/actor.ts'
import { isScopeName } from '../../core/grants/scope.ts'
import { insertScope, type Scope, saveTitle } from '../../store/applications/scopes.ts'
import { type AuditEvent, recordEvent } from '../../store/audit/events.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import type { Forbidden } from '../accounts/administrator.ts'
import type { Context } from '../context.ts'
import { asOperator } from '../operator/operator.ts'

export type ScopeAdded = { readonly outcome: 'added' | 'name' | 'title' | 'exists' }

export function addScope(context: Context, by: string, scope: Scope): Promise<ScopeAdded | Forbidden> {
  const { name, title, dangerous, deviceFlow } = scope
  return asOperator<ScopeAdded>(context, by, async (tx, operator, account) => {
    if (!isScopeName(name)) return { outcome: 'name' }
    if (!isName(title)) return { outcome: 'title' }
    if (!(await insertScope(tx, scope))) return { outcome: 'exists' }
    const detail = { scope: name, dangerous, deviceFlow }
    await recordEvent(tx, { kind: 'scope.created', actor: byOperator(operator.id), accountId: account.id, detail })
    return { outcome: 'added' }
  })
}

export type ScopeTitled = { readonly outcome: 'saved' | 'title' | 'not_found' }

export function changeScopeTitle(
  context: Context,
  by: string,
  name: string,
  title: string,
): Promise<ScopeTitled | Forbidden> {
  return asOperator<ScopeTitled>(context, by, (tx, operator, account) =>
    setScopeTitle(tx, { actor: byOperator(operator.id), accountId: account.id }, name, title),
  )
}

export async function setScopeTitle(
  tx: Transaction,
  about: Pick<AuditEvent, 'actor' | 'accountId'>,
  name: string,
  title: string,
): Promise<ScopeTitled> {
  if (!isName(title)) return { outcome: 'title' }
  if (!(await saveTitle(tx, name, title))) return { outcome: 'not_found' }
  await recordEvent(tx, { kind: 'scope.changed', ...about, detail: { scope: name, title } })
  return { outcome: 'saved' }
}
