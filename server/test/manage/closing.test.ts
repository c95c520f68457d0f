/** docs/management.md, "Closing an account". */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { byManagementKey } from '../../src/core/audit/actor.ts'
import { COMMAND_LINE_CALLER } from '../../src/flows/accounts/administrator.ts'
import { closeAccount, eraseClosedAccounts, eraseSome } from '../../src/flows/accounts/close.ts'
import { exportAudit } from '../../src/flows/audit/export.ts'
import { EVERY_EVENT } from '../../src/flows/audit/read.ts'
import { verifyAudit } from '../../src/flows/audit/verify.ts'
import { lockAccount } from '../../src/store/accounts/accounts.ts'
import { markClosed } from '../../src/store/accounts/closing.ts'
import { askMe, connect } from '../rig/connect.ts'
import { type MadeUser, makeAccount, makeApplication, makeUser } from '../rig/make.ts'
import { type ManageClient, makeManagedAccount, makeManagementKey, manageClient } from '../rig/manage.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { signInAs, startSession } from '../rig/signed-in.ts'

const MAX_MS = 2_000
const BOTH = ['orders:read', 'orders:write']

let service: TestService
let call: ManageClient
let managementKeyId: string
beforeAll(async () => {
  service = await startTestService({ OPERATOR_ACCOUNT: 'operators' })
  const key = await makeManagementKey(service)
  managementKeyId = key.id
  call = manageClient(service.address, key.key)
})
afterAll(() => service.stop())

/** Milliseconds until the credential is refused. */
async function refusedAfter(credential: string): Promise<number> {
  const begun = performance.now()
  while ((await askMe(service, credential)).status === 200) await sleep(20)
  return performance.now() - begun
}

const count = async ({ database }: TestService, text: string, values: readonly unknown[]) =>
  (await database.query<{ n: number }>(`select count(*)::int as n from ${text}`, [...values]))[0]?.n

