/** A service with a revocation journal, whose database is restored from a dump. */
import { mkdtempSync, readFileSync, renameSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { closeContext, createContext } from '../../../src/app.ts'
import { byService } from '../../../src/core/audit/actor.ts'
import type { Context } from '../../../src/flows/context.ts'
import { finishRestore } from '../../../src/flows/restore/operate.ts'
import { settleRestore } from '../../../src/flows/restore/settle.ts'
import { recordEvent } from '../../../src/store/audit/events.ts'
import { type Dump, dumpDatabase } from '../../rig/engines/dumped-database.ts'
import { makeConfig } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

export type JournalledService = {
  readonly service: TestService
  /** Path of the journal. */
  readonly journal: string
  /** The lines of the journal. */
  lines(): string[]
  /** From now on, everything will be lost. */
  dump(): Promise<void>
  /** A process that starts on the dump, and has settled the restore. */
  restore(): Promise<Context>
  finish(context: Context, accepted?: readonly string[], files?: readonly string[]): ReturnType<typeof finishRestore>
  stop(): Promise<void>
}

/** A line of the journal about nothing. */
async function note({ db }: Context): Promise<void> {
  await db.transaction((tx) => recordEvent(tx, { kind: 'code.rejected', actor: byService('test') }))
}

export async function startJournalledService(): Promise<JournalledService> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-journalled-'))
  const journal = join(folder, 'revocations.jsonl')
  const settings = { REVOCATION_JOURNAL: journal }
  const service = await startTestService(settings, { listen: false })
  await settleRestore(service.context)
  const cleaning: (() => Promise<void> | void)[] = [() => service.stop(), () => removeFolder(folder)]
  let kept: Dump | undefined
  return {
    service,
    journal,
    lines: () => readFileSync(journal, 'utf8').split('\n').filter(Boolean),
    dump: async () => {
      kept?.remove()
      // What earlier restores lost is of no interest. The next line, which the dump has, says that nothing is missing before.
      renameSync(journal, `${journal}.${Date.now()}`)
      await note(service.context)
      kept = await dumpDatabase(service.database.url)
    },
    restore: async () => {
      const database = await kept?.restore()
      if (!database) throw new Error('there is no dump')
      const context = await createContext(makeConfig({ ...settings, DATABASE_URL: database.url }))
      cleaning.unshift(async () => {
        await closeContext(context)
        await database.drop()
      })
      await settleRestore(context)
      await context.applications.refresh()
      return context
    },
    finish: ({ db, journal: own, config: { keys } }, accepted = [], files = []) =>
      finishRestore(db, { own, files, keys }, accepted),
    stop: async () => {
      kept?.remove()
      for (const clean of cleaning) await clean()
    },
  }
}
