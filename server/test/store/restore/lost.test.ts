/** Which lines of the revocation journal PostgreSQL does not know, and which events the journal does not have. */
import { randomUUID } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { byService } from '../../../src/core/audit/actor.ts'
import type { EventLine, JournalLine, UseLine } from '../../../src/core/restore/journal-line.ts'
import { recordEvent } from '../../../src/store/audit/events.ts'
import { openJournal } from '../../../src/store/restore/journal.ts'
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

const openNew = () => openJournal(join(folder, randomUUID()))
const parsed = (lines: readonly string[]) => lines.map((line) => JSON.parse(line) as EventLine)

it('the use of a generation is lost if it is newer than the stored one, and not if that is newer', async () => {
  const { context, account, user, application } = service
  const { db } = context
  const about = { accountId: account.id, userId: user.id, applicationId: application.id }
  const { id } = await placeIssuedGrant(context, { ...about, variant: 'token_set' })
  await db.query('update grants set generation = 3, used_generation = 1 where id = $1', [id])
  const use = (generation: number): UseLine => ({ kind: 'access_token', grant: id, generation })
  expect(await findLost(db, [use(1), use(2)])).toEqual([])
  expect(await findLost(db, [use(3)])).toEqual([use(3)])
  expect(await findLost(db, [use(4)])).toEqual([use(4)])
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
    expect(await context.journal?.read()).toEqual([])
    await noteUse(3)
    await context.grantCache.saveUses()
    expect(await context.journal?.read()).toEqual([{ kind: 'access_token', grant: id, generation: 3 }])
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

it('that a restore was settled is not copied into the journal of another machine', async () => {
  const { db } = service.context
  const journal = await openNew()
  await db.transaction((tx) => recordEvent(tx, { kind: 'database.restored', actor }))
  expect(parsed(await readUnjournalled(db, journal)).map(({ kind }) => kind)).not.toContain('database.restored')
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
  expect(await findLost(db, lines)).toEqual([lines[1], lines[3]])
})
