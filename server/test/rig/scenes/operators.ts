/** The operators' account: proposals and confirmations, called as its pages call them. */
import { enablePerson, invitePerson, sendPersonLink, setPersonRoles } from '../../../src/flows/accounts/people.ts'
import {
  confirmOperatorChange,
  listOperatorChanges,
  rejectOperatorChange,
} from '../../../src/flows/operator/decide-change.ts'
import { findAccount } from '../../../src/store/accounts/accounts.ts'
import { listRoles } from '../../../src/store/accounts/roles.ts'
import { findUser } from '../../../src/store/accounts/users.ts'
import { type MadeUser, makeUser } from '../make.ts'
import type { TestService } from '../service.ts'

const ACCOUNT = 'operators'

let count = 0

export class Operators {
  readonly service: TestService
  readonly account: { readonly id: string; readonly slug: string }
  /** Ids. */
  readonly roles: { readonly administrator: string; readonly clerk: string }

  private constructor(service: TestService, id: string, roles: Operators['roles']) {
    this.service = service
    this.account = { id, slug: ACCOUNT }
    this.roles = roles
  }

  /** Of a service whose account `operators` exists. */
  static async of(service: TestService): Promise<Operators> {
    const { db } = service.context
    const account = await findAccount(db, ACCOUNT)
    if (!account) throw new Error('there is no account "operators"')
    await makeUser(db, ACCOUNT, { holds: [] })
    await letSignIn(service, account.id)
    const roles = await listRoles(db, account.id)
    const idOf = (administrator: boolean) =>
      roles.find(({ holdsEveryScope }) => holdsEveryScope === administrator)?.id ?? ''
    return new Operators(service, account.id, { administrator: idOf(true), clerk: idOf(false) })
  }

  /** As on the command line; can sign in. */
  async make(): Promise<MadeUser> {
    const user = await makeUser(this.service.context.db, ACCOUNT)
    await letSignIn(this.service, this.account.id)
    return user
  }

  makeClerk(): Promise<MadeUser> {
    return makeUser(this.service.context.db, ACCOUNT, { holds: [] })
  }

  async find(email: string): Promise<MadeUser> {
    const user = await findUser(this.service.context.db, this.account.id, email)
    if (!user) throw new Error(`there is no ${email}`)
    return user
  }

  /** Proposes a new operator and returns the address. */
  async propose(by: MadeUser): Promise<string> {
    count += 1
    const email = `operator${count}@operators.example`
    const person = { email, roleIds: [this.roles.administrator], language: 'en' }
    this.expectProposed(await invitePerson(this.service.context, by.id, person))
    return email
  }

  async invite(by: MadeUser, confirmer: MadeUser): Promise<MadeUser> {
    const email = await this.propose(by)
    await this.expectConfirmed(confirmer)
    return this.find(email)
  }

  async reset(user: MadeUser, by: MadeUser, confirmer: MadeUser): Promise<void> {
    this.expectProposed(await sendPersonLink(this.service.context, by.id, user.id, 'en'))
    await this.expectConfirmed(confirmer)
  }

  async enable(user: MadeUser, by: MadeUser, confirmer: MadeUser): Promise<void> {
    this.expectProposed(await enablePerson(this.service.context, by.id, user.id))
    await this.expectConfirmed(confirmer)
  }

  async promote(user: MadeUser, by: MadeUser, confirmer: MadeUser): Promise<void> {
    this.expectProposed(await setPersonRoles(this.service.context, by.id, user.id, [this.roles.administrator]))
    await this.expectConfirmed(confirmer)
  }

  pending(by: MadeUser) {
    return listOperatorChanges(this.service.context, by.id)
  }

  /** The outcome of each, or the reason why this operator may not confirm it. */
  async confirmAll(by: MadeUser): Promise<readonly string[]> {
    const outcomes: string[] = []
    for (const { id } of await this.pending(by)) {
      const result = await confirmOperatorChange(this.service.context, by.id, id)
      outcomes.push('problem' in result ? result.problem : result.outcome)
    }
    return outcomes
  }

  async rejectAll(by: MadeUser): Promise<readonly string[]> {
    const outcomes: string[] = []
    for (const { id } of await this.pending(by)) {
      outcomes.push((await rejectOperatorChange(this.service.context, by.id, id)).outcome)
    }
    return outcomes
  }

  private expectProposed({ outcome }: { readonly outcome: string }): void {
    if (outcome !== 'proposed') throw new Error(`expected a proposal, and it was ${outcome}`)
  }

  private async expectConfirmed(by: MadeUser): Promise<void> {
    const outcomes = await this.confirmAll(by)
    if (outcomes.join() !== 'confirmed') throw new Error(`expected one confirmation, and it was ${outcomes.join()}`)
  }
}

/** Otherwise none of them may be disabled: another administrator has to be able to sign in. */
async function letSignIn({ database }: TestService, accountId: string): Promise<void> {
  await database.query(
    "update users set password_digest = 'digest' where account_id = $1 and password_digest is null",
    [accountId],
  )
}
