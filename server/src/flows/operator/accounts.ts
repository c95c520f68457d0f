/** Search over all accounts and applications, for operators. The route has checked that the caller is an operator. */

import { listOwnApplications, type OwnApplicationLine } from '../../store/applications/own.ts'
import {
  type AccountLine,
  type AccountView,
  type ApplicationLine,
  findApplications,
  type Listed,
  listAccounts,
  viewAccount,
} from '../../store/operator/accounts.ts'
import type { Context } from '../context.ts'

export function listEveryAccount(context: Context, search: string, after: string | null): Promise<Listed<AccountLine>> {
  return listAccounts(context.db, search, after)
}

export type SeenAccount = AccountView & { readonly ownApplications: readonly OwnApplicationLine[] }

export async function readEveryAccount(context: Context, slug: string): Promise<SeenAccount | null> {
  const account = await viewAccount(context.db, slug)
  return account && { ...account, ownApplications: await listOwnApplications(context.db, account.id) }
}

export function findEveryApplication(
  context: Context,
  search: string,
  after: string | null,
): Promise<Listed<ApplicationLine>> {
  return findApplications(context.db, search, after)
}
