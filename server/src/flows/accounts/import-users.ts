/**
 * Import of users in batches, each in one transaction. A user who exists already is left alone, so an import that was
 * interrupted can be run again with the same file.
 */
import type { ImportedUser, RefusedLine } from '../../core/accounts/imported-user.ts'
import { originOfNewUsers } from '../../core/sign-in/origin.ts'
import { importDigest } from '../../secrets/password.ts'
import { createId } from '../../secrets/random.ts'
import {
  type ImportAccount,
  insertImportedUsers,
  type NewImportedUser,
  readExisting,
  readImportAccounts,
} from '../../store/accounts/imported-users.ts'
import type { Postgres } from '../../store/postgres/postgres.ts'

export type ImportSettings = {
  /** Slug of the operators' account in this environment; null: not said. */
  readonly operatorAccount: string | null
  readonly signInUrl: string | null
  /** Changes nothing. */
  readonly dryRun: boolean
}

export type ImportedBatch = {
  readonly added: number
  readonly existing: number
  readonly refused: readonly RefusedLine[]
}

type Fit = { readonly line: number; readonly user: NewImportedUser }

class DryRun extends Error {
  readonly result: ImportedBatch

  constructor(result: ImportedBatch) {
    super('dry run')
    this.result = result
  }
}

export async function importBatch(
  db: Postgres,
  users: readonly ImportedUser[],
  settings: ImportSettings,
): Promise<ImportedBatch> {
  const accounts = await readImportAccounts(db, [...new Set(users.map(({ account }) => account))])
  const fit: Fit[] = []
  const refused: RefusedLine[] = []
  for (const given of users) {
    const account = accounts.get(given.account)
    const decided = account ? prepare(given, account, settings) : `There is no account "${given.account}".`
    if (typeof decided === 'string') refused.push({ line: given.line, reason: decided })
    else fit.push({ line: given.line, user: decided })
  }
  const result = await insert(db, fit, settings.dryRun)
  return { ...result, refused: [...refused, ...result.refused].sort((a, b) => a.line - b.line) }
}

function insert(db: Postgres, fit: readonly Fit[], dryRun: boolean): Promise<ImportedBatch> {
  return db
    .transaction(async (tx) => {
      const added = await insertImportedUsers(
        tx,
        fit.map(({ user }) => user),
      )
      const rest = fit.filter(({ user }) => !added.has(user.id))
      const existing = await readExisting(
        tx,
        rest.map(({ user }) => user),
      )
      const refused = rest
        .filter(({ user }) => !existing.has(`${user.accountId}/${user.email}`))
        .map(({ line, user }) => ({ line, reason: `Another user has the external id "${user.externalId}".` }))
      const result = { added: added.size, existing: rest.length - refused.length, refused }
      if (dryRun) throw new DryRun(result)
      return result
    })
    .catch((error: unknown) => {
      if (error instanceof DryRun) return error.result
      throw error
    })
}

/** A text says why the user is refused. */
function prepare(given: ImportedUser, account: ImportAccount, settings: ImportSettings): NewImportedUser | string {
  const { operatorAccount, signInUrl } = settings
  // One operator alone gives nobody access: docs/history.md#0040.
  if (account.hasOperators || account.slug === operatorAccount) {
    return 'Users of the operators’ account are not imported: use "latchkey user create".'
  }
  const { email, name, externalId, passwordHash } = given
  const origin = originOfNewUsers({ operators: false, handOver: signInUrl !== null })
  if (origin === 'host' && externalId === null)
    return `Users of "${account.slug}" sign in at ${signInUrl}: give their id there.`
  if (origin === 'host' && passwordHash !== null) return 'A user who signs in elsewhere has no password here.'
  const missing = given.roles.filter((role) => !Object.hasOwn(account.roles, role))
  if (missing.length > 0) return `The account "${account.slug}" has no role "${missing.join('", "')}".`
  const imported = passwordHash === null ? { digest: null } : importDigest(passwordHash)
  if ('problem' in imported) return imported.problem
  const roleIds = given.roles.map((role) => account.roles[role] ?? '')
  return {
    id: createId('usr'),
    accountId: account.id,
    email,
    name,
    origin,
    externalId,
    passwordDigest: imported.digest,
    roleIds,
  }
}
