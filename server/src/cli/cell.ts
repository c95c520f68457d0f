/** `latchkey cell init|add|reserve|move|list`: cells of a divided installation. docs/scale.md, "Cells". */
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { createCellLink } from '../cell-link.ts'
import { readConfig } from '../config.ts'
import { homeOf } from '../core/cells/map.ts'
import { chooseBuckets } from '../flows/cells/choose-buckets.ts'
import { addCell, countShares, makeFirstCell, reserveBucket } from '../flows/cells/commission.ts'
import { moveBuckets } from '../flows/cells/move.ts'
import { readCellMap } from '../store/cells/map.ts'
import { addProxyCommands } from './cell/proxy.ts'
import { CommandRefused, type OutputOptions, print } from './client/output.ts'
import { unwrap } from './output.ts'
import { withDatabase } from './wiring.ts'

type MoveOptions = OutputOptions & {
  to: string
  account?: string
  count?: string
  sourceDatabaseFile?: string
  targetDatabaseFile?: string
}

type CellOptions = OutputOptions & { name: string; address: string }

export function defineCell(cell: Command): void {
  cell
    .command('init')
    .description('Make this installation the first cell, which is the home cell. Nothing changes for its accounts.')
    .argument('<number>', 'number of the cell, from 0 to 99')
    .requiredOption('--name <name>', 'name of the cell, for operators')
    .requiredOption('--address <url>', 'where its processes answer other cells')
    .option('--json', 'print one JSON object')
    .action((number: string, options: CellOptions) => {
      const { databaseUrl } = readConfig(['databaseUrl'])
      return withDatabase(databaseUrl, async (db) => {
        const { id } = unwrap(await makeFirstCell(db, databaseUrl, newCell(number, options)))
        print(options, { id }, `Cell ${id} is the home cell. Start its processes with CELL=${id}.`)
      })
    })

  cell
    .command('add')
    .description(
      'Add a cell: copy the global tables to its migrated, empty database, and give it its share of buckets and code prefixes. Run it in the home cell. Can be repeated.',
    )
    .argument('<number>', 'number of the new cell')
    .requiredOption('--name <name>', 'name of the cell, for operators')
    .requiredOption('--address <url>', 'where its processes answer other cells')
    .requiredOption('--database-file <file>', 'file with the URL of the new cell’s database, as a superuser')
    .option(
      '--home-database-file <file>',
      'file with DATABASE_URL as the new cell’s PostgreSQL reaches it, if it differs',
    )
    .option('--json', 'print one JSON object')
    .action((number: string, options: CellOptions & { databaseFile: string; homeDatabaseFile?: string }) => {
      const { databaseUrl } = readConfig(['databaseUrl'])
      return withDatabase(databaseUrl, async (db) => {
        const from = options.homeDatabaseFile ? readUrl(options.homeDatabaseFile) : databaseUrl
        const to = readUrl(options.databaseFile)
        const added = unwrap(await addCell(db, databaseUrl, newCell(number, options), to, from))
        const { id, buckets, prefixes } = added
        const words = `Cell ${id} has ${buckets} buckets and ${prefixes} code prefixes. Start its processes with CELL=${id}. For one DEVICE_CODE_LIFETIME and a minute it forwards requests of device codes to the home cell.`
        print(options, added, words)
      })
    })

  cell
    .command('reserve')
    .description(
      'Give an account that will be large a bucket of its own, before it is created. Run it in the home cell.',
    )
    .argument('<account>', 'slug of the account')
    .requiredOption('--cell <number>', 'cell in which the account will be created')
    .option('--json', 'print one JSON object')
    .action((slug: string, options: OutputOptions & { cell: string }) => {
      const { databaseUrl, keys } = readConfig(['databaseUrl', 'keys'])
      const link = createCellLink(keys, () => null)
      return withDatabase(databaseUrl, async (db) => {
        const { bucket } = unwrap(await reserveBucket(db, link, slug, Number(options.cell)))
        print(options, { bucket }, `The account "${slug}" will have bucket ${bucket}, in cell ${options.cell}.`)
      }).finally(link.close)
    })

  cell
    .command('move')
    .description(
      'Move buckets of accounts to another cell while requests are served. Run it in the home cell. If it was interrupted, run it again.',
    )
    .argument('[buckets...]', 'numbers of the buckets, all in the same cell')
    .requiredOption('--to <number>', 'cell that gets them')
    .option('--account <slug>', 'the bucket of this account')
    .option('--count <number>', 'so many buckets of the source')
    .option(
      '--source-database-file <file>',
      'file with the URL of the database that has them, if it is not the home cell’s',
    )
    .option(
      '--target-database-file <file>',
      'file with the URL of the database that gets them, if it is not the home cell’s',
    )
    .option('--json', 'print one JSON object')
    .action((numbers: string[], options: MoveOptions) => {
      const { databaseUrl, dialogCodeLifetimeMs } = readConfig(['databaseUrl', 'dialogCodeLifetimeMs'])
      return withDatabase(databaseUrl, async (home) => {
        const { to, account = null, count = null, sourceDatabaseFile, targetDatabaseFile } = options
        const sourceUrl = sourceDatabaseFile ? readUrl(sourceDatabaseFile) : databaseUrl
        const targetUrl = targetDatabaseFile ? readUrl(targetDatabaseFile) : databaseUrl
        const place = { to: Number(to), sourceUrl, targetUrl }
        const wanted = { buckets: numbers.map(Number), account, count: count === null ? null : Number(count) }
        const buckets = unwrap(await chooseBuckets(home, place, wanted))
        const moved = unwrap(await moveBuckets(home, { ...place, buckets, dialogCodeLifetimeMs }))
        const lines = moved.map(
          ({ bucket, rows, frozenMs }) => `${bucket}\t${rows ?? 'copied before'} rows\tfrozen for ${frozenMs} ms`,
        )
        const words = `${moved.length} of ${buckets.length} buckets moved to cell ${to}.`
        print(options, { moved }, [...lines, words].join('\n'))
      })
    })

  cell
    .command('list')
    .description('List cells with the number of their buckets and code prefixes.')
    .option('--json', 'print one JSON object')
    .action((options: OutputOptions) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        const map = await readCellMap(db)
        const cells = [...map.cells.values()].map((each) => ({ ...each, ...countShares(map, each.id) }))
        const lines = cells.map(
          ({ id, name, address, buckets, prefixes }) =>
            `${id}\t${name}\t${address}\t${buckets} buckets\t${prefixes} prefixes${id === homeOf(map)?.id ? '\thome' : ''}`,
        )
        const words = lines.length > 0 ? lines.join('\n') : 'The installation is not divided into cells.'
        print(options, { version: map.version, cells }, words)
      }),
    )

  addProxyCommands(cell)
}

function newCell(number: string, { name, address }: CellOptions) {
  return { id: /^\d{1,2}$/.test(number) ? Number(number) : -1, name, address }
}

/** URLs contain passwords, and everybody on the machine sees the arguments of a command. */
function readUrl(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new CommandRefused(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown error'}.`)
  }
}