describe('from the first moment', () => {
  it('the account is unknown, and within two seconds none of its credentials and applications works', async () => {
    const account = await makeManagedAccount(call)
    const { id, slug } = account
    const user = await makeUser(service.context.db, slug, { holds: BOTH })
    const application = await makeApplication(service.context.db, service.config, slug)
    await service.context.applications.refresh()
    const own = manageClient(service.address, (await makeManagementKey(service, { account: slug })).key)
    const web = await signInAs(service, user, { account })
    expect((await web.get('/applications')).status).toBe(200)
    const elsewhere = (await connect(service, { user })).credential
    const toOwn = (await connect(service, { application })).credential
    for (const credential of [elsewhere, toOwn]) expect((await askMe(service, credential)).status).toBe(200)

    expect((await own('DELETE', `/accounts/${id}`)).body).toMatchObject({ error: 'insufficient_scope' })
    expect((await call('DELETE', `/accounts/${id}`, undefined, { 'if-match': '"old"' })).status).toBe(412)
    expect((await call('DELETE', `/accounts/${id}?dry_run=true`)).status).toBe(204)
    expect((await call('GET', `/accounts/${id}`)).status).toBe(200)
    expect((await call('DELETE', `/accounts/${slug}`)).status).toBe(204)

    for (const name of [id, slug]) expect((await call('GET', `/accounts/${name}`)).status).toBe(404)
    expect((await call('DELETE', `/accounts/${id}`)).status).toBe(404)
    expect((await own('GET', `/accounts/${id}`)).status).toBe(401)
    expect((await web.get('/applications')).status).toBe(404)
    expect((await service.web({}, slug).get('/sign-in')).status).toBe(404)
    for (const credential of [elsewhere, toOwn]) expect(await refusedAfter(credential)).toBeLessThan(MAX_MS)
    expect((await service.device('oauth', application).request()).status).not.toBe(200)
  })

  it('an application that is being created at that moment is refused', async () => {
    const { db } = service.context
    const { id, slug } = await makeAccount(db)
    let creating: Promise<unknown> = Promise.resolve()
    await db.transaction(async (tx) => {
      await lockAccount(tx, id)
      creating = makeApplication(db, service.config, slug)
      creating.catch(() => {})
      const waiting = "pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
      await vi.waitUntil(() => count(service, waiting, []), { timeout: 30_000 })
      await markClosed(tx, id)
    })
    await expect(creating).rejects.toThrow('forbidden')
    expect(await count(service, 'applications where account_id = $1', [id])).toBe(0)
  })

  it('its slug is not given again, its external id is', async () => {
    const { id, slug, external_id } = await makeManagedAccount(call)
    await call('DELETE', `/accounts/${id}`)
    const again = await call('POST', '/accounts', { slug, name: 'Another' })
    expect([again.status, again.body.message]).toEqual([409, expect.stringContaining('was closed')])
    expect((await call('POST', '/accounts', { slug: `${slug}-2`, name: 'Acme', external_id })).status).toBe(201)
  })

  it('the operators’ account stays, also when it is theirs no longer', async () => {
    const { id, slug } = await makeManagedAccount(call)
    await service.database.query('update accounts set has_operators = true where id = $1', [id])
    expect((await call('DELETE', `/accounts/${slug}`)).status).toBe(404)
    const by = { actor: byManagementKey(managementKeyId), accountId: id, scopes: [] }
    expect(await closeAccount(service.context, by)).toEqual({ outcome: 'forbidden' })
    expect(await closeAccount(service.context, { ...COMMAND_LINE_CALLER, accountId: id })).toEqual({
      outcome: 'has_operators',
    })
    await service.database.query('update accounts set has_operators = false where id = $1', [id])
    const { id: decider } = await makeUser(service.context.db, slug)
    await service.database.query(
      `insert into operator_changes (id, account_id, change, user_id, email, language, proposed_by, proposed_at, operators, expires_at)
       values ('opc_000000000001', $1, 'enable', $2, 'ben@acme.example', 'en', $2, now(), '{}', now())`,
      [id, decider],
    )
    expect((await call('DELETE', `/accounts/${slug}`)).body).toMatchObject({ error: 'conflict' })
    const erased = await call('DELETE', `/accounts/${slug}/users/${decider}`)
    expect([erased.status, erased.body.message]).toEqual([409, expect.stringContaining('decided as an operator')])
  })
})

