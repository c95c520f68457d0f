/** Which commits a process remembers as confirmed, and what a promoted PostgreSQL says about them. */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Evidence, judgeCommits } from '../../../src/core/restore/evidence.ts'
import {
  type ConfirmedCommit,
  type ConfirmedCommits,
  createConfirmedCommits,
  readWritten,
  WRITTEN,
} from '../../../src/store/postgres/confirmed-commits.ts'
import { openPostgres, type Postgres, Unavailable } from '../../../src/store/postgres/postgres.ts'
import { findCommits, readPromoted } from '../../../src/store/restore/processes.ts'
import { runStatements } from '../../rig/engines/postgres-programs.ts'
import { type ReplicatedPostgres, startReplicatedPostgres } from '../../rig/engines/replicated-postgres.ts'

const WRITE = 'insert into noted default values'
const SECOND = '00000002'
const SOON = { timeout: 30_000 }

describe('a process', () => {
  const commit = (xid: string, timeline = '00000001'): ConfirmedCommit => ({ timeline, xid, position: '0/0' })
  const remembered = (commits: ConfirmedCommits) => commits.before(SECOND).map(({ xid }) => xid)

  it('remembers the newest commit', () => {
    const commits = createConfirmedCommits()
    for (const xid of ['1', '2', '3']) commits.confirm(commits.send(), commit(xid))
    expect(remembered(commits)).toEqual(['3'])
  })

  it('remembers commits under way at the same time: whose confirmation comes first may be later in the WAL', () => {
    const commits = createConfirmedCommits()
    const [first, second] = [commits.send(), commits.send()]
    commits.confirm(second, commit('2'))
    commits.confirm(first, commit('1'))
    expect(remembered(commits)).toEqual(['2', '1'])
    commits.confirm(commits.send(), commit('3'))
    expect(remembered(commits)).toEqual(['3'])
  })

  it('remembers what was confirmed on an earlier timeline until that is settled', () => {
    const commits = createConfirmedCommits()
    commits.confirm(commits.send(), commit('1'))
    commits.confirm(commits.send(), commit('2', SECOND))
    expect(remembered(commits)).toEqual(['1'])
    expect(commits.before('00000003').map(({ xid }) => xid)).toEqual(['1', '2'])
    commits.settle(SECOND)
    expect(remembered(commits)).toEqual([])
    expect(commits.before('00000003').map(({ xid }) => xid)).toEqual(['2'])
  })
})

describe('a promoted PostgreSQL', () => {
  let postgres: ReplicatedPostgres
  let commits: ConfirmedCommits
  let db: Postgres
  beforeEach(async () => {
    postgres = await startReplicatedPostgres()
    await runStatements(postgres.url, 'create table noted (at timestamptz default now())')
    commits = createConfirmedCommits()
    db = openPostgres(postgres.url, 4, { commits })
  })
  afterEach(async () => {
    await db.close()
    await postgres.remove()
  })

  const write = () => db.transaction((tx) => tx.query(WRITE))

  /** As if the service had recorded the history before. */
  async function judge(seen = commits.before(SECOND)): Promise<Evidence> {
    const found = await findCommits(
      db,
      seen,
      seen.map(() => ''),
    )
    return judgeCommits(
      SECOND,
      await readPromoted(db),
      found.map((each) => ({ ...each, recorded: true })),
    )
  }

  async function promote(): Promise<void> {
    postgres.primary.stop()
    await postgres.failOver()
    const answers = () =>
      db.query('select').then(
        () => true,
        () => false,
      )
    await expect.poll(answers, SOON).toBe(true)
  }

  /** Gives out again the transaction numbers that were lost. */
  const useNumbers = (url: string) =>
    runStatements(url, 'do $$ begin for each in 1..100 loop insert into noted default values; commit; end loop; end $$')

  it('has what was confirmed with a synchronous standby, whatever was under way', async () => {
    await Promise.all([write(), write(), write(), write()])
    postgres.standby.freeze()
    const unconfirmed = write().catch((error: Error) => error)
    await expect.poll(postgres.waiting, SOON).not.toEqual([])
    postgres.primary.stop()
    expect(await unconfirmed).toBeInstanceOf(Unavailable)
    await postgres.failOver()
    await expect.poll(() => judge().catch(() => null), SOON).toBe('complete')
    await useNumbers(postgres.url)
    expect(await judge()).toBe('complete')
  })

  it('lacks what was confirmed and not replicated, also when its transaction number was given out again', async () => {
    await write()
    await postgres.commitAlone()
    await postgres.detachStandby()
    await write()
    await promote()
    await useNumbers(postgres.url)
    expect(await judge()).toBe('lost')
  })

  it('lacks a commit of which it has all but the end', async () => {
    await postgres.commitAlone()
    const client = new pg.Client({ connectionString: postgres.url })
    client.on('error', () => {})
    await client.connect()
    await client.query(`begin; ${WRITE}`)
    const [row] = (await client.query<{ written: string }>(`select ${WRITTEN} as written`)).rows
    await write()
    const [{ position }] = await runStatements(postgres.primary.url, 'select pg_current_wal_lsn()::text as position')
    const replayed = async () =>
      (await runStatements(postgres.standby.url, `select pg_last_wal_replay_lsn() >= '${position}' as all`))[0].all
    await expect.poll(replayed, SOON).toBe(true)
    await postgres.detachStandby()
    await client.query('commit')
    await client.end()
    await promote()
    expect(await judge()).toBe('complete')
    expect(await judge([readWritten(row?.written ?? '')])).toBe('lost')
  })

  it('cannot tell after a crash or a restart', async () => {
    await postgres.commitAlone()
    await postgres.detachStandby()
    await write()
    await promote()
    expect(await judge()).toBe('lost')
    await useNumbers(postgres.url)
    for (const mode of ['immediate', 'fast'] as const) {
      postgres.standby.stop(mode)
      postgres.standby.start()
      await expect.poll(() => judge().catch(() => null), SOON).toBe('unknown')
    }
  })

  it('says that it was promoted also after its first checkpoints', async () => {
    await write()
    await promote()
    for (let each = 1; each <= 2; each += 1) {
      await runStatements(postgres.url, 'checkpoint')
      expect([await readPromoted(db), await judge()]).toEqual([true, 'complete'])
      await write()
      await sleep(100)
    }
  })
})

it('a transaction that wrote nothing or was rolled back is not remembered, and on a standby it ends as read-only', async () => {
  const postgres = await startReplicatedPostgres()
  const commits = createConfirmedCommits()
  const db = openPostgres(postgres.url, 2, { commits })
  try {
    await postgres.commitAlone()
    await db.transaction((tx) => tx.query('select'))
    await expect(
      db.transaction(async (tx) => {
        await tx.query('insert into overloads (minute, shed) values (now(), 1)')
        throw new Error('no')
      }),
    ).rejects.toThrow('no')
    expect(commits.before(SECOND)).toEqual([])
    const standby = openPostgres(postgres.standby.url, 2, { commits })
    await standby.transaction((tx) => tx.query('select'))
    await runStatements(
      postgres.standby.url,
      "alter system set synchronous_standby_names = '*'",
      'select pg_reload_conf()',
    )
    const readOnly = async () =>
      standby
        .transaction((tx) => tx.query('select'))
        .then(
          () => null,
          ({ cause }) => cause.code,
        )
    await expect.poll(readOnly, SOON).toBe('25006')
    await standby.close()
    expect(commits.before(SECOND)).toEqual([])
  } finally {
    await db.close()
    await postgres.remove()
  }
})
