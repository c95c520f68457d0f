/** The grant cache of a process: no repeated look-ups, and stale for no longer than documented. */
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { disablePerson, setPersonRoles } from '../../../src/flows/accounts/people.ts'
import { removeRole, saveRole } from '../../../src/flows/accounts/roles.ts'
import { suspendApplication } from '../../../src/flows/applications/manage.ts'
import { createGrantCache, type GrantCache } from '../../../src/flows/grants/cache.ts'
import { checkCredential } from '../../../src/flows/grants/check-credential.ts'
import { removeGrant } from '../../../src/flows/grants/connected-applications.ts'
import { rotateAccessKey } from '../../../src/flows/grants/rotate-access-key.ts'
import { makeAccessKey } from '../../../src/secrets/credentials.ts'
import { createGrantId, createGrantSecret } from '../../../src/secrets/random.ts'
import { insertGrant, lockGrant, saveRotation } from '../../../src/store/grants/grants.ts'
import { openPostgres, type Postgres, Unavailable } from '../../../src/store/postgres/postgres.ts'
import { statementsOf } from '../../rig/engines/statements.ts'
import { type MadeApplication, type MadeUser, makeAccount, makeApplication, makeUser } from '../../rig/make.ts'
import { makeGrant } from '../../rig/records.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

const BOTH = ['orders:read', 'orders:write']
const REVOKE = "update grants set revoked_at = now(), revocation_reason = 'user_reset' where id = $1"
let service: TestService
let grantCache: GrantCache
beforeAll(async () => {
  service = await startTestService({}, { listen: false })
})
afterAll(() => service.stop())

/** This process's clock, which a test may advance. */
let ahead = 0
beforeEach(async () => {
  ahead = 0
  const real = performance.now.bind(performance)
  vi.spyOn(performance, 'now').mockImplementation(() => real() + ahead)
  grantCache = createGrantCache(service.context.db)
  await grantCache.pull()
})
afterEach(() => vi.restoreAllMocks())

type Held = { readonly id: string; readonly secret: string; readonly key: string; readonly user: MadeUser }

const makeClerk = (slug = service.account.slug) => makeUser(service.context.db, slug, { holds: BOTH })

/** A grant of a new clerk, with its access key. */
async function hold(given: { application?: MadeApplication; user?: MadeUser; accountId?: string } = {}): Promise<Held> {
  const user = given.user ?? (await makeClerk())
  const [id, secret] = [createGrantId(), createGrantSecret()]
  await service.context.db.transaction((tx) =>
    insertGrant(tx, {
      id,
      secret,
      accountId: given.accountId ?? service.account.id,
      userId: user.id,
      applicationId: (given.application ?? service.application).id,
      variant: 'access_key',
      scopes: BOTH,
      keyId: service.config.keys.signing.id,
      ...{ deviceCodeId: null, dialogId: randomUUID(), requestedFrom: null, testEndsAt: null },
    }),
  )
  return { id, secret, key: keyOf(secret, 1), user }
}

const keyOf = (secret: string, keyGeneration: number) =>
  makeAccessKey(service.config.keys, makeGrant({ secret, keyGeneration }))

const check = (key: string, by = grantCache) => checkCredential({ ...service.context, grantCache: by }, key)

/** The scopes in effect, or that it is invalid, and the number of look-ups. */
async function ask(key: string, by = grantCache): Promise<[string, number]> {
  const { result, statements } = await statementsOf(() => check(key, by))
  return [result.outcome === 'valid' ? result.scopes.join(',') : 'not valid', statements.length]
}

const FIRST: [string, number] = ['orders:read,orders:write', 1]
const HOT: [string, number] = ['orders:read,orders:write', 0]

describe('a credential in use', () => {
  it('is looked up once, and then answered from memory', async () => {
    const { key } = await hold()
    expect(await ask(key)).toEqual(FIRST)
    const { statements } = await statementsOf(async () => {
      for (let use = 0; use < 1_000; use += 1) expect((await check(key)).outcome).toBe('valid')
    })
    expect(statements).toEqual([])
  })

  it('is looked up once for any number of requests at the same moment', async () => {
    const { key } = await hold()
    const { result, statements } = await statementsOf(() => Promise.all(Array.from({ length: 50 }, () => check(key))))
    expect(new Set(result.map(({ outcome }) => outcome))).toEqual(new Set(['valid']))
    expect(statements).toHaveLength(1)
  })

  it('that is forged is not looked up, and a genuine one of no grant is not cached as unknown', async () => {
    const { key } = await hold()
    expect(await ask(`${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`)).toEqual(['not valid', 0])
    const ghost = keyOf(createGrantSecret(), 1)
    expect(await ask(ghost)).toEqual(['not valid', 1])
    expect(await ask(ghost)).toEqual(['not valid', 1])
  })

  it('issued a moment ago by another process is looked up, although its predecessor is cached', async () => {
    const { id, secret, key } = await hold()
    expect(await ask(key)).toEqual(FIRST)
    await service.context.db.transaction(async (tx) => {
      const locked = await lockGrant(tx, id)
      if (locked) await saveRotation(tx, { ...locked.grant, keyGeneration: 2, keyRotatedAt: Date.now() })
    })
    expect(await ask(keyOf(secret, 2))).toEqual(FIRST)
    expect(await ask(keyOf(secret, 2))).toEqual(HOT)
    expect(await ask(key)).toEqual(HOT)
    expect(await ask(keyOf(secret, 3))).toEqual(['not valid', 1])
  })

  it('has its use saved with one statement for all, once a day', async () => {
    const held = await Promise.all([hold(), hold(), hold()])
    for (const { key } of [...held, ...held]) await check(key)
    const { statements } = await statementsOf(() => grantCache.saveUses())
    expect(statements).toEqual([expect.stringContaining('update grants g set last_used_on')])
    for (const { key } of held) expect((await check(key)).outcome).toBe('valid')
    expect((await statementsOf(() => grantCache.saveUses())).statements).toEqual([])
    const rows = await service.database.query('select from grants where last_used_on is not null and id = any($1)', [
      held.map(({ id }) => id),
    ])
    expect(rows).toHaveLength(3)
  })
})

