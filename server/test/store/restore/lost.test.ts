/** Which lines of the revocation journal PostgreSQL does not know, and which events the journal does not have. */
import { randomUUID } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { byService } from '../../../src/core/audit/actor.ts'
import type { EventLine, JournalLine, UseLine } from '../../../src/core/restore/journal-line.ts'
import { recordEvent } from '../../../src/store/audit/events.ts'
import type { Queryable } from '../../../src/store/postgres/postgres.ts'
import { type JournalReading, openJournal } from '../../../src/store/restore/journal.ts'
import { findLost, readUnjournalled } from '../../../src/store/restore/lost.ts'
import { placeIssuedGrant } from '../../races/issued-grants.ts'
import { makeApplication, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

const folder = mkdtempSync(join(tmpdir(), 'latchkey-lost-'))
const actor = byService('test')
let service: TestService
beforeAll(async () => {
  service = await startTestService({}, { listen: false })
})
afterAll(async () => {
  await service.stop()
  removeFolder(folder)
})

const openNew = () => openJournal(join(folder, randomUUID()), service.context.config.keys)
/** A journal of one process. */
const readingOf = (lines: readonly JournalLine[]): JournalReading => ({
  entries: lines.map((line, at) => ({ line, keyId: 1, writer: 'w', number: at + 1 })),
  ...{ unproven: [], gaps: [], retiredKeys: [] },
})
/** The lost lines of a journal that has these. */
const lostOf = async (db: Queryable, lines: readonly JournalLine[]) => (await findLost(db, readingOf(lines))).lines
const parsed = (lines: readonly string[]) => lines.map((line) => JSON.parse(line) as EventLine)

it('the use of a generation is lost if it is newer than the stored one, and not if that is newer', async () => {
  const { context, account, user, application } = service
  const { db } = context
  const about = { accountId: account.id, userId: user.id, applicationId: application.id }
  const { id } = await placeIssuedGrant(context, { ...about, variant: 'token_set' })
  await db.query('update grants set generation = 3, used_generation = 1 where id = $1', [id])
  const use = (generation: number): UseLine => ({ kind: 'access_token', grant: id, generation })
  expect(await lostOf(db, [use(1), use(2)])).toEqual([])
  expect(await lostOf(db, [use(3)])).toEqual([use(3)])
  expect(await lostOf(db, [use(4)])).toEqual([use(4)])
})

it('of a token set that was refreshed again before the use of its access token was stored, no use is journalled', async () => {
  const path = join(folder, randomUUID())
  const own = await startTestService({ REVOCATION_JOURNAL: path }, { listen: false })
  try {
    const { context, account, user, application } = own
    const about = { accountId: account.id, userId: user.id, applicationId: application.id }
    const { id, secret } = await placeIssuedGrant(context, { ...about, variant: 'token_set' })
    const noteUse = async (generation: number) => {
      const state = await context.grantCache.find(secret, () => true)
      if (state) context.grantCache.noteUse(state, '2026-11-19', generation)
    }
    await own.context.db.query('update grants set generation = 2 where id = $1', [id])
    await noteUse(2)
    await own.context.db.query('update grants set generation = 3 where id = $1', [id])
    await context.grantCache.saveUses()
    const journalled = async () => (await context.journal?.read())?.entries.map(({ line }) => line)
    expect(await journalled()).toEqual([])
    await noteUse(3)
    await context.grantCache.saveUses()
    expect(await journalled()).toEqual([{ kind: 'access_token', grant: id, generation: 3 }])
  } finally {
    await own.stop()
  }
})

it('what the journal lacks is found, however many events the last hour has, and nothing else', async () => {
  const { db } = service.context
  const journal = await openNew()
  await db.query(
    `insert into audit_events (at, kind, actor_kind, actor_id, via, grant_id)
     select now() - n * interval '100 milliseconds', 'grant.revoked', 'service', 'test', 'job', 'grt_' || n from generate_series(1, 12000) n`,
  )
  const first = await readUnjournalled(db, journal)
  expect(parsed(first).filter(({ grant }) => grant !== undefined)).toHaveLength(12_000)
  await journal.append(first.toSpliced(5_000, 2))
  expect(await readUnjournalled(db, journal)).toEqual(first.slice(5_000, 5_002))
  await journal.append(first.slice(5_000, 5_002))
  expect(await readUnjournalled(db, journal)).toEqual([])
})

it('a journal that is replayed hours later leaves what was decided meanwhile', async () => {
  const { context, account } = service
  const { db, config } = context
  const [disabled, kept] = [await makeUser(db, account.slug), await makeUser(db, account.slug)]
  const [suspended, left] = [
    await makeApplication(db, config, account.slug),
    await makeApplication(db, config, account.slug),
  ]
  const lost = (kind: EventLine['kind'], about: Partial<EventLine>): JournalLine => ({
    ...{ kind, event: 2 ** 40, at: '2026-11-18 10:00:00.000001+00', account: account.id },
    ...about,
  })
  const lines = [
    lost('user.disabled', { user: kept.id }),
    lost('user.disabled', { user: disabled.id }),
    lost('application.suspended', { application: left.id }),
    lost('application.suspended', { application: suspended.id }),
  ]
  await db.transaction(async (tx) => {
    await recordEvent(tx, { kind: 'user.enabled', actor, accountId: account.id, userId: kept.id })
    await recordEvent(tx, { kind: 'application.restored', actor, accountId: account.id, applicationId: left.id })
  })
  expect(await lostOf(db, lines)).toEqual([lines[1], lines[3]])
})

describe('lines without a valid proof', () => {
  const forged = { kind: 'account.closed', event: 2 ** 40, at: '2026-11-18 10:00:00.000001+00' } as const
  const found = (unproven: JournalReading['unproven']) => findLost(service.context.db, { ...readingOf([]), unproven })

  it('are counted and not repeated', async () => {
    const use: UseLine = { kind: 'access_token', grant: 'grt_none', generation: 2 }
    expect(await found([forged, use, null])).toMatchObject({ lines: [], unproven: 2, toAccept: ['unproven:2'] })
  })

  it('are not counted if PostgreSQL knows the event: their key is not configured any more', async () => {
    const { db } = service.context
    await db.transaction((tx) => recordEvent(tx, { kind: 'code.rejected', actor }))
    const { rows } = await db.query<Pick<EventLine, 'event' | 'at'>>(
      `select id as event, at::text from audit_events where kind = 'code.rejected'`,
    )
    const [known] = rows
    if (!known) throw new Error('the event is missing')
    expect(await found([{ ...forged, ...known, kind: 'code.rejected' }])).toMatchObject({ unproven: 0, toAccept: [] })
  })

  it.each(['2026-02-30 10:00:00+00', '2026-11-18T10:00:00Z', '2026-11-18 10:00:00+00; drop', '', 'infinity'])(
    'do not reach PostgreSQL with a time that it cannot read: %s',
    async (at) => {
      expect(await found([{ ...forged, at }])).toMatchObject({ unproven: 1 })
    },
  )
})

describe('lines whose key was retired', () => {
  const line = (event: number, about: Partial<EventLine>): EventLine => ({
    ...{ kind: 'user.disabled', event: 2 ** 41 + event, at: '2026-11-18 10:00:00.000001+00', user: 'usr_1' },
    ...about,
  })
  const written = (keyId: number, lines: readonly EventLine[]) => {
    const entries = lines.map((each, at) => ({ line: each, keyId, writer: `w${keyId}`, number: at + 1 }))
    return { ...readingOf([]), entries }
  }

  it('are not repeated, wherever the retirement is known from', async () => {
    const { db } = service.context
    const journal = written(7, [line(1, {})])
    expect(await findLost(db, journal)).toMatchObject({ unproven: 0, lines: [{ user: 'usr_1' }] })
    expect(await findLost(db, { ...journal, retiredKeys: [7] })).toMatchObject({ unproven: 1, lines: [] })
    await db.query('insert into signing_keys (id, retired_at) values (7, now())')
    expect(await findLost(db, journal)).toMatchObject({ unproven: 1, lines: [], settles: { w7: [[1, 1]] } })
  })
})

it('lines that an earlier restore dealt with are not lost again, those after them are', async () => {
  const { db } = service.context
  const line = (event: number): EventLine => ({
    ...{ kind: 'user.disabled', event: 2 ** 42 + event, at: '2026-11-18 10:00:00.000001+00', user: `usr_${event}` },
  })
  const [first, second] = [line(1), line(2)]
  expect(await findLost(db, readingOf([first]))).toMatchObject({ lines: [first], settles: { w: [[1, 1]] } })
  await db.query(
    `insert into restores (history, noticed_at, journalled, settled) values ('h', now(), true, '{"w": [[1, 1]]}')`,
  )
  expect(await findLost(db, readingOf([first, second]))).toMatchObject({ lines: [second], settles: { w: [[2, 2]] } })
})
