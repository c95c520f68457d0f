/** The home page shows administrators what waits for them: suspended applications, failing webhooks, missing second factors. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { suspendApplication } from '../../../src/flows/applications/manage.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { type MadeUser, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { signInAs } from '../../rig/signed-in.ts'
import type { Web } from '../../rig/web.ts'
import { textOf } from '../../rig/web.ts'
import { makeEndpoint } from '../../rig/webhooks.ts'

const { t } = wordsFor('en')

let service: TestService
let web: Web
let clerk: MadeUser
beforeAll(async () => {
  service = await startTestService()
  clerk = await makeUser(service.context.db, service.account.slug, { holds: ['orders:read'] })
  web = await signInAs(service, service.user)
})
afterAll(() => service.stop())

const home = async (by: Web = web) => textOf((await by.get('/')).text)
const nameOf = async (id: string) => {
  const [row] = await service.database.query<{ name: string }>('select name from applications where id = $1', [id])
  return row?.name ?? ''
}

it('names applications that are suspended or warned, whose webhooks fail or need a secret, and declined changes', async () => {
  const { database, application, user, account, context } = service
  const name = await nameOf(application.id)
  const matters = ['suspended', 'warned', 'webhooks', 'webhook_secret', 'declined'] as const
  const shown = async () => {
    const text = await home()
    return matters.filter((matter) => text.includes(t(`attention.own_${matter}`, { name })))
  }
  expect(await shown()).toEqual([])

  const endpoint = await makeEndpoint(service, 'https://shop.example/hooks', {
    application,
    by: user,
    accountId: account.id,
  })
  await database.query(
    `insert into webhook_deliveries (endpoint_id, event_id, kind, data, created_at, due_at, attempts, tried_at, last_error)
     values ($1, gen_random_uuid(), 'grant.created', '{}', now(), now() + interval '1 hour', 3, now(), 'refused')`,
    [endpoint.id],
  )
  expect(await shown()).toEqual(['webhooks'])
  await database.query('update webhook_endpoints set key_id = 77')
  expect(await shown()).toEqual(['webhooks', 'webhook_secret'])
  await database.query('update webhook_endpoints set disabled_at = now(), disabled_reason = $1', ['gone'])
  expect(await shown()).toEqual([])

  await database.query(
    `insert into application_proposals (application_id, version, name, proposed_at, declined_at, declined_reason)
     values ($1, 1, 'New', now(), now(), 'No.')`,
    [application.id],
  )
  await database.query(
    `insert into reviews (id, application_id, opened_at, reason, verdict, harm, evidence, thresholds, judged_at, last_escalated_at, warned_at)
     values ('rev_000000000001', $1, now(), 'polling', 'warn', 1, '{}', '{}', now(), now(), now())`,
    [application.id],
  )
  expect(await shown()).toEqual(['warned', 'declined'])
  await suspendApplication(context.db, application.id, 'It polls too fast.')
  expect(await shown()).toEqual(['suspended', 'declined'])
})

it('counts users without the second factor that the account requires, or that administrators need', async () => {
  const { database, account } = service
  const says = (count: number) => t('attention.second_factor', { count })
  expect(await home(), 'nobody has used the invitation yet').not.toContain('second factor')
  await database.query("update users set password_digest = 'none'")
  expect(await home()).toContain(says(1))
  await database.query('update accounts set second_factor_required_at = now() where id = $1', [account.id])
  expect(await home()).toContain(says(2))
  await database.query(
    `insert into passkeys (id, user_id, public_key, counter, transports, name, created_at)
     select 'key' || id, id, '\\x00', 0, '{}', 'Phone', now() from users where id = any($1)`,
    [[clerk.id, service.user.id]],
  )
  expect(await home()).not.toContain('second factor')
})

it('says when fewer than two emergency administrators are left for a required identity provider', async () => {
  const { database, account, context, user } = service
  const second = await makeUser(context.db, account.slug)
  await database.query(
    `insert into identity_providers (account_id, state, issuer, client_id, client_secret, admission, break_glass)
     values ($1, 'required', 'https://login.acme.example', 'latchkey', '\\x00', 'invited', $2)`,
    [account.id, [user.id, second.id]],
  )
  const said = async () => (await home()).includes(t('attention.emergency_administrators'))
  expect(await said()).toBe(false)
  await database.query('delete from user_roles where user_id = $1', [second.id])
  expect(await said(), 'no longer an administrator').toBe(true)
  await database.query("update identity_providers set state = 'optional'")
  expect(await said(), 'nobody needs them').toBe(false)
})

it('shows other users nothing of it', async () => {
  const text = await home(await signInAs(service, clerk))
  expect(text).not.toContain(t('attention.title'))
  expect(await home()).toContain(t('attention.title'))
})
