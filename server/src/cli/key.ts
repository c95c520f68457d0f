/** `latchkey key create|announce|retire`: signing keys. */
import type { Command } from 'commander'
import { readConfig } from '../config.ts'
import { announceRetirement, countUse, RETIREMENT_SETTINGS, retireKey } from '../flows/operator/retire-key.ts'
import { createKey } from '../secrets/keyset.ts'
import type { KeyUse } from '../store/operator/signing-keys.ts'
import { CommandRefused, type OutputOptions, print } from './client/output.ts'
import { withDatabase } from './wiring.ts'

export function defineKey(key: Command): void {
  key
    .command('create')
    .description(
      'Print a new entry for LATCHKEY_KEYS. Append it to the list in every process first, then move it to the front to sign with it.',
    )
    .option('--id <number>', 'number of the key, from 1 to 255, unique in LATCHKEY_KEYS', '1')
    .option('--json', 'print one JSON object')
    .action((options: OutputOptions & { id: string }) => {
      const entry = createKey(readId(options.id))
      print(options, { key: entry }, entry)
    })

  key
    .command('announce')
    .description(
      'Send mails to the owners of credentials that must be renewed before a key can be retired, at most one per week.',
    )
    .argument('<id>', 'number of the key')
    .option('--json', 'print one JSON object')
    .action((text: string, options: OutputOptions) => {
      const id = readId(text)
      return withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        const told = await announceRetirement(db, id)
        const { authenticatorOwners, recoveryCodeOwners, administrators } = told
        const words = `Queued ${authenticatorOwners} mails to users with an authenticator, ${recoveryCodeOwners} to users with recovery codes and ${administrators} to administrators.`
        print(options, { id, ...told }, words)
      })
    })

  key
    .command('retire')
    .description('Invalidate a key in every process. Refuses while something that is in use depends on it.')
    .argument('<id>', 'number of the key')
    .option('--dry-run', 'only count what depends on it')
    .option('--force', 'also revoke what depends on it')
    .option('--json', 'print one JSON object')
    .action((text: string, options: OutputOptions & { dryRun?: boolean; force?: boolean }) => {
      const id = readId(text)
      const { databaseUrl, keys, ...lifetimes } = readConfig(RETIREMENT_SETTINGS)
      return withDatabase(databaseUrl, async (db) => {
        const retiring = { db, keys, ...lifetimes }
        if (options.dryRun) {
          const use = await countUse(retiring, id)
          return print(options, { id, ...use }, `Key ${id} is needed by ${inWords(use)}.`)
        }
        const result = await retireKey(retiring, id, options.force ?? false)
        if (result.outcome === 'unknown')
          throw new CommandRefused(`There is no key ${id} in LATCHKEY_KEYS, and none has signed anything.`)
        if (result.outcome === 'signs') throw new CommandRefused(stillSigns(id, result.where))
        if (result.outcome === 'in_use') {
          throw new CommandRefused(
            `Key ${id} is needed by ${inWords(result.use)}. "latchkey key announce ${id}" notifies their owners; --force revokes them.`,
          )
        }
        const words = `Retired key ${id}. Every process rejects it within two seconds; remove it from LATCHKEY_KEYS. Revoked: ${inWords(result.ended)}.`
        print(options, { id, ...result.ended }, words)
      })
    })
}

function readId(text: string): number {
  const id = Number(text)
  if (!(Number.isInteger(id) && id >= 1 && id <= 255)) throw new CommandRefused('A key id is a number from 1 to 255.')
  return id
}

function stillSigns(id: number, where: 'here' | 'elsewhere'): string {
  const first = 'Move another key to the front of LATCHKEY_KEYS'
  if (where === 'here') return `Key ${id} is the signing key. ${first}.`
  return `A process signed with key ${id} less than half a minute ago. ${first} there, restart it, and try again.`
}

const NAMES: Readonly<Record<keyof KeyUse, string>> = {
  applicationSecrets: 'application secrets',
  tokenSets: 'token sets',
  accessKeys: 'access keys',
  authenticators: 'authenticators',
  recoveryCodes: 'recovery codes',
  sessions: 'sessions',
  webhooks: 'webhooks',
  providers: 'client secrets at identity providers',
  managementKeys: 'management keys',
  links: 'links in mails',
  codes: 'codes and dialogs under way',
}

function inWords(use: KeyUse): string {
  const needed = Object.entries(NAMES).flatMap(([name, words]) => {
    const count = use[name as keyof KeyUse]
    return count > 0 ? [`${count} ${words}`] : []
  })
  return needed.length > 0 ? needed.join(', ') : 'nothing'
}
