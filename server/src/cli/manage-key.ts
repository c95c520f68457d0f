/** `latchkey manage-key create|list|rotate|revoke`: keys of the management API. */
import type { Command } from 'commander'
import { readConfig } from '../config.ts'
import { BY_COMMAND_LINE } from '../core/audit/actor.ts'
import { DEFAULT_LIFETIME_MS, DEFAULT_OVERLAP_MS, managementScopes } from '../core/manage/key.ts'
import { createKey, type KeyMaker, revokeKey, rotateKey } from '../flows/manage/keys.ts'
import { listManagementKeys, type ManagementKey } from '../store/manage/keys.ts'
import { CommandRefused, type OutputOptions, print } from './client/output.ts'
import { unwrap } from './output.ts'
import { withDatabase } from './wiring.ts'

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS
const DAYS = String(DEFAULT_LIFETIME_MS / DAY_MS)

type CreateOptions = OutputOptions & {
  label: string
  scopes: string
  account?: string
  days: string
  networks: string
}

export function defineManageKey(command: Command): void {
  command
    .command('create')
    .description('Create a key and print it. It is not stored and cannot be printed again.')
    .requiredOption('--label <words>', 'what uses the key; shown in lists and mails')
    .requiredOption('--scopes <list>', `comma-separated, of: ${managementScopes.join(', ')}`)
    .option('--account <slug>', 'the only account that the key reaches; without it, the whole service')
    .option('--days <number>', 'lifetime, at most 366', DAYS)
    .option('--networks <list>', 'the only networks from which it is accepted, comma-separated: 192.0.2.0/24', '')
    .option('--json', 'print one JSON object')
    .action((options: CreateOptions) =>
      asMaker(async (maker) => {
        const { label, account = null, networks } = options
        const scopes = options.scopes.split(/[\s,]+/).filter((scope) => scope !== '')
        const wish = { label, account, scopes, networks, lifetimeMs: readNumber(options.days, 'days') * DAY_MS }
        const { id, key, expiresAt } = unwrap(await createKey(maker, wish))
        const reach = account ?? 'the whole service'
        const words = `Created the management key ${id} for ${reach}, valid until ${iso(expiresAt)}:\n\n  ${key}\n`
        print(options, { id, key, account, scopes, expires_at: iso(expiresAt) }, words)
      }),
    )

  command
    .command('list')
    .description('List keys with their reach, scopes, expiry and last use.')
    .option('--json', 'print one JSON object')
    .action((options: OutputOptions) =>
      withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
        const keys = await listManagementKeys(db, null)
        print(options, { keys: keys.map(fieldsOf) }, keys.map(lineOf).join('\n') || 'There are no management keys.')
      }),
    )

  command
    .command('rotate')
    .description('Replace a key and print the new one. The old one stays valid for the overlap.')
    .argument('<id>', 'id of the key, mgk_…')
    .option('--overlap-hours <number>', 'at most 168', String(DEFAULT_OVERLAP_MS / HOUR_MS))
    .option('--days <number>', 'lifetime of the new key, at most 366', DAYS)
    .option('--json', 'print one JSON object')
    .action((id: string, options: OutputOptions & { overlapHours: string; days: string }) =>
      asMaker(async (maker) => {
        const overlapMs = readNumber(options.overlapHours, 'overlap-hours') * HOUR_MS
        const lifetimeMs = readNumber(options.days, 'days') * DAY_MS
        const { key, expiresAt } = unwrap(await rotateKey(maker, id, { overlapMs, lifetimeMs }))
        const words = `Rotated the management key ${id}. The old one is valid for another ${options.overlapHours} hours, the new one until ${iso(expiresAt)}:\n\n  ${key}\n`
        print(options, { id, key, expires_at: iso(expiresAt) }, words)
      }),
    )

  command
    .command('revoke')
    .description('Revoke a key, at once and in every process.')
    .argument('<id>', 'id of the key, mgk_…')
    .option('--json', 'print one JSON object')
    .action((id: string, options: OutputOptions) =>
      asMaker(async (maker) => {
        unwrap(await revokeKey(maker, id))
        print(options, { id }, `Revoked the management key ${id}.`)
      }),
    )
}

function asMaker(work: (maker: KeyMaker) => Promise<void>): Promise<void> {
  const { databaseUrl, keys, operatorAccount } = readConfig(['databaseUrl', 'keys', 'operatorAccount'])
  return withDatabase(databaseUrl, (db) => work({ db, keys, operatorAccount, actor: BY_COMMAND_LINE }))
}

function readNumber(text: string, name: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new CommandRefused(`--${name} is a whole number.`)
  return Number(text)
}

const iso = (ms: number) => new Date(ms).toISOString()

function fieldsOf(key: ManagementKey) {
  const { id, label, account, scopes, networks, state, expiresAt, lastUsedAt, lastNetwork, previousUntil } = key
  return {
    ...{ id, label, account, scopes, networks, state, expires_at: iso(expiresAt) },
    last_used_at: lastUsedAt === null ? null : iso(lastUsedAt),
    last_network: lastNetwork,
    previous_valid_until: previousUntil === null ? null : iso(previousUntil),
  }
}

function lineOf({ id, label, account, scopes, networks, state, expiresAt, lastUsedAt, lastNetwork }: ManagementKey) {
  const used = lastUsedAt === null ? 'never used' : `last used ${iso(lastUsedAt)} from ${lastNetwork ?? 'unknown'}`
  const within = networks.length === 0 ? '' : `  within ${networks.join(',')}`
  return `${id}  ${account ?? 'service'}  ${state} until ${iso(expiresAt)}, ${used}${within}  ${scopes.join(',')}  ${label}`
}
