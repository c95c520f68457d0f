/** An invitation carries no sentence and no link of the account that sends it. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { saveBranding } from '../../../src/flows/accounts/branding.ts'
import { invitePerson } from '../../../src/flows/accounts/people.ts'
import { sendDueMails } from '../../../src/flows/send-mails.ts'
import { createAccount } from '../../rig/create.ts'
import { type Mailbox, startMailbox } from '../../rig/network/mailbox.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

const SENTENCE = 'URGENT: your bank account is locked, unlock at https://evil.example/unlock now'

let service: TestService
let mailbox: Mailbox
beforeAll(async () => {
  mailbox = await startMailbox()
  service = await startTestService({ SMTP_URL: mailbox.url }, { listen: false })
})
afterAll(async () => {
  await service.stop()
  await mailbox.stop()
})

it('an account is neither created nor renamed with an address in its name', async () => {
  const { context, user } = service
  expect(await saveBranding(context, user.id, { name: SENTENCE, colour: null, logo: null })).toEqual({
    outcome: 'name',
  })
  expect(await createAccount(context.db, { slug: 'urgent', name: SENTENCE })).toMatchObject({ outcome: 'refused' })
})

it('an invitation names the account by its host, whatever its name is', async () => {
  const { context, user, account, database } = service
  await database.query('update accounts set name = $2 where id = $1', [account.id, SENTENCE])
  const stranger = { email: 'stranger@elsewhere.example', roleIds: [] as string[], language: 'en' }
  const roles = await database.query<{ id: string }>('select id from roles where account_id = $1', [account.id])
  await invitePerson(context, user.id, { ...stranger, roleIds: roles.map(({ id }) => id) })
  await sendDueMails(context)
  const mail = mailbox.mails.find(({ to }) => to === stranger.email)
  expect(mail?.subject).toMatch(new RegExp(`^You have been invited to ${account.slug}\\.[a-z.:0-9]+$`))
  expect(JSON.stringify(mail)).not.toMatch(/URGENT|evil/)
})
