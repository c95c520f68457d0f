/** Two operators who decide about applications: flows called as their console calls them. */
import { type DecisionWish, decideReview } from '../../../src/flows/reviews/decide.ts'
import { readReviewedApplication, type SeenApplication } from '../../../src/flows/reviews/list.ts'
import { type MadeApplication, type MadeUser, makeAccount, makeApplication, makeUser } from '../make.ts'
import { startTestService, type TestService } from '../service.ts'
import { advance, judgeNow, makeStrangers, type Stranger } from './fleet.ts'

export class Deciding {
  readonly service: TestService
  readonly operator: MadeUser
  readonly second: MadeUser
  readonly strangers: readonly Stranger[]
  application: MadeApplication

  private constructor(service: TestService, operators: readonly MadeUser[], strangers: readonly Stranger[]) {
    this.service = service
    this.operator = operators[0] as MadeUser
    this.second = operators[1] as MadeUser
    this.strangers = strangers
    this.application = service.application
  }

  static async start(): Promise<Deciding> {
    const service = await startTestService({ OPERATOR_ACCOUNT: 'operators' }, { clock: true })
    const { db } = service.context
    await makeAccount(db, { slug: 'operators' })
    const operators = [await makeUser(db, 'operators'), await makeUser(db, 'operators')]
    return new Deciding(service, operators, await makeStrangers(service, 4))
  }

  /** An application without evidence against it. */
  async takeAnother(): Promise<void> {
    const { context, config, account } = this.service
    this.application = await makeApplication(context.db, config, account.slug)
    await advance(this.service, 1)
  }

  async read(): Promise<SeenApplication> {
    const found = await readReviewedApplication(this.service.context, this.application.id)
    if (!found) throw new Error('there is no such application')
    return found
  }

  /** Based on the current state. */
  async wish(given: Partial<DecisionWish> = {}): Promise<DecisionWish> {
    const { seen } = await this.read()
    const said = { decision: 'keep', reason: 'broken_firmware', words: 'It polls each second.' } as const
    return { applicationId: this.application.id, seen, ...said, intervalSeconds: null, ...given }
  }

  async decide(given: Partial<DecisionWish> = {}, by = this.operator): Promise<string> {
    const { outcome } = await decideReview(this.service.context, by.id, await this.wish(given))
    await this.hear()
    return outcome
  }

  /** Users of four accounts report the application. */
  async report(): Promise<void> {
    for (const { account, id } of this.strangers) {
      await this.service.database.query(
        "insert into audit_events (at, kind, actor_kind, actor_id, via, account_id, user_id, application_id) values (now(), 'code.reported', 'service', 'test', 'job', $1, $2, $3)",
        [account.id, id, this.application.id],
      )
    }
    await judgeNow(this.service)
  }

  /** Pulls the changes that this process would pull within a second. */
  private async hear(): Promise<void> {
    await this.service.context.applications.refresh()
    await this.service.context.grantCache.pull()
  }
}
