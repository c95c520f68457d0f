/** Search over all accounts and applications, for operators. The route has checked that the caller is an operator. */

import { listOwnApplications, type OwnApplicationLine } from '../../store/applications/own.ts'
import { type AccountView, viewAccount } from '../../store/operator/accounts.ts'
import type { Context } from '../context.ts'

export type SeenAccount = AccountView & { readonly ownApplications: readonly OwnApplicationLine[] }

export async function readEveryAccount(context: Context, slug: string): Promise<SeenAccount | null> {
  const account = await viewAccount(context.db, slug)
  return account && { ...account, ownApplications: await listOwnApplications(context.db, account.id) }
}