describe('afterwards', () => {
  const SIZE = { users: 2, grants: 3 }
  /** Without jobs: the test runs them. */
  let quiet: TestService
  beforeAll(async () => {
    quiet = await startTestService({}, { listen: false })
  })
  afterAll(() => quiet.stop())

  async function makeGrants(user: MadeUser, applicationId: string, many: number): Promise<readonly string[]> {
    const rows = await quiet.database.query<{ id: string }>(
      `insert into grants (id, secret, account_id, user_id, application_id, variant, scopes, device_code_id, key_id, created_at)
       select 'grt_' || substr(md5(random()::text), 1, 20), gen_random_uuid(), u.account_id, u.id, $2, 'token_set', '{}',
         gen_random_uuid(), 1, now() from users u, generate_series(1, $3) where u.id = $1 returning id`,
      [user.id, applicationId, many],
    )
    return rows.map(({ id }) => id)
  }

  it('everything is erased in batches; one that is interrupted is repeated, and nothing is recorded twice', async () => {
    const { id, slug } = await makeAccount(quiet.context.db)
    await quiet.database.query("update accounts set name = 'Grace’s Garage', external_id = 'garage-17' where id = $1", [
      id,
    ])
    const application = await makeApplication(quiet.context.db, quiet.config, slug)
    const users: MadeUser[] = []
    for (let made = 0; made < 5; made += 1) {
      const user = await makeUser(quiet.context.db, slug, { email: `person${made}@garage.example`, holds: BOTH })
      await quiet.database.query("update users set name = 'Grace', external_id = $2 where id = $1", [
        user.id,
        `garage-${made}`,
      ])
      await startSession(quiet, user, { account: { id, slug } })
      users.push(user)
    }
    const grants: string[] = []
    for (const user of users) grants.push(...(await makeGrants(user, quiet.application.id, 4)))
    const toOwn = await makeGrants(quiet.user, application.id, 4)
    const key = await makeManagementKey(quiet, { account: slug, label: 'Key of Grace' })

    const { db } = quiet.context
    const left = () => count(quiet, 'grants where account_id = $1', [id])
    await closeAccount(quiet.context, { actor: byManagementKey(key.id), accountId: id, scopes: [] })
    const interrupted = db.transaction(async (tx) => {
      await eraseSome(tx, id, SIZE)
      throw new Error('the process ended')
    })
    await expect(interrupted).rejects.toThrow('the process ended')
    expect(await left()).toBe(grants.length)
    expect(await db.transaction((tx) => eraseSome(tx, id, SIZE))).toBe('more')
    expect(await left()).toBe(grants.length - SIZE.grants)
    // Two processes at once, and then again.
    await Promise.all([eraseClosedAccounts(db, SIZE), eraseClosedAccounts(db, SIZE)])
    await eraseClosedAccounts(db, SIZE)
    expect(await left()).toBe(0)
    expect(await count(quiet, 'users where account_id = $1', [id])).toBe(0)
    expect(await count(quiet, 'accounts where id = $1 and erased_at is null', [id])).toBe(1)
    await quiet.database.query("update accounts set closed_at = now() - interval '11 minutes' where id = $1", [id])
    await eraseClosedAccounts(db, SIZE)
    expect(await count(quiet, 'accounts where id = $1 and erased_at is not null', [id])).toBe(1)

    const tables = await quiet.database.query<{ name: string }>(
      "select tablename as name from pg_tables where schemaname = 'public'",
    )
    for (const { name } of tables) {
      const naming = `select '${name}' as found from ${name} t where t::text ~ $1`
      expect(await quiet.database.query(naming, ['garage.example|Grace|garage-'])).toEqual([])
    }
    for (const table of ['roles', 'management_keys', 'sessions', 'links', 'mails', 'identity_providers'])
      expect([table, await count(quiet, `${table} where account_id = $1`, [id])]).toEqual([table, 0])

    const events = await quiet.database.query<{ kind: string; reason: string | null; n: number }>(
      `select kind, detail->>'reason' as reason, count(distinct coalesce(grant_id, user_id, account_id))::int as n
       from audit_events where (account_id = $1 or grant_id = any($2))
         and kind in ('account.closed', 'application.deleted', 'grant.revoked', 'user.erased')
       group by 1, 2 having count(*) = count(distinct coalesce(grant_id, user_id, account_id)) order by 1, 2`,
      [id, toOwn],
    )
    expect(events).toEqual([
      { kind: 'account.closed', reason: null, n: 1 },
      { kind: 'application.deleted', reason: null, n: 1 },
      { kind: 'grant.revoked', reason: 'account_closed', n: grants.length },
      { kind: 'grant.revoked', reason: 'application_deleted', n: toOwn.length },
      { kind: 'user.erased', reason: null, n: users.length },
    ])
    let exported = ''
    for await (const part of exportAudit(db, { ...EVERY_EVENT, account: slug }, 'ndjson')) exported += part
    expect(exported).toContain('"account.closed"')
    expect((await verifyAudit(db, quiet.config.keys, null)).problem).toBeNull()
  })

  it('the running service does it by itself', async () => {
    const { id, slug } = await makeManagedAccount(call)
    await makeUser(service.context.db, slug)
    await call('DELETE', `/accounts/${id}`)
    await expect.poll(() => count(service, 'users where account_id = $1', [id]), { timeout: 30_000 }).toBe(0)
  })
})
