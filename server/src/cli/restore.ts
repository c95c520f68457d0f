/** `latchkey restore check|finish`: what a restore of PostgreSQL undid, and the end of it. docs/operations/backup.md. */
import type { Command } from 'commander'
import { readConfig } from '../config.ts'
import { checkRestore, finishRestore, type Journals, type RestoreState } from '../flows/restore/operate.ts'
import type { RepeatedCounts } from '../flows/restore/repeat.ts'
import type { Postgres } from '../store/postgres/postgres.ts'
import { CommandRefused, type OutputOptions, print } from './client/output.ts'
import { withDatabase } from './wiring.ts'

export function defineRestore(restore: Command): void {
  restore
    .command('check')
    .description(
      'Print whether PostgreSQL was restored, what was ended again, and what an operator has to look at. Changes nothing.',
    )
    .argument('[journals...]', 'revocation journals of other machines, to compare as well')
    .option('--json', 'print one JSON object')
    .action((files: string[], options: OutputOptions) =>
      withJournals(files, async (db, journals) => {
        const state = await checkRestore(db, journals)
        print(options, asJson(state), inWords(state))
      }),
    )

  restore
    .command('finish')
    .description('End again what the journals say, and mark the restore as dealt with.')
    .argument('[journals...]', 'revocation journals of machines that do not run any more')
    .option('--accept <names...>', 'what you have looked at, by the names that "restore check" prints')
    .option('--json', 'print one JSON object')
    .action((files: string[], { accept = [], ...options }: OutputOptions & { readonly accept?: string[] }) =>
      withJournals(files, async (db, journals) => {
        const { repeated, finished, toAccept } = await finishRestore(db, journals, accept)
        if (toAccept.length > 0)
          throw new CommandRefused(
            `${repeatedInWords(repeated)}\nThe restore is not finished. ${openInWords(toAccept)}`,
          )
        const words = finished > 0 ? 'The restore is finished.' : 'There was no unfinished restore.'
        print(options, { repeated, finished }, `${repeatedInWords(repeated)}\n${words}`)
      }),
    )
}

function withJournals<T>(files: readonly string[], work: (db: Postgres, journals: Journals) => Promise<T>): Promise<T> {
  const { databaseUrl, keys } = readConfig(['databaseUrl', 'keys'])
  return withDatabase(databaseUrl, (db, own) => work(db, { own, files, keys }))
}

function asJson({ newest, toAccept, lost }: RestoreState) {
  const at = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString())
  const restore = newest && {
    noticed_at: at(newest.noticedAt),
    lost_since: at(newest.lostSince),
    journalled: newest.journalled,
    repeated: newest.repeated,
    finished: newest.finished,
  }
  return { restore, to_accept: toAccept, not_ended_yet: lost }
}

function inWords({ newest, toAccept, lost }: RestoreState): string {
  const open =
    newest === null || newest.finished
      ? `To look at in the journals:\n${namesInWords(toAccept)}`
      : openInWords(toAccept)
  const left =
    (lost === 0 ? '' : `\n${lost} lines of the journals are missing in PostgreSQL: run "latchkey restore finish".`) +
    (toAccept.length === 0 ? '' : `\n${open}`)
  if (newest === null) return `PostgreSQL was not restored since the service was installed.${left}`
  const { lostSince, noticedAt, journalled, repeated, finished } = newest
  const since = new Date(lostSince ?? noticedAt).toISOString()
  const known = journalled
    ? `The revocation journal has a record of that time.\n${repeatedInWords(repeated)}`
    : 'No revocation journal is configured, so there is no record of what was revoked, suspended, taken away or spent in that time: it may be active again. End it again, then run "latchkey restore finish".'
  const closed = finished ? 'An operator has dealt with it.' : 'It is not finished.'
  return `PostgreSQL was restored or failed over; noticed ${new Date(noticedAt).toISOString()}.
Changes since ${since} may be missing. ${closed}
${known}${left}`
}

/** What each name says, by what it begins with. */
const TO_ACCEPT: Readonly<Record<string, string>> = {
  gap: 'Lines of the journal are missing before this one: what they ended may be active again.',
  unproven: 'Number of lines that the service did not write, or that were altered. They were not applied.',
  'account.without_administrator': 'Its last administrator was dismissed. Make another one.',
  'account.provider_changed': 'The identity provider is set up as it was before the change.',
  'application.test_mode_ended': 'Test mode is on again.',
  'application.vetting_withdrawn': 'The application is approved again.',
  'user.address': 'The user has the e-mail address of before the change.',
  'user.recovery_code_used': 'A recovery code that was used is valid again.',
  'user.recovery_codes_created': 'The recovery codes of before are valid again.',
}

const CHANGED_SINCE = 'What was taken away in the lost time was not taken away again, because it was changed since.'

function openInWords(names: readonly string[]): string {
  return `Look at this, then run "latchkey restore finish --accept ${names.join(' ')}":\n${namesInWords(names)}`
}

function namesInWords(names: readonly string[]): string {
  return names
    .map((name) => `  ${name}\n    ${TO_ACCEPT[name.slice(0, name.indexOf(':'))] ?? CHANGED_SINCE}`)
    .join('\n')
}

const ENDED: Readonly<Record<Exclude<keyof RepeatedCounts, 'lostGrants'>, string>> = {
  codes: 'device codes closed',
  dialogs: 'dialogs closed',
  sessions: 'sessions ended',
  accounts: 'accounts closed',
  users: 'users disabled',
  passwords: 'passwords deleted',
  applications: 'applications suspended or deleted',
  access: 'roles, permissions and settings taken away',
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
