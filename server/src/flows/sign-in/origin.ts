/** The origin of users who may sign in to an account, and what applies to them. */
import type { Config } from '../../config.ts'
import { allowedOrigin, appliesTo, type Origin, type SignInPart } from '../../core/sign-in/origin.ts'
import type { HostAccount } from '../../store/sign-in/sessions.ts'

/** The part of the context needed here; the command line has no full one. */
export type OriginSettings = { readonly config: Pick<Config, 'signInUrl' | 'operatorAccount'> }

export function originOf({ config }: OriginSettings, { slug }: Pick<HostAccount, 'slug'>): Origin {
  return allowedOrigin({ operators: slug === config.operatorAccount }, config.signInUrl !== null)
}

/** Whether Latchkey does this itself for the users of the account. */
export function accountHas(context: OriginSettings, account: Pick<HostAccount, 'slug'>, part: SignInPart): boolean {
  return appliesTo(originOf(context, account), part)
}
