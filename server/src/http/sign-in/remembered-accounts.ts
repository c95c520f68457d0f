/** Cookie of the accounts chosen before in this browser: only slugs, which are public addresses and prove nothing. */
import { accountOrigin } from '../../flows/accounts/address.ts'
import type { Context } from '../../flows/context.ts'
import type { BaseRequest } from '../web/answer.ts'
import { setCookie } from '../web/cookies.ts'

const ACCOUNTS = '__Host-accounts'

const MAX_REMEMBERED = 5
const YEAR_SECONDS = 365 * 24 * 60 * 60

/** Most recent first. */
export function rememberedAccounts(context: Context, request: BaseRequest): { slug: string; host: string }[] {
  return readSlugs(request).map((slug) => ({ slug, host: new URL(accountOrigin(context, slug)).host }))
}

export function rememberAccount(request: BaseRequest, slug: string): string {
  const slugs = [slug, ...readSlugs(request).filter((each) => each !== slug)].slice(0, MAX_REMEMBERED)
  return setCookie(ACCOUNTS, slugs.join('.'), YEAR_SECONDS)
}

function readSlugs(request: BaseRequest): string[] {
  const slugs = (request.cookie(ACCOUNTS) ?? '').split('.').filter((slug) => /^[a-z0-9-]{1,63}$/.test(slug))
  return slugs.slice(0, MAX_REMEMBERED)
}
