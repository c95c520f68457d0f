/** Suspension rule: who changes it, within which limits, and who learns of it. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { defaultThresholds } from '../../../src/core/reviews/suspension.ts'
import { changeRule } from '../../../src/flows/reviews/rule.ts'
import { readRule } from '../../../src/store/reviews/rules.ts'
import { type MadeUser, makeAccount, makeUser } from '../../rig/make.ts'
import { type Mailbox, startMailbox } from '../../rig/network/mailbox.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

let service: TestService
let mailbox: Mailbox
let operator: MadeUser
beforeAll(async () => {
  mailbox = await startMailbox()
  service = await startTestService({ OPERATOR_ACCOUNT: 'operators', SMTP_URL: mailbox.url })
  await makeAccount(service.context.db, { slug: 'operators' })
  operator = await makeUser(service.context.db, 'operators')
})
afterAll(async () => {
  await service.stop()
  await mailbox.stop()
})
beforeEach(() => service.database.query('delete from suspension_rules'))

describe('the rule', () => {
  it('is changed by operators only, within its limits, and every version is kept', async () => {
    expect(await readRule(service.context.db)).toMatchObject({ version: 0, thresholds: defaultThresholds, by: null })
    const stricter = { ...defaultThresholds, accounts: 10 }
    expect(await changeRule(service.context, service.user.id, stricter, false)).toEqual({ outcome: 'forbidden' })
    expect(await changeRule(service.context, operator.id, { ...stricter, networks: 1 }, false)).toEqual({
      outcome: 'unfit',
      field: 'networks',
    })
    expect(await changeRule(service.context, operator.id, stricter, true)).toEqual({ outcome: 'changed' })
    expect(await readRule(service.context.db)).toMatchObject({ thresholds: stricter, dryRun: true, by: operator.email })
    expect(await changeRule(service.context, operator.id, defaultThresholds, false)).toEqual({ outcome: 'changed' })
    const rows = await service.database.query('select dry_run from suspension_rules order by version')
    expect(rows).toEqual([{ dry_run: true }, { dry_run: false }])
  })

  it('is not changed unnoticed: every other operator gets a mail', async () => {
    const other = await makeUser(service.context.db, 'operators')
    expect(await changeRule(service.context, operator.id, { ...defaultThresholds, reports: 2 }, false)).toEqual({
      outcome: 'changed',
    })
    const { version } = await readRule(service.context.db)
    const mails = await service.database.query(
      "select user_id, detail from mails where kind = 'rule_changed' order by id desc limit 1",
    )
    expect(mails).toEqual([{ user_id: other.id, detail: { by: operator.email, version } }])
    const { text } = await mailbox.waitFor(({ to, subject }) => to === other.email && subject.includes(String(version)))
    expect(text).toContain(operator.email)
    expect(text).toContain('/operator/rule')
    const own = "select from mails where kind = 'rule_changed' and user_id = $1"
    expect(await service.database.query(own, [operator.id])).toEqual([])
  })
})
