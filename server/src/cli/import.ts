/** `latchkey import users FILE`: adds the users of a file, from CSV or JSON lines. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Command } from 'commander'
import { readConfig } from '../config.ts'
import {
  type ImportedUser,
  problemOfColumns,
  type ReadUser,
  type RefusedLine,
  readCsvUser,
  readJsonUser,
} from '../core/accounts/imported-user.ts'
import { createCsvReader, createLineReader, type TextRecord } from '../core/accounts/record-reader.ts'
import { type ImportSettings, importBatch } from '../flows/accounts/import-users.ts'
import type { Postgres } from '../store/postgres/postgres.ts'
import { CommandRefused, type OutputOptions, print } from './client/output.ts'
import { withDatabase } from './wiring.ts'

/** Users per transaction: what an interruption undoes. */
const BATCH = 500

type Totals = { added: number; existing: number; refused: number }

export function defineImport(command: Command): void {
  command
    .command('users')
    .description('Add the users of a CSV file or of JSON lines. Run again after an interruption, it adds nobody twice.')
    .argument('<file>', 'a file whose name ends with .csv, .jsonl or .ndjson')
    .option('--dry-run', 'check every line and change nothing')
    .option('--json', 'print one JSON object')
    .action((file: string, options: OutputOptions & { dryRun?: boolean }) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        const { dryRun = false } = options
        const totals = await importFile(db, file, { ...readConfig(['operatorAccount', 'signInUrl']), dryRun })
        const { added, existing, refused } = totals
        const words = `${dryRun ? 'Would add' : 'Added'} ${added} users; ${existing} exist already; ${refused} refused.`
        print(options, { ...totals, dry_run: dryRun }, words)
        if (refused > 0) process.exitCode = 1
      }),
    )
}

async function importFile(db: Postgres, file: string, settings: ImportSettings): Promise<Totals> {
  const totals: Totals = { added: 0, existing: 0, refused: 0 }
  const progress = createProgress(await sizeOf(file))
  const report = (refused: readonly RefusedLine[]) => {
    totals.refused += refused.length
    for (const { line, reason } of refused) progress.say(`${file}:${line}: ${reason}`)
  }
  let waiting: ImportedUser[] = []
  const flush = async () => {
    const { added, existing, refused } = await importBatch(db, waiting, settings)
    waiting = []
    totals.added += added
    totals.existing += existing
    report(refused)
  }
  const readUser = createUserReader(file)
  for await (const { record, bytes } of readRecords(file)) {
    const read = readUser(record)
    if (read === null) continue
    if ('refused' in read) report([read.refused])
    else waiting.push(read.user)
    if (waiting.length === BATCH) {
      await flush()
      progress.show(bytes, totals)
    }
  }
  if (waiting.length > 0) await flush()
  progress.end()
  return totals
}

async function sizeOf(file: string): Promise<number> {
  const found = await stat(file).catch(() => null)
  if (!found?.isFile()) throw new CommandRefused(`There is no file ${file}.`)
  return found.size
}

const isCsv = (file: string) => file.toLowerCase().endsWith('.csv')

/** Null for the first line of a CSV file, which names the columns. */
function createUserReader(file: string): (record: TextRecord) => ReadUser | null {
  if (!isCsv(file) && !/\.(jsonl|ndjson)$/i.test(file)) {
    throw new CommandRefused('The name of the file ends with .csv, .jsonl or .ndjson.')
  }
  if (!isCsv(file)) return readJsonUser
  let columns: readonly string[] | null = null
  return (record) => {
    if (columns) return readCsvUser(columns, record)
    columns = (record.cells ?? []).map((cell) => cell.trim().toLowerCase())
    const problem = problemOfColumns(columns)
    if (problem !== null) throw new CommandRefused(problem)
    return null
  }
}

/** `bytes`: how much of the file was read. */
async function* readRecords(file: string): AsyncGenerator<{ readonly record: TextRecord; readonly bytes: number }> {
  const reader = isCsv(file) ? createCsvReader() : createLineReader()
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let bytes = 0
  for await (const chunk of createReadStream(file)) {
    bytes += chunk.length
    for (const record of reader.read(decode(decoder, chunk))) yield { record, bytes }
  }
  decode(decoder)
  for (const record of reader.end()) yield { record, bytes }
}

/** Without a chunk: checks that the file does not end within a character. */
function decode(decoder: TextDecoder, chunk?: Buffer): string {
  try {
    return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode()
  } catch {
    throw new CommandRefused('The file is not UTF-8. Save it as UTF-8 and import it again: nobody is added twice.')
  }
}

const BAR = 30

/** A bar on a terminal; otherwise only the refused lines. Both on standard error, so that the result can be piped. */
function createProgress(size: number) {
  const { stderr } = process
  const begun = performance.now()
  const clear = () => stderr.isTTY && stderr.write('\r\u001b[K')
  return {
    say: (text: string) => {
      clear()
      stderr.write(`${text}\n`)
    },
    show: (bytes: number, { added, existing, refused }: Totals) => {
      if (!stderr.isTTY) return
      const share = size === 0 ? 1 : Math.min(1, bytes / size)
      const done = Math.round(share * BAR)
      const users = added + existing + refused
      const perSecond = Math.round((1000 * users) / (performance.now() - begun))
      clear()
      stderr.write(
        `[${'#'.repeat(done)}${'-'.repeat(BAR - done)}] ${Math.round(share * 100)} %  ${users} users, ${perSecond} a second`,
      )
    },
    end: clear,
  }
}
