/** Which users may sign in to an account, and what applies to them. */
import type { Config } from '../../config.ts'
import { allowedOrigins, appliesTo, type SignInPart, type SignInRule } from '../../core/sign-in/origin.ts'
import type { HostAccount } from '../../store/sign-in/sessions.ts'

/** The part of the context needed here; the command line has no full one. */
export type OriginSettings = { readonly config: Pick<Config, 'signInUrl' | 'operatorAccount'> }

export function ruleOf(
  { config }: OriginSettings,
  { slug, provider }: Pick<HostAccount, 'slug' | 'provider'>,
): SignInRule {
  return { operators: slug === config.operatorAccount, handOver: config.signInUrl !== null, provider }
}

/**
 * Whether Latchkey does this itself for some users of the account. An identity provider changes nothing about it: even
 * if it is required, some administrators sign in here.
 */
export function accountHas(context: OriginSettings, { slug }: Pick<HostAccount, 'slug'>, part: SignInPart): boolean {
  return allowedOrigins(ruleOf(context, { slug, provider: 'off' })).some((origin) => appliesTo(origin, part))
}

/** Whether users of the account's identity provider may sign in. */
export function hasProvider(context: OriginSettings, account: Pick<HostAccount, 'slug' | 'provider'>): boolean {
  return allowedOrigins(ruleOf(context, account)).includes('provider')
}
