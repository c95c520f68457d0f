/** Reads of the operators' console: health, accounts, applications and the scope catalogue. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { suspendApplication } from '../../src/flows/applications/manage.ts'
import { addScope, changeScopeTitle } from '../../src/flows/applications/scope-catalogue.ts'
import { endGrantsOf } from '../../src/flows/operator/end-grants.ts'
import { readOverview } from '../../src/flows/operator/overview.ts'
import { searchEverything } from '../../src/flows/operator/search.ts'
import { listScopes } from '../../src/store/applications/scopes.ts'
import {
  accountColumns,
  listEveryAccount,
  listEveryApplication,
  viewAccount,
} from '../../src/store/operator/accounts.ts'
import { listEveryGrant } from '../../src/store/operator/grants.ts'
import { connect } from '../rig/connect.ts'
import { type MadeUser, makeAccount, makeApplication, makeUser } from '../rig/make.ts'
import { settle } from '../rig/scenes/own-applications.ts'
import { startTestService, type TestService } from '../rig/service.ts'

const byName = (search: string, after: string | null = null) =>
  ({ search, sort: 'name', descending: false, after }) as const

const EVERY = { account: null, suspended: false }

let service: TestService
let operator: MadeUser
beforeAll(async () => {
  service = await startTestService({ OPERATOR_ACCOUNT: 'operators' }, { clock: true })
  await makeAccount(service.context.db, { slug: 'operators' })
  operator = await makeUser(service.context.db, 'operators')
})
afterAll(() => service.stop())

describe('the overview', () => {
  it('shows the engines without a problem', async () => {
    const { postgres, gate, mail, tasks } = await readOverview(service.context)
    expect(postgres.version).toMatch(/^\d+/)
    expect(postgres.schema).toMatchObject({ missing: [], unknown: [] })
    expect(postgres.schema.newest).toMatch(/^\d{4}_\w+\.sql$/)
    expect(gate).toEqual({ shared: false, answers: true })
    expect(mail.server).toBe(false)
    expect(tasks.length).toBeGreaterThan(5)
  })

  it('detects an unknown and a missing migration', async () => {
    const { database, context } = service
    await database.query("insert into migrations (name, applied_at) values ('9999_of_tomorrow.sql', now())")
    const [first] = await database.query<{ name: string }>('select min(name) as name from migrations')
    await database.query('update migrations set name = $2 where name = $1', [first?.name, '0000_renamed.sql'])
    const { schema } = (await readOverview(context)).postgres
    expect(schema).toEqual({
      newest: '9999_of_tomorrow.sql',
      missing: [first?.name],
      unknown: ['0000_renamed.sql', '9999_of_tomorrow.sql'],
    })
    await database.query('update migrations set name = $1 where name = $2', [first?.name, '0000_renamed.sql'])
    await database.query("delete from migrations where name = '9999_of_tomorrow.sql'")
  })

  it('counts outcomes of codes in the last hour, and polls per second', async () => {
    const device = service.device()
    const { deviceCode, userCode } = await connect(service)
    expect([deviceCode, userCode].every(Boolean)).toBe(true)
    await service.reject((await device.code()).user_code)
    const waiting = await device.code()
    const unpolled = await device.code()
    for (let poll = 0; poll < 3; poll += 1) await device.poll(waiting.device_code)
    await settle(service)
    await service.database.advance(30_000)
    await service.context.liveCodes.recount()
    const now = await readOverview(service.context)
    expect(now.live).toMatchObject({ waitingDevices: 2, outcomes: { granted: 1, rejected: 1, expired: 0 } })
    expect(now.live.pollsPerSecond).toBeGreaterThan(0)
    await service.database.advance(20 * 60_000)
    expect((await readOverview(service.context)).live).toMatchObject({
      outcomes: { granted: 1, rejected: 1, expired: 2 },
      pollsPerSecond: 0,
    })
    // The device collects it. That is no decision.
    expect((await device.poll(unpolled.device_code)).body.error).toBe('auth_expired')
    await settle(service)
    const heard = (await readOverview(service.context)).live.outcomes
    expect(heard).toEqual({ granted: 1, rejected: 1, expired: 2 })
    await service.database.advance(60 * 60_000)
    expect((await readOverview(service.context)).live.outcomes).toEqual({ granted: 0, rejected: 0, expired: 0 })
  })

  it('counts queued mails with the age of the oldest, and those given up', async () => {
    const { database, context } = service
    await database.query('update mails set sent_at = now()')
    expect((await readOverview(context)).mail).toMatchObject({ waiting: 0, oldest: null, givenUp: 0 })
    await database.query(
      "update mails set sent_at = null, created_at = now() - interval '1 hour' where id in (select min(id) from mails)",
    )
    const [clock] = await database.query<{ now: Date }>('select now()')
    const { mail } = await readOverview(context)
    expect(mail).toMatchObject({ waiting: 1, givenUp: 0 })
    expect(Math.abs((clock?.now.getTime() ?? 0) - 3_600_000 - (mail.oldest ?? 0))).toBeLessThan(5_000)
    await database.query('update mails set given_up_at = now() where sent_at is null')
    expect((await readOverview(context)).mail).toMatchObject({ waiting: 0, givenUp: 1 })
  })
})

describe('accounts', () => {
  it('are found by the beginning of their slug or name, with their counts', async () => {
    const { context, account } = service
    const { lines } = await listEveryAccount(context.db, byName(account.slug.slice(0, -2).toUpperCase(), null))
    expect(lines).toEqual([
      {
        slug: account.slug,
        name: `Account ${account.slug}`,
        createdAt: expect.any(Number),
        people: 1,
        applications: 1,
        grants: 1,
      },
    ])
    expect((await listEveryAccount(context.db, byName('ACCOUNT OPER', null))).lines.map(({ slug }) => slug)).toEqual([
      'operators',
    ])
    for (const nothing of ['%', '_', 'nobody of that name', "'"]) {
      expect((await listEveryAccount(context.db, byName(nothing, null))).lines).toEqual([])
    }
  })

  it('are listed 25 per page, each once', async () => {
    const { context } = service
    for (let made = 0; made < 26; made += 1) await makeAccount(context.db, { slug: `many-${made}` })
    const first = await listEveryAccount(context.db, byName('many-', null))
    const second = await listEveryAccount(context.db, byName('many-', first.after))
    expect([first.lines.length, second.lines.length, second.after]).toEqual([25, 1, null])
    const slugs = [...first.lines, ...second.lines].map(({ slug }) => slug)
    expect(new Set(slugs).size).toBe(26)
    expect(slugs).toEqual(slugs.toSorted())
  })

  it('are shown with their administrators and applications, and no other users', async () => {
    const { context, account, user, application } = service
    const disabled = await makeUser(context.db, account.slug)
    await makeUser(context.db, account.slug, { holds: ['orders:read'] })
    await service.database.query('update users set disabled_at = now() where id = $1', [disabled.id])
    const seen = await viewAccount(context.db, account.slug)
    expect(seen).toMatchObject({ slug: account.slug, people: 2, applications: 1 })
    expect(seen?.administrators).toEqual(
      [
        { email: user.email, disabled: false },
        { email: disabled.email, disabled: true },
      ].toSorted((one, other) => (one.email < other.email ? -1 : 1)),
    )
    const own = await listEveryApplication(context.db, byName(''), { account: account.slug, suspended: false })
    expect(own.lines.map(({ id }) => id)).toEqual([application.id])
    expect(await viewAccount(context.db, 'nobody')).toBeNull()
  })
})

describe('applications', () => {
  it('of all accounts are found by the beginning of their name or by their id', async () => {
    const { context, config, application, account } = service
    const made = await makeApplication(context.db, config, 'operators', { name: 'Hafenlichter' })
    await suspendApplication(context.db, made.id, 'to see it')
    const named = await listEveryApplication(context.db, byName('hafenL', null), EVERY)
    expect(named).toEqual({
      lines: [
        {
          id: made.id,
          name: 'Hafenlichter',
          account: 'operators',
          createdAt: expect.any(Number),
          suspended: true,
          grants: 0,
        },
      ],
      after: null,
    })
    const byId = await listEveryApplication(context.db, byName(application.id, null), EVERY)
    expect(byId.lines).toMatchObject([{ id: application.id, account: account.slug, suspended: false, grants: 1 }])
    expect((await listEveryApplication(context.db, byName(application.id.slice(0, 8), null), EVERY)).lines).toEqual([])
  })

  it('are listed 25 per page, each once, also those of the same name', async () => {
    const { context, config, account } = service
    for (let made = 0; made < 26; made += 1) await makeApplication(context.db, config, account.slug, { name: 'Twins' })
    const first = await listEveryApplication(context.db, byName('twins', null), EVERY)
    const second = await listEveryApplication(context.db, byName('twins', first.after), EVERY)
    expect([first.lines.length, second.lines.length, second.after]).toEqual([25, 1, null])
    expect(new Set([...first.lines, ...second.lines].map(({ id }) => id)).size).toBe(26)
    await service.database.query("update applications set deleted_at = now() where name = 'Twins'")
    expect((await listEveryApplication(context.db, byName('twins', null), EVERY)).lines).toEqual([])
  })
})

describe('the tables', () => {
  it('are sorted by each of their columns, in both directions, and continue where a page ended', async () => {
    const { context } = service
    const wish = { search: 'many-', after: null }
    for (const sort of accountColumns) {
      const all = async (descending: boolean) => {
        const first = await listEveryAccount(context.db, { ...wish, sort, descending })
        const rest = await listEveryAccount(context.db, { ...wish, sort, descending, after: first.after })
        return [...first.lines, ...rest.lines].map(({ slug }) => slug)
      }
      const ascending = await all(false)
      expect([sort, new Set(ascending).size]).toEqual([sort, 26])
      expect(await all(true)).toEqual(ascending.toReversed())
    }
  })

  it('of applications show only suspended ones on request', async () => {
    const { lines } = await listEveryApplication(service.context.db, byName(''), { account: null, suspended: true })
    expect(lines.map(({ name }) => name)).toEqual(['Hafenlichter'])
  })
})

describe('the search', () => {
  it('finds an account, a user, an application, a grant and the events of a request, and nothing else', async () => {
    const { context, account, user, application, database } = service
    const [grant] = await database.query<{ id: string }>('select id from grants limit 1')
    await database.query(
      `insert into audit_events (at, kind, actor_kind, actor_id, via, request_id)
       values (now(), 'session.ended', 'service', 'expiry', 'job', '5f0c9a7be1d24836')`,
    )
    const kinds = async (text: string) => {
      const { accounts, people, applications, grants, events } = await searchEverything(context, text)
      return [
        accounts.map(({ slug }) => slug),
        ...[people, applications, grants].map((found) => found.map(({ id }) => id)),
        events.map(({ kind }) => kind),
      ]
    }
    expect(await kinds(account.slug)).toEqual([[account.slug], [], [], [], []])
    expect(await kinds(account.id)).toEqual([[account.slug], [], [], [], []])
    expect(await kinds(user.email.toUpperCase())).toEqual([[], [user.id], [], [], []])
    expect(await kinds(user.id)).toEqual([[], [user.id], [], [], []])
    expect(await kinds('hafen')).toEqual([[], [], [expect.stringMatching(/^app_/)], [], []])
    expect(await kinds(application.id)).toEqual([[], [], [application.id], [], []])
    expect(await kinds(grant?.id ?? '')).toEqual([[], [], [], [grant?.id], []])
    expect(await kinds('5f0c9a7be1d24836')).toEqual([[], [], [], [], ['session.ended']])
    for (const nothing of ['%', '_%', '5f0c9a7b', "' or 1=1", grant?.id.slice(0, 10) ?? '']) {
      expect([nothing, await kinds(nothing)]).toEqual([nothing, [[], [], [], [], []]])
    }
  })
})

describe('ending every grant of a user', () => {
  it('revokes token sets and access keys, records each, and leaves the grants of others', async () => {
    const { context, account, database } = service
    const user = await makeUser(context.db, account.slug, { holds: ['orders:read'] })
    const other = await makeUser(context.db, account.slug, { holds: ['orders:read'] })
    const both = async (by: MadeUser) => {
      await connect(service, { user: by, scope: 'orders:read' })
      await connect(service, { user: by, scope: 'orders:read', variant: 'key' })
    }
    await both(user)
    await both(other)
    expect(await endGrantsOf(context, user.id, other.id)).toEqual({ outcome: 'forbidden' })
    expect(await endGrantsOf(context, operator.id, 'usr_000000000000')).toEqual({ outcome: 'not_found' })
    expect(await endGrantsOf(context, operator.id, user.id)).toEqual({ outcome: 'ended', grants: 2 })
    const all = { search: '', sort: 'connected', descending: true, after: null } as const
    const reasons = async (of: MadeUser) =>
      (await listEveryGrant(context.db, all, { of: { userId: of.id }, live: false })).lines.map(({ reason }) => reason)
    expect(await reasons(user)).toEqual(['removed_by_operator', 'removed_by_operator'])
    expect(await reasons(other)).toEqual([null, null])
    expect((await listEveryGrant(context.db, all, { of: { userId: user.id }, live: true })).lines).toEqual([])
    const events = await database.query<{ actor_kind: string; actor_id: string }>(
      "select actor_kind, actor_id from audit_events where kind = 'grant.revoked' and user_id = $1",
      [user.id],
    )
    expect(events).toEqual(Array(2).fill({ actor_kind: 'operator', actor_id: operator.id }))
  })
})

describe('what needs attention', () => {
  it('counts what waits for an operator, and names applications whose webhooks fail', async () => {
    const { context, database, application } = service
    const before = (await readOverview(context)).attention
    expect(before).toMatchObject({ suspended: 1, failingWebhooks: { count: 0 } })
    await database.query(
      `insert into webhook_endpoints (id, application_id, url, key_id, created_at)
       values ('whe_1', $1, 'https://receiver.example/', 1, now())`,
      [application.id],
    )
    const fail = (attempts: number) =>
      database.query(
        `insert into webhook_deliveries (endpoint_id, event_id, kind, data, created_at, due_at, attempts)
         values ('whe_1', gen_random_uuid(), 'grant.created', '{}', now(), now() + interval '1 day', $1)`,
        [attempts],
      )
    await fail(2)
    expect((await readOverview(context)).attention.failingWebhooks.count).toBe(0)
    await fail(3)
    const [{ name } = { name: '' }] = await database.query<{ name: string }>(
      'select name from applications where id = $1',
      [application.id],
    )
    expect((await readOverview(context)).attention.failingWebhooks).toEqual({
      count: 1,
      applications: [{ id: application.id, name }],
    })
  })
})

describe('the scope catalogue', () => {
  const scope = { name: 'routes:open', title: 'Open routes', dangerous: true, deviceFlow: false }

  it('accepts a valid new scope once', async () => {
    const { context } = service
    expect(await addScope(context, operator.id, scope)).toEqual({ outcome: 'added' })
    expect(await addScope(context, operator.id, { ...scope, title: 'Again' })).toEqual({ outcome: 'exists' })
    expect(await addScope(context, operator.id, { ...scope, name: 'Routes' })).toEqual({ outcome: 'name' })
    expect(await addScope(context, operator.id, { ...scope, name: 'routes:shut', title: ' ' })).toEqual({
      outcome: 'title',
    })
    expect((await listScopes(context.db)).filter(({ name }) => name.startsWith('routes'))).toEqual([
      { ...scope, applications: 0 },
    ])
  })

  it('counts the applications that are allowed each scope', async () => {
    const orders = (await listScopes(service.context.db)).find(({ name }) => name === 'orders:write')
    expect(orders?.applications).toBeGreaterThanOrEqual(1)
  })

  it('allows to change only the title, and records who did', async () => {
    const { context, database } = service
    expect(await changeScopeTitle(context, operator.id, 'routes:open', 'Open every route')).toEqual({
      outcome: 'saved',
    })
    expect(await changeScopeTitle(context, operator.id, 'routes:open', 'two\nlines')).toEqual({ outcome: 'title' })
    expect(await changeScopeTitle(context, operator.id, 'routes:none', 'None')).toEqual({ outcome: 'not_found' })
    const events = await database.query(
      "select kind, actor_id as by, detail from audit_events where kind like 'scope.%' and via = 'web' order by id",
    )
    expect(events).toEqual([
      {
        kind: 'scope.created',
        by: operator.id,
        detail: { scope: 'routes:open', dangerous: true, deviceFlow: false },
      },
      { kind: 'scope.changed', by: operator.id, detail: { scope: 'routes:open', title: 'Open every route' } },
    ])
  })
})
