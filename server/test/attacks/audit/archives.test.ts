/** AD-07 after a month of the audit log was archived: changes of the file, of its record or of the remaining log are detected. */
import { readFileSync, writeFileSync } from 'node:fs'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Events } from '../../../src/events.ts'
import { verifyArchive } from '../../../src/flows/audit/archive-file.ts'
import { createSealer } from '../../../src/flows/audit/seal.ts'
import { recordAt, tamper } from '../../rig/audit.ts'
import { type ArchivedLog, makeKeys, OLDEST, openThreeMonths } from '../../rig/scenes/archived-log.ts'
import { sized } from '../../rig/size.ts'

const keys = makeKeys()
let { database, log, newFile, archive } = {} as ArchivedLog
beforeEach(async () => {
  const opened = await openThreeMonths(keys)
  ;({ database, log, newFile, archive } = opened)
  return opened.remove
})

describe('AD-07: later tampering is detected', () => {
  it('in any byte of the file', async () => {
    const file = newFile()
    await archive(file)
    const bytes = readFileSync(file)
    const undetected: number[] = []
    // Steps that are prime reach each part of a line.
    for (let at = 0; at < bytes.length; at += sized(7, 53)) {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] ?? 0) ^ 1
      writeFileSync(file, changed)
      if ((await verifyArchive(file, keys, null)).problem === null) undetected.push(at)
    }
    expect(undetected).toEqual([])
  })

  it('in the lines of the file', async () => {
    const file = newFile()
    await archive(file)
    const lines = readFileSync(file, 'utf8').split(/(?<=\n)/)
    const kindOf = async (changed: readonly string[]) => {
      writeFileSync(file, changed.join(''))
      return (await verifyArchive(file, keys, null)).problem
    }
    expect(await kindOf(lines.toSpliced(1, 1))).toEqual({ kind: 'changed', line: 2 })
    expect(await kindOf(lines.toSpliced(4, 1))).toEqual({ kind: 'differs' })
    expect(await kindOf(lines.toSpliced(0, 5))).toEqual({ kind: 'differs' })
    expect(await kindOf(lines.slice(0, -1))).toEqual({ kind: 'incomplete' })
    expect(await kindOf(lines.toSpliced(0, 0, '\n'))).toEqual({ kind: 'changed', line: 1 })
    expect(await kindOf([...lines, lines.at(-1) ?? ''])).toMatchObject({ kind: 'changed' })
    expect(await kindOf(lines.map((line) => line.trimEnd()))).toEqual({ kind: 'incomplete' })
    expect(await kindOf([])).toEqual({ kind: 'incomplete' })
    expect(await kindOf(lines)).toBeNull()
    expect((await verifyArchive(file, makeKeys(), null)).problem).toEqual({ kind: 'changed', line: 1 })
  })

  const problemAfter = async (...steps: readonly string[]) =>
    (
      await tamper(log, keys, async (run) => {
        for (const step of steps) await run(step)
      })
    ).problem

  it('in the record', async () => {
    await archive(newFile())
    const bad = { kind: 'archive', position: 1, month: OLDEST }
    expect(await problemAfter('update audit_archives set events = 6')).toEqual(bad)
    expect(await problemAfter("update audit_archives set month = '2001-01'")).toEqual({ ...bad, month: '2001-01' })
    expect(await problemAfter("update audit_archives set sha256 = sha256('')")).toEqual(bad)
    expect(await problemAfter("update audit_archives set runs = jsonb_set(runs, '{0,to}', '5')")).toEqual(bad)
    expect(await problemAfter('update audit_archives set key_id = 2')).toMatchObject({ kind: 'key_missing' })
    expect(await problemAfter('delete from audit_archives')).toEqual({
      kind: 'removed',
      position: 1,
      eventId: null,
      upTo: 4,
    })
  })

  it('in the remaining log', async () => {
    await archive(newFile())
    expect(await problemAfter("update audit_events set kind = 'x' where id = 5")).toMatchObject({
      kind: 'changed',
      position: 5,
    })
    expect(await problemAfter('delete from audit_events where id = 5')).toMatchObject({ kind: 'removed', position: 5 })
    expect(
      await problemAfter(
        'delete from audit_events where id in (5, 7)',
        'delete from audit_seals where position in (5, 7)',
      ),
    ).toEqual({ kind: 'removed', position: 5, eventId: null, upTo: 5 })
  })

  it('in events inserted at archived positions', async () => {
    await archive(newFile())
    const made = `select make_audit_partitions('${OLDEST}-01T00:00:00Z')`
    const event = `insert into audit_events (id, at, kind, actor_kind, actor_id, via, xid)
      values (2, '${OLDEST}-15T12:00:00Z', 'grant.created', 'service', 'test', 'job', '3')`
    expect(await problemAfter(made, event)).toMatchObject({ kind: 'inserted', eventId: '2' })
    const seal = `insert into audit_seals values (2, 2, '${OLDEST}-15T12:00:00Z', '3', 1, sha256(''))`
    expect(await problemAfter(made, event, seal)).not.toBeNull()
  })

  it('and writing to the records of archives is refused', async () => {
    await archive(newFile())
    for (const statement of [
      "update audit_archives set month = '2001-01'",
      'delete from audit_archives',
      'truncate audit_archives',
    ]) {
      await expect(log.db.query(statement)).rejects.toMatchObject({ code: '42501' })
    }
  })
})

describe('a noted head of the chain', () => {
  it('from before the archive is found in the file, at its end, or later in the log', async () => {
    const heads = await database.query<{ position: string; hash: Buffer }>(
      'select position, hash from audit_seals order by position',
    )
    const at = (position: number) => ({ position, hash: heads[position - 1]?.hash ?? Buffer.alloc(0) })
    const file = newFile()
    await archive(file)
    expect(await log.verify(at(2))).toMatchObject({ problem: null, notedIn: OLDEST })
    expect((await verifyArchive(file, keys, at(2))).problem).toBeNull()
    expect((await verifyArchive(file, keys, { ...at(3), position: 2 })).problem).toEqual({
      kind: 'chopped',
      position: 2,
    })
    expect(await log.verify(at(4))).toMatchObject({ problem: null, notedIn: null })
    expect((await log.verify({ ...at(3), position: 4 })).problem).toEqual({ kind: 'chopped', position: 4 })
    expect(await log.verify(at(9))).toMatchObject({ problem: null, notedIn: null })
  })

  it('of a sealing process is not reported missing when its month is archived', async () => {
    const told: number[] = []
    const events = { auditDiffers: (position: number) => told.push(position) } as unknown as Events
    const sealer = createSealer({ db: log.db, config: { keys } as never, events })
    await recordAt(database, `${OLDEST}-20T00:00:00Z`)
    await log.seal()
    await sealer.run()
    await log.record({})
    await log.seal()
    await archive(newFile())
    await sealer.run()
    expect(told).toEqual([])
  })
})
