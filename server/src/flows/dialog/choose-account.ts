/** Account chooser: finds the account that a user names. */
import { findAccount } from '../../store/accounts/accounts.ts'
import { accountOrigin } from '../accounts/address.ts'
import type { Context } from '../context.ts'
import { mayAppear } from '../sign-in/hand-over.ts'

export type ChosenAccount = {
  readonly slug: string
  readonly origin: string
  /** False: it may appear on first use, if the host service has it. */
  readonly exists: boolean
}

/**
 * `typed` is the account name alone or its whole URL. Null if there is no such account and none can appear on first use.
 */
export async function chooseAccount(context: Context, typed: string): Promise<ChosenAccount | null> {
  const slug = slugIn(typed, new URL(context.config.publicUrl).host)
  if (slug === null) return null
  const exists = (await findAccount(context.db, slug)) !== null
  return exists || mayAppear(context, slug) ? { slug, origin: accountOrigin(context, slug), exists } : null
}

function slugIn(typed: string, host: string): string | null {
  const address = typed
    .trim()
    .toLowerCase()
    .replace(/^https?:\/\//, '')
  const [plain = ''] = address.split('/', 1)
  const slug = plain.endsWith(`.${host}`) ? plain.slice(0, -host.length - 1) : plain
  return /^[a-z0-9-]{1,63}$/.test(slug) ? slug : null
}