describe('TK-08: the feed', () => {
  const roleOf = async (user: MadeUser) => {
    const rows = await service.database.query<{ role_id: string }>(
      'select role_id from user_roles where user_id = $1',
      [user.id],
    )
    return rows[0]?.role_id ?? ''
  }
  const someApplication = async () => {
    const application = await makeApplication(service.context.db, service.config, service.account.slug)
    await service.context.applications.refresh()
    return application
  }

  type Change = (held: Held, application: MadeApplication) => Promise<unknown>
  const changes: [string, Change, string][] = [
    [
      'of a grant',
      ({ id, user }) =>
        removeGrant(service.context, { by: user.id, grantId: id, asAdministrator: false, reported: false }),
      'not valid',
    ],
    ['of a user', ({ user }) => disablePerson(service.context, service.user.id, user.id), 'not valid'],
    [
      'of a user’s roles',
      async ({ user }) => setPersonRoles(service.context, service.user.id, user.id, [await roleOf(service.user)]),
      'orders:read,orders:write',
    ],
    [
      'of a role',
      async ({ user }) =>
        saveRole(service.context, service.user.id, {
          id: await roleOf(user),
          name: `fewer ${user.id}`,
          scopes: ['orders:write'],
        }),
      'orders:write',
    ],
    [
      'of a role that is gone',
      async ({ user }) => removeRole(service.context, service.user.id, await roleOf(user)),
      '',
    ],
    [
      'of a key that was replaced',
      ({ key }, { id, secret }) => rotateAccessKey(service.context, { applicationId: id, secret, accessKey: key }),
      'orders:read,orders:write',
    ],
    [
      'of an application',
      (_, application) => suspendApplication(service.context.db, application.id, 'test', true),
      'not valid',
    ],
  ]

  it.each(changes)('a change %s applies with the next pull, and not before it', async (_what, change, then) => {
    const application = await someApplication()
    const held = await hold({ application })
    const elsewhere = await makeAccount(service.context.db)
    const other = await hold({ user: await makeClerk(elsewhere.slug), accountId: elsewhere.id })
    for (const { key } of [held, other]) expect(await ask(key)).toEqual(FIRST)
    await change(held, application)
    expect(await ask(held.key), 'it is the feed that tells').toEqual(HOT)
    await grantCache.pull()
    expect(await ask(held.key)).toEqual([then, 1])
    expect(await ask(other.key), 'nobody else is looked up again').toEqual(HOT)
  })

  it('does not miss a change that began before a pull and was committed after it', async () => {
    const [slow, quick] = [await hold(), await hold()]
    for (const { key } of [slow, quick]) expect(await ask(key)).toEqual(FIRST)
    const [first, second] = await Promise.all(
      [1, 2].map(async () => {
        const client = new pg.Client({ connectionString: service.database.url })
        await client.connect()
        return client
      }),
    )
    if (!first || !second) throw new Error('there are no connections')
    const end = async (client: pg.Client, id: string) => {
      await client.query(REVOKE, [id])
      await client.query('insert into grant_changes (at, grant_id) values (now(), $1)', [id])
    }
    try {
      await first.query('begin')
      await end(first, slow.id)
      await second.query('begin')
      await end(second, quick.id)
      await second.query('commit')
      await grantCache.pull()
      expect(await ask(quick.key)).toEqual(['not valid', 1])
      expect(await ask(slow.key)).toEqual(HOT)
      await grantCache.pull()
      expect(await ask(slow.key)).toEqual(HOT)
      await first.query('commit')
      await grantCache.pull()
      expect(await ask(slow.key)).toEqual(['not valid', 1])
    } finally {
      await Promise.all([first.end(), second.end()])
    }
  })

  it('is not applied twice because an old transaction still runs, in this database or another', async () => {
    const old = new pg.Client({ connectionString: service.database.url })
    await old.connect()
    try {
      await old.query('begin; select pg_current_xact_id()')
      await service.database.query('insert into grant_changes (at, application_id) values (now(), $1)', [
        service.application.id,
      ])
      const fresh = createGrantCache(service.context.db)
      await fresh.pull()
      const { key } = await hold()
      expect(await ask(key, fresh)).toEqual(FIRST)
      await fresh.pull()
      expect(await ask(key, fresh)).toEqual(HOT)
    } finally {
      await old.end()
    }
  })

  it('is read incrementally: a pull with nothing new evicts nothing', async () => {
    const held = await hold()
    await disablePerson(service.context, service.user.id, held.user.id)
    await grantCache.pull()
    await grantCache.pull()
    const other = await hold()
    expect(await ask(other.key)).toEqual(FIRST)
    for (let pull = 0; pull < 5; pull += 1) await grantCache.pull()
    expect(await ask(other.key)).toEqual(HOT)
  })

  it('of one process reaches another that caches the same grant', async () => {
    const there = createGrantCache(service.context.db)
    await there.pull()
    const { key, user } = await hold()
    expect([await ask(key), await ask(key, there)]).toEqual([FIRST, FIRST])
    await disablePerson(service.context, service.user.id, user.id)
    await Promise.all([grantCache.pull(), there.pull()])
    expect([await ask(key), await ask(key, there)]).toEqual([
      ['not valid', 1],
      ['not valid', 1],
    ])
  })
})

