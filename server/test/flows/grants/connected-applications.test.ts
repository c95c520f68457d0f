/** Connected applications: what users see of their grants, and how they revoke them. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { saveRole } from '../../../src/flows/accounts/roles.ts'
import { setApplicationPublisher, suspendApplication } from '../../../src/flows/applications/manage.ts'
import {
  type ConnectedApplication,
  countOwnGrants,
  listAccountGrants,
  listOwnGrants,
  readGrant,
  removeGrant,
} from '../../../src/flows/grants/connected-applications.ts'
import { createKey } from '../../../src/secrets/keyset.ts'
import { askMe, connect, grant } from '../../rig/connect.ts'
import { type MadeUser, makeApplication, makeConfig, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

const from = (after: string | null) => ({ search: '', sort: 'connected', descending: true, after }) as const

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

const makeClerk = () => makeUser(service.context.db, service.account.slug, { holds: ['orders:read', 'orders:write'] })
const own = async (user: MadeUser) => (await listOwnGrants(service.context, user.id)).grants
const ids = (grants: readonly ConnectedApplication[]) => grants.map((each) => each.id)
const eventsOf = (grantId: string) =>
  service.database.query<{ kind: string; by: string; user_id: string; application_id: string; detail: object }>(
    `select kind, actor_id as by, user_id, application_id, detail from audit_events
     where grant_id = $1 and kind in ('grant.revoked', 'application.reported') order by id`,
    [grantId],
  )

describe('the list', () => {
  it('has one entry per grant, the newest first, with the application, its scopes and dates', async () => {
    const clerk = await makeClerk()
    const application = await makeApplication(service.context.db, service.config, service.account.slug, {
      name: 'Till',
    })
    await setApplicationPublisher(service.context.db, application.id, { status: 'verified', name: 'acme.example' })
    await service.context.applications.refresh()
    const first = await connect(service, { user: clerk, application, scope: 'orders:write,orders:read' })
    const second = await grant(service, { user: clerk, application, variant: 'key', scope: 'orders:read' })
    await service.database.query("update grants set requested_from = '2001:db8::7' where id = $1", [first.grantId])
    await askMe(service, first.credential)
    await service.context.grantCache.saveUses()

    const [newest, oldest] = await own(clerk)
    expect(newest).toMatchObject({ id: second.grantId, variant: 'access_key', issuedAt: null, lastUsedOn: null })
    expect(oldest).toMatchObject({
      id: first.grantId,
      application: { name: 'Till', publisher: { status: 'verified', name: 'acme.example' }, suspended: false },
      email: clerk.email,
      variant: 'token_set',
      keyEnding: null,
      requestedFrom: '2001:db8::7',
    })
    expect(oldest?.can).toEqual([
      { name: 'orders:write', title: 'May orders:write', dangerous: false, deviceFlow: true },
      { name: 'orders:read', title: 'May orders:read', dangerous: false, deviceFlow: true },
    ])
    const today = Date.now()
    expect(Math.abs(today - (oldest?.createdAt ?? 0))).toBeLessThan(60_000)
    expect(oldest?.issuedAt).toBeGreaterThanOrEqual(oldest?.createdAt ?? Number.POSITIVE_INFINITY)
    expect((oldest?.lastUsedOn ?? 1) % 86_400_000).toBe(0)
    expect(today - (oldest?.lastUsedOn ?? 0)).toBeLessThan(86_400_000 + 60_000)
    expect(await countOwnGrants(service.context, clerk.id)).toBe(2)
  })

  it('distinguishes access keys by their last characters, as long as their signing key exists', async () => {
    const clerk = await makeClerk()
    const key = await connect(service, { user: clerk, variant: 'key' })
    expect((await own(clerk))[0]?.keyEnding).toBe(key.credential.slice(-4))
    const without = makeConfig({ DATABASE_URL: service.database.url, LATCHKEY_KEYS: createKey(2) })
    const { grants } = await listOwnGrants({ ...service.context, config: without }, clerk.id)
    expect([ids(grants), grants[0]?.keyEnding]).toEqual([[key.grantId], null])
  })

  it('shows the scopes in effect now, not those of the grant, and marks a suspended application', async () => {
    const clerk = await makeClerk()
    const application = await makeApplication(service.context.db, service.config, service.account.slug)
    await service.context.applications.refresh()
    await connect(service, { user: clerk, application })
    const [role] = await service.database.query<{ id: string }>(
      'select role_id as id from user_roles where user_id = $1',
      [clerk.id],
    )
    await saveRole(service.context, service.user.id, {
      id: role?.id ?? '',
      name: `less ${clerk.id}`,
      scopes: ['orders:write'],
    })
    await suspendApplication(service.context.db, application.id, 'test')
    const [listed] = await own(clerk)
    expect(listed?.scopes).toEqual(['orders:read', 'orders:write'])
    expect(listed?.can.map((scope) => scope.name)).toEqual(['orders:write'])
    expect(listed?.application.suspended).toBe(true)
  })

  it('has the user’s own grants; for administrators those of all users, 25 per page', async () => {
    const [clerk, colleague] = [await makeClerk(), await makeClerk()]
    const { grantId } = await grant(service, { user: clerk })
    const { grantId: other } = await grant(service, { user: colleague })
    expect([ids(await own(clerk)), ids(await own(colleague))]).toEqual([[grantId], [other]])

    await service.database.query(
      `insert into grants (id, secret, account_id, user_id, application_id, variant, scopes, device_code_id, key_id, created_at)
       select 'grt_' || left(md5(gen_random_uuid()::text), 20), gen_random_uuid(), account_id, user_id, application_id, variant, scopes, gen_random_uuid(), key_id,
         -- Several in one moment, and moments finer than a millisecond: neither may be skipped or shown twice.
         created_at + (n / 3) * interval '1 microsecond'
       from grants, generate_series(1, 120) n where id = $1`,
      [grantId],
    )
    const seen: string[] = []
    const sizes: number[] = []
    let after: string | null = null
    do {
      const page = await listAccountGrants(service.context, service.account.id, from(after))
      seen.push(...ids(page.grants))
      sizes.push(page.grants.length)
      after = page.after
    } while (after !== null)
    const rows = await service.database.query<{ id: string }>(
      'select id from grants where account_id = $1 and revoked_at is null order by created_at desc, id desc',
      [service.account.id],
    )
    expect(seen).toEqual(rows.map((row) => row.id))
    expect(sizes.slice(0, -1)).toEqual(sizes.slice(0, -1).map(() => 25))
    const first = await listOwnGrants(service.context, clerk.id)
    expect(first.grants).toHaveLength(25)
    const second = await listOwnGrants(service.context, clerk.id, first.after)
    expect(new Set([...ids(first.grants), ...ids(second.grants)]).size).toBe(50)
  })

  it('has an uncollected grant for as long as it can be collected', async () => {
    const clerk = await makeClerk()
    const [collected, waiting] = [await connect(service, { user: clerk }), await grant(service, { user: clerk })]
    const short = makeConfig({ DATABASE_URL: service.database.url, REFRESH_TOKEN_LIFETIME: '86400' })
    const listed = async () => ids((await listOwnGrants({ ...service.context, config: short }, clerk.id)).grants)
    expect(await listed()).toEqual([waiting.grantId, collected.grantId])
    await service.database.query(
      `update grants set created_at = created_at - interval '25 hours', issued_at = issued_at - interval '25 hours'
       where user_id = $1`,
      [clerk.id],
    )
    expect(await listed()).toEqual([waiting.grantId])
  })

  it('starts from the beginning for an invalid cursor, and shows nothing for another account’s', async () => {
    const { grants } = await listAccountGrants(service.context, service.account.id, from("x' or 1=1"))
    expect(grants.length).toBeGreaterThan(0)
    const [foreign] = ids(grants)
    expect(await listAccountGrants(service.context, 'acc_000000000000', from(foreign ?? ''))).toEqual({
      grants: [],
      after: null,
    })
  })
})

describe('removing', () => {
  const remove = (by: MadeUser, grantId: string, given: { asAdministrator?: boolean; reported?: boolean } = {}) =>
    removeGrant(service.context, { by: by.id, grantId, asAdministrator: false, reported: false, ...given })

  it('revokes the grant and its credentials, takes it off the list, and is recorded', async () => {
    const clerk = await makeClerk()
    const { grantId, credential } = await connect(service, { user: clerk })
    expect(await remove(clerk, grantId)).toEqual({ outcome: 'removed', applicationId: service.application.id })
    expect((await askMe(service, credential)).status).toBe(401)
    expect(await own(clerk)).toEqual([])
    expect(await eventsOf(grantId)).toEqual([
      {
        kind: 'grant.revoked',
        user_id: clerk.id,
        application_id: service.application.id,
        by: clerk.id,
        detail: { reason: 'removed_by_user' },
      },
    ])
    expect(await remove(clerk, grantId)).toEqual({ outcome: 'not_found' })
    expect(await eventsOf(grantId)).toHaveLength(1)
  })

  it('by an administrator is recorded as such, with the user concerned; a report is recorded as well', async () => {
    const clerk = await makeClerk()
    const { grantId } = await connect(service, { user: clerk })
    const result = await remove(service.user, grantId, { asAdministrator: true, reported: true })
    expect(result.outcome).toBe('removed')
    const by = service.user.id
    expect(await eventsOf(grantId)).toMatchObject([
      { kind: 'grant.revoked', user_id: clerk.id, by, detail: { reason: 'removed_by_administrator' } },
      { kind: 'application.reported', user_id: clerk.id, application_id: service.application.id, by },
    ])
    const [row] = await service.database.query('select revocation_reason from grants where id = $1', [grantId])
    expect(row).toEqual({ revocation_reason: 'removed_by_administrator' })
  })

  it('is allowed to its own user and to administrators who act as such', async () => {
    const [clerk, colleague] = [await makeClerk(), await makeClerk()]
    const { grantId } = await connect(service, { user: clerk })
    const refused = [
      await remove(colleague, grantId),
      await remove(colleague, grantId, { asAdministrator: true }),
      await remove(clerk, grantId, { asAdministrator: true }),
      await remove(service.user, grantId),
    ]
    expect(refused).toEqual(refused.map(() => ({ outcome: 'not_found' })))
    for (const [by, asAdministrator, shown] of [
      [colleague, false, false],
      [colleague, true, false],
      [service.user, false, false],
      [service.user, true, true],
      [clerk, false, true],
    ] as const) {
      const found = await readGrant(service.context, { by: by.id, grantId, asAdministrator })
      expect(found?.id ?? null).toBe(shown ? grantId : null)
    }
    expect(ids(await own(clerk))).toEqual([grantId])
  })

  it('is refused for a disabled user and for an unknown grant', async () => {
    const clerk = await makeClerk()
    const { grantId } = await connect(service, { user: clerk })
    for (const text of [
      '',
      'x',
      grantId.toUpperCase(),
      '00000000-0000-4000-8000-000000000000',
      'grt_00000000000000000000',
    ]) {
      expect(await remove(clerk, text)).toEqual({ outcome: 'not_found' })
      expect(await readGrant(service.context, { by: clerk.id, grantId: text, asAdministrator: false })).toBeNull()
    }
    await service.database.query('update users set disabled_at = now() where id = $1', [clerk.id])
    expect(await remove(clerk, grantId)).toEqual({ outcome: 'not_found' })
    expect(await readGrant(service.context, { by: clerk.id, grantId, asAdministrator: false })).toBeNull()
  })

  it('is done and recorded once by ten at the same moment', async () => {
    const clerk = await makeClerk()
    const { grantId } = await connect(service, { user: clerk })
    const removals: ReturnType<typeof remove>[] = []
    // All of them wait for the row's lock.
    await service.context.db.transaction(async (tx) => {
      await tx.query('select from grants where id = $1 for update', [grantId])
      for (let each = 0; each < 10; each += 1) removals.push(remove(clerk, grantId))
      await sleep(300)
    })
    const outcomes = await Promise.all(removals)
    expect(outcomes.filter(({ outcome }) => outcome === 'removed')).toHaveLength(1)
    expect(await eventsOf(grantId)).toHaveLength(1)
  })
})
