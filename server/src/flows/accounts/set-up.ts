/** Set-up links: an operator creates a one-time link, never a password, for a user who cannot sign in yet. */
import type { Config } from '../../config.ts'
import { BY_COMMAND_LINE } from '../../core/audit/actor.ts'
import { Refusal } from '../../core/refusal.ts'
import { originOfNewUsers } from '../../core/sign-in/origin.ts'
import { findAccount } from '../../store/accounts/accounts.ts'
import { findUser, lockUserForChange } from '../../store/accounts/users.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { saveAccessGivers } from '../../store/operator/operators.ts'
import type { Postgres, Transaction } from '../../store/postgres/postgres.ts'
import { joining } from '../manage/change.ts'
import { createManagedUser } from '../manage/users.ts'
import { noteOperatorChange } from '../operator/by-command-line.ts'
import { hasOperators } from '../operator/operator.ts'
import { linkAddress } from '../sign-in/links.ts'
import { createLink } from '../sign-in/mailed-link.ts'
import { accountHas } from '../sign-in/origin.ts'
import { resetUser } from '../sign-in/reset-user.ts'
import { COMMAND_LINE_CALLER } from './administrator.ts'
import { addAccount, done, type NewAccount, type Registered, refused } from './register.ts'

type Addressing = Pick<Config, 'keys' | 'publicUrl' | 'operatorAccount' | 'signInUrl'>

type WantedLink = { readonly account: string; readonly email: string; readonly reset: boolean }

/** `reset`: first removes password, passkeys and second factor, and ends every session and every older link. */
export function createSetupLink(
  db: Postgres,
  config: Addressing,
  given: WantedLink,
): Promise<Registered<{ readonly address: string }>> {
  return db.transaction((tx) => addSetupLink(tx, config, given))
}

async function addSetupLink(
  tx: Transaction,
  config: Addressing,
  given: WantedLink,
): Promise<Registered<{ readonly address: string }>> {
  const account = await findAccount(tx, given.account)
  if (!account) return refused(`There is no account "${given.account}".`)
  const known = await findUser(tx, account.id, given.email)
  const user = known && (await lockUserForChange(tx, known.id))
  if (!user) return refused(`The account "${given.account}" has no user ${given.email}.`)
  if (user.disabled) return refused(`${user.email} is disabled.`)
  const operators = hasOperators(config, account)
  const handedOver = originOfNewUsers({ operators, handOver: config.signInUrl !== null }) === 'host'
  if (handedOver || user.origin === 'host')
    return refused(`${user.email} has no password here: users of "${given.account}" sign in at ${config.signInUrl}.`)
  if (user.origin === 'provider' && !given.reset)
    return refused(`${user.email} signs in at the account's identity provider. --reset ends that.`)
  const about = { actor: BY_COMMAND_LINE, accountId: account.id, userId: user.id }
  if (given.reset) {
    await saveAccessGivers(tx, user.id, 'reset', [])
    await resetUser(tx, BY_COMMAND_LINE, user.id)
    await recordEvent(tx, { kind: 'user.reset', ...about })
  }
  const link = await createLink(tx, 'setup', user)
  await recordEvent(tx, { kind: 'user.link_created', ...about })
  await noteOperatorChange(tx, config, { actor: BY_COMMAND_LINE, account, change: 'reset', user })
  return done({ address: linkAddress({ config }, account.slug, link) })
}

export type SetUpAccount = { readonly id: string; readonly userId: string; readonly address: string }

/** Creates an account, its first administrator and their set-up link in one transaction. */
export async function setUpAccount(
  db: Postgres,
  config: Addressing,
  given: NewAccount & { readonly administrator: string },
): Promise<Registered<SetUpAccount>> {
  const { slug, name, administrator: email } = given
  if (!accountHas({ config }, given, 'invitation'))
    return refused(`Administrators sign in at ${config.signInUrl}, which says who they are: leave out --administrator.`)
  const first = { email, name: null, externalId: null, permissions: [], invite: false }
  try {
    return await db.transaction(async (tx) => {
      const { id, administrators } = need(await addAccount(tx, { slug, name }, BY_COMMAND_LINE))
      const by = { ...COMMAND_LINE_CALLER, accountId: id }
      const user = await createManagedUser(joining({ db, config }, tx), by, { ...first, roleIds: [administrators] })
      if (user.outcome !== 'created') throw new Refusal('invalid_request', `"${email}" is not an e-mail address.`)
      // The new operator has been recorded with the user.
      const unnoted = { ...config, operatorAccount: null }
      const { address } = need(await addSetupLink(tx, unnoted, { account: slug, email, reset: false }))
      return done({ id, userId: user.userId, address })
    })
  } catch (error) {
    if (error instanceof Refusal) return refused(error.message)
    throw error
  }
}

/** A Refusal rolls the transaction back. */
function need<T>(result: Registered<T>): T {
  if (result.outcome === 'refused') throw new Refusal('invalid_request', result.reason)
  return result.value
}