describe('a late look-up', () => {
  /** A slow connection to the same PostgreSQL: the result is held back until released. */
  function slowLine(db: Postgres) {
    let letGo = () => {}
    const held = new Promise<void>((resolve) => {
      letGo = resolve
    })
    let looked = () => {}
    const looking = new Promise<void>((resolve) => {
      looked = resolve
    })
    const line: Postgres = {
      ...db,
      query: async (statement, values) => {
        const result = await db.query(statement, values)
        if (typeof statement === 'string' || statement.name !== 'read-grant-state') return result as never
        looked()
        await held
        return result as never
      },
    }
    return { line, looking, letGo }
  }

  it('is not cached when a pull came in between: it may be older than the feed', async () => {
    const { key, user } = await hold()
    const { line, looking, letGo } = slowLine(service.context.db)
    const slow = createGrantCache(line)
    await slow.pull()
    const waiting = check(key, slow)
    await looking
    await disablePerson(service.context, service.user.id, user.id)
    await slow.pull()
    letGo()
    expect((await waiting).outcome, 'it was true when it was asked').toBe('valid')
    expect(await ask(key, slow)).toEqual(['not valid', 1])
  })

  it('answers the requests that wait for it, but none after the pull', async () => {
    const { key, user } = await hold()
    const { line, looking, letGo } = slowLine(service.context.db)
    const slow = createGrantCache(line)
    await slow.pull()
    const before = check(key, slow)
    await looking
    await disablePerson(service.context, service.user.id, user.id)
    await slow.pull()
    const after = check(key, slow)
    letGo()
    expect([(await before).outcome, (await after).outcome]).toEqual(['valid', 'not_valid'])
  })
})

describe('time', () => {
  it('nothing is cached for longer than a minute, whatever the feed says', async () => {
    const { id, key } = await hold()
    expect(await ask(key)).toEqual(FIRST)
    await service.database.query(REVOKE, [id])
    for (const passed of [20_000, 40_000, 59_000]) {
      ahead = passed
      await grantCache.pull()
      expect(await ask(key), 'a change that nobody announced').toEqual(HOT)
    }
    ahead = 60_001
    await grantCache.pull()
    expect(await ask(key)).toEqual(['not valid', 1])
  })

  it('a process without the feed for 30 seconds looks up every time, and starts over when the feed is back', async () => {
    const { id, key } = await hold()
    expect(await ask(key)).toEqual(FIRST)
    ahead = 29_000
    expect(await ask(key)).toEqual(HOT)
    ahead = 30_500
    expect([await ask(key), await ask(key)]).toEqual([FIRST, FIRST])
    await service.database.query(REVOKE, [id])
    await service.database.query('delete from grant_changes')
    await grantCache.pull()
    expect(await ask(key), 'what was remembered before is gone').toEqual(['not valid', 1])
  })

  it('a process that never pulled the feed caches nothing', async () => {
    const { key } = await hold()
    const deaf = createGrantCache(service.context.db)
    expect([await ask(key, deaf), await ask(key, deaf)]).toEqual([FIRST, FIRST])
  })

  it('without PostgreSQL, cached credentials are valid for 30 seconds, and then none', async () => {
    const { key } = await hold()
    const db = openPostgres(service.database.url, 2)
    const cut = createGrantCache(db)
    await cut.pull()
    expect(await ask(key, cut)).toEqual(FIRST)
    await db.close()
    await expect(cut.pull()).rejects.toThrow(Unavailable)
    ahead = 29_000
    expect((await check(key, cut)).outcome).toBe('valid')
    ahead = 30_500
    await expect(check(key, cut)).rejects.toThrow(Unavailable)
  })
})
