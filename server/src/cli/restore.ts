/** `latchkey restore check|finish`: what a restore of PostgreSQL undid, and the end of it. docs/operations/backup.md. */
import type { Command } from 'commander'
import { readConfig } from '../config.ts'
import { checkRestore, finishRestore, type RestoreState } from '../flows/restore/operate.ts'
import type { RepeatedCounts } from '../flows/restore/repeat.ts'
import { openConfiguredJournal } from '../store/restore/journal.ts'
import { type OutputOptions, print } from './client/output.ts'
import { withDatabase } from './wiring.ts'

export function defineRestore(restore: Command): void {
  restore
    .command('check')
    .description(
      'Print whether PostgreSQL was restored, what was ended again, and what cannot be known. Changes nothing.',
    )
    .argument('[journals...]', 'revocation journals of other machines, to compare as well')
    .option('--json', 'print one JSON object')
    .action((files: string[], options: OutputOptions) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        const journal = await openConfiguredJournal(readConfig(['revocationJournal']).revocationJournal)
        const state = await checkRestore({ db, journal }, files)
        print(options, asJson(state), inWords(state))
      }),
    )

  restore
    .command('finish')
    .description('End again what the journals say, and mark the restore as dealt with.')
    .argument('[journals...]', 'revocation journals of machines that do not run any more')
    .option('--json', 'print one JSON object')
    .action((files: string[], options: OutputOptions) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        const journal = await openConfiguredJournal(readConfig(['revocationJournal']).revocationJournal)
        const { repeated, finished } = await finishRestore({ db, journal }, files)
        const words = finished > 0 ? 'The restore is finished.' : 'There was no unfinished restore.'
        print(options, { repeated, finished }, `${repeatedInWords(repeated)}\n${words}`)
      }),
    )
}

function asJson({ newest, lost }: RestoreState) {
  const at = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString())
  const restore = newest && {
    noticed_at: at(newest.noticedAt),
    lost_since: at(newest.lostSince),
    journalled: newest.journalled,
    repeated: newest.repeated,
    finished: newest.finished,
  }
  return { restore, not_ended_yet: lost }
}

function inWords({ newest, lost }: RestoreState): string {
  const left =
    lost === 0 ? '' : `\n${lost} lines of the journals are missing in PostgreSQL: run "latchkey restore finish".`
  if (newest === null) return `PostgreSQL was not restored since the service was installed.${left}`
  const { lostSince, noticedAt, journalled, repeated, finished } = newest
  const since = new Date(lostSince ?? noticedAt).toISOString()
  const known = journalled
    ? `The revocation journal has a record of that time.\n${repeatedInWords(repeated)}`
    : 'No revocation journal is configured, so there is no record of what was revoked, suspended or spent in that time: it may be active again. Revoke and suspend it again, then run "latchkey restore finish".'
  const closed = finished ? 'An operator has dealt with it.' : 'It is not finished.'
  return `PostgreSQL was restored or failed over; noticed ${new Date(noticedAt).toISOString()}.
Changes since ${since} may be missing. ${closed}
${known}${left}`
}

const ENDED: Readonly<Record<Exclude<keyof RepeatedCounts, 'lostGrants'>, string>> = {
  codes: 'device codes closed',
  dialogs: 'dialogs closed',
  sessions: 'sessions ended',
  accounts: 'accounts closed',
  users: 'users disabled',
  passwords: 'passwords deleted',
  applications: 'applications suspended or deleted',
  secrets: 'application secrets revoked',
  keys: 'keys revoked',
  grants: 'grants revoked',
  generations: 'refresh tokens and access keys replaced',
}

/** One line for each kind. */
function repeatedInWords({ lostGrants = 0, ...counts }: Readonly<Partial<RepeatedCounts>>): string {
  const kinds = Object.entries(ENDED) as [keyof typeof ENDED, string][]
  const ended = kinds.flatMap(([kind, words]) => (counts[kind] ? [`  ${counts[kind]} ${words}`] : []))
  const lost = lostGrants === 0 ? [] : [`Grants of that time that are lost: ${lostGrants}.`]
  return [...(ended.length === 0 ? ['Nothing had to be ended again.'] : ['Ended again:', ...ended]), ...lost].join('\n')
}
