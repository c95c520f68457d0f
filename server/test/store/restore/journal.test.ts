/** The revocation journal as a file. docs/decisions/0058-what-was-ended-stays-ended-after-a-restore.md */
import {
  appendFileSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { createKey, type Keyset, parseKeyset } from '../../../src/secrets/keyset.ts'
import { ConfigurationError } from '../../../src/setting-texts.ts'
import { Unavailable } from '../../../src/store/postgres/postgres.ts'
import { type Journal, openJournal as open, openConfiguredJournal } from '../../../src/store/restore/journal.ts'
import { startTestService } from '../../rig/service.ts'

const folder = mkdtempSync(join(tmpdir(), 'latchkey-journal-'))
afterAll(() => removeFolder(folder))

const keys = parseKeyset(createKey(1)) as Keyset
const openJournal = (path: string) => open(path, keys)
const linesOf = async (journal: Pick<Journal, 'read'>) => (await journal.read()).entries.map(({ line }) => line)
const use = (grant: number) => JSON.stringify({ kind: 'access_token', grant: `grt_${grant}`, generation: 2 })

it('keeps the lines of several writers whole, also after one that was cut off', async () => {
  const path = join(folder, 'several')
  appendFileSync(path, '{"kind":"grant.rev')
  const writers = await Promise.all(Array.from({ length: 5 }, () => openJournal(path)))
  await Promise.all(Array.from({ length: 200 }, (_, at) => writers[at % 5]?.append([use(at)])))
  const grants = (await linesOf(await openJournal(path))).map((line) => 'grant' in line && line.grant)
  expect(grants.toSorted()).toEqual(Array.from({ length: 200 }, (_, at) => `grt_${at}`).toSorted())
})

it('begins a new line after one that another process could not finish', async () => {
  const path = join(folder, 'cut')
  const journal = await openJournal(path)
  await journal.append([use(1)])
  appendFileSync(path, '{"kind":"access_tok')
  await journal.append([use(2)])
  expect(await linesOf(journal)).toMatchObject([{ grant: 'grt_1' }, { grant: 'grt_2' }])
})

it('has all lines about events since a time, in however many bytes they are', async () => {
  const path = join(folder, 'long')
  const journal = await openJournal(path)
  const now = Date.parse('2026-11-19T12:00:00Z')
  // One event per second: a day of them is several megabytes.
  const day = 24 * 60 * 60
  const line = (event: number) => {
    const at = new Date(now + (event - day) * 1000).toISOString().replace('T', ' ').replace('Z', '+00')
    return JSON.stringify({ kind: 'grant.revoked', event, at, grant: `grt_${event}` })
  }
  await journal.append(Array.from({ length: day }, (_, event) => line(event)))
  const since = await journal.readSince(now - 2 * 60 * 60 * 1000)
  const events = new Set(since.map((each) => 'event' in each && each.event))
  expect(Array.from({ length: 7_200 }, (_, at) => day - 7_200 + at).filter((event) => !events.has(event))).toEqual([])
  expect(since.length).toBeLessThan(day)
  expect((await journal.readSince(0)).length).toBe(day)
})

it('appends nothing after a commit that was not confirmed, until it is complete', async () => {
  const path = join(folder, 'doubt')
  const journal = await openJournal(path)
  journal.doubt()
  await expect(journal.append([use(1)])).rejects.toThrow('not confirmed')
  await expect(journal.append([])).rejects.toThrow('not confirmed')
  await expect(journal.complete(() => Promise.reject(new Error('away')))).rejects.toThrow('away')
  expect(journal.inDoubt).toBe(true)
  await journal.complete(async () => {
    // Another one while the first is settled.
    journal.doubt()
    return [use(2)]
  })
  expect(journal.inDoubt).toBe(true)
  await Promise.all([journal.complete(async () => []), journal.complete(async () => [])])
  expect(journal.inDoubt).toBe(false)
  journal.doubt()
  expect(journal.inDoubt).toBe(true)
  await journal.complete(async () => [])
  await journal.append([use(3)])
  expect(await linesOf(journal)).toMatchObject([{ grant: 'grt_1' }, { grant: 'grt_2' }, { grant: 'grt_3' }])
})

/** Two processes that take turns, five lines each. */
async function writeInTurn(path: string) {
  const [one, other] = [await openJournal(path), await openJournal(path)]
  for (let at = 0; at < 5; at += 1) {
    await one.append([use(at)])
    await other.append([use(10 + at)])
  }
  return { journal: one, lines: readFileSync(path, 'utf8').split('\n').filter(Boolean) }
}

describe('of two processes, each with a chain of its own', () => {
  it('every line has a valid proof', async () => {
    const { journal } = await writeInTurn(join(folder, 'complete'))
    const { entries, unproven, gaps } = await journal.read()
    expect(entries.map(({ number }) => number)).toEqual([1, 1, 2, 2, 3, 3, 4, 4, 5, 5])
    expect(new Set(entries.map(({ writer }) => writer)).size).toBe(2)
    expect([unproven, gaps]).toEqual([[], []])
  })

  const changed = async (name: string, change: (lines: string[]) => readonly string[]) => {
    const path = join(folder, name)
    const { journal, lines } = await writeInTurn(path)
    writeFileSync(path, change([...lines]).join('\n'))
    const { entries, unproven, gaps } = await journal.read()
    return { lines: entries.length, unproven: unproven.length, gaps: gaps.map(({ number }) => number) }
  }

  it('a line that was removed is missed, and the others are read', async () => {
    expect(await changed('removed', (lines) => lines.toSpliced(4, 1))).toEqual({ lines: 9, unproven: 0, gaps: [4] })
  })

  it('a line that was altered is neither read nor forgotten', async () => {
    const altered = (lines: string[]) => lines.with(4, lines[4]?.replace('grt_2', 'grt_9') ?? '')
    expect(await changed('altered', altered)).toEqual({ lines: 9, unproven: 1, gaps: [4] })
  })

  it('lines of one that change places are found', async () => {
    const reordered = ([a = '', b = '', c = '', ...lines]: string[]) => [c, b, a, ...lines]
    expect(await changed('reordered', reordered)).toEqual({ lines: 10, unproven: 0, gaps: [1] })
  })

  it('a line that was written by hand is not read', async () => {
    const forged = '{"kind":"account.closed","event":9,"at":"2026-11-19 21:30:00+00","account":"acc_qf2c45s48z23"}'
    expect(await changed('forged', (lines) => [...lines, forged])).toEqual({ lines: 10, unproven: 1, gaps: [] })
  })

  it('a line that a crash cut off is not missed if it was the last one of its process', async () => {
    const cut = (lines: string[]) => lines.with(-1, lines.at(-1)?.slice(0, 60) ?? '')
    expect(await changed('crash', cut)).toEqual({ lines: 9, unproven: 0, gaps: [] })
  })
})

it('has one chain in a renamed file and its successor', async () => {
  const path = join(folder, 'continued')
  const journal = await openJournal(path)
  await journal.append([use(1), use(2)])
  renameSync(path, `${path}.1`)
  await journal.append([use(3)])
  const read = async (...files: string[]) => {
    const { entries, gaps } = await journal.read(files)
    return { lines: entries.length, gaps: gaps.length }
  }
  expect(await read()).toEqual({ lines: 1, gaps: 1 })
  expect(await read(`${path}.1`)).toEqual({ lines: 3, gaps: 0 })
  await expect(read(`${path}.2`)).rejects.toThrow('ENOENT')
})

it('lines that another process had to add say so', async () => {
  const journal = await openJournal(join(folder, 'late'))
  await journal.complete(async () => [use(1)])
  expect(await linesOf(journal)).toEqual([{ kind: 'access_token', grant: 'grt_1', generation: 2, late: true }])
})

it('goes on in a new file after it was renamed', async () => {
  const path = join(folder, 'rotated')
  const journal = await openJournal(path)
  await journal.append([use(1)])
  renameSync(path, `${path}.1`)
  const nothing = { entries: [], unproven: [], gaps: [], retiredKeys: [] }
  expect([await journal.read(), await journal.readEnd(), await journal.readSince(0)]).toEqual([nothing, nothing, []])
  await journal.append([use(2)])
  expect(await linesOf(journal)).toMatchObject([{ grant: 'grt_2' }])
})

it.runIf(process.getuid?.() === 0)(
  'belongs to the owner of its folder if root creates it, and no other file does',
  async () => {
    const own = join(folder, 'own')
    mkdirSync(own)
    chownSync(own, 12_345, 12_345)
    const path = join(own, 'journal')
    const journal = await openJournal(path)
    expect(statSync(path)).toMatchObject({ uid: 12_345, gid: 12_345 })
    renameSync(path, `${path}.1`)
    await journal.append([use(1)])
    expect(statSync(path).uid).toBe(12_345)

    const other = join(folder, 'other')
    writeFileSync(other, '')
    symlinkSync(other, join(own, 'link'))
    await openJournal(join(own, 'link'))
    expect(statSync(other).uid).toBe(0)
  },
)

it('that cannot be opened is reported as a setting', async () => {
  const opening = openConfiguredJournal(join(folder, 'missing', 'journal'), keys)
  await expect(opening).rejects.toThrow(ConfigurationError)
  await expect(opening).rejects.toThrow(/^REVOCATION_JOURNAL, .*, cannot be opened for appending \(ENOENT\)/)
})

it('answers unavailable while it cannot be written, and keeps the lines for later', async () => {
  const path = join(folder, 'unwritable')
  const service = await startTestService({ REVOCATION_JOURNAL: path })
  try {
    const { db, journal } = service.context
    const note = () =>
      db.transaction(async (tx) =>
        tx.journal({ kind: 'access_key', grant: 'grt_9', generation: 2, issuedAt: 0, key: 1 }),
      )
    renameSync(path, `${path}.1`)
    mkdirSync(path)
    await expect(note()).rejects.toThrow(Unavailable)
    // A repetition finds its change made and has no line of its own: it must not be confirmed either.
    await expect(db.transaction((tx) => tx.query('select'))).rejects.toThrow(Unavailable)
    rmdirSync(path)
    await journal?.append([use(3)])
    expect(journal && (await linesOf(journal))).toHaveLength(2)
    await db.transaction((tx) => tx.query('select'))
  } finally {
    await service.stop()
  }
})
