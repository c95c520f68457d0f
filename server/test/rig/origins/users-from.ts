/**
 * Where the users of the tests come from: Latchkey itself, unless `npm run verify -- origins` says otherwise with USERS_FROM. This
 * is the one place that reads it.
 */
import type { Origin } from '../../../src/core/sign-in/origin.ts'
import type { Postgres } from '../../../src/store/postgres/postgres.ts'

export const ORIGINS: readonly Origin[] = ['own', 'host', 'provider']

export const USERS_FROM: Origin = readOrigin(process.env.USERS_FROM ?? 'own')

function readOrigin(text: string): Origin {
  const origin = ORIGINS.find((each) => each === text)
  if (!origin) throw new Error(`USERS_FROM is "${text}", but may be: ${ORIGINS.join(', ')}`)
  return origin
}

/** Where the users of a service sign in, if not at Latchkey. */
export type Elsewhere = {
  /** Users of the operators' account are always its own. */
  readonly operatorAccount: string | null
  addUser(user: { account: string; email: string; roles: readonly string[] }): Promise<{ id: string }>
  /** The user signs in at the address to which the browser was sent; returns the address to which it is sent back. */
  authenticate(address: string, email: string): Promise<URL>
}

const byDatabase = new WeakMap<Postgres, Elsewhere>()
const byHost = new Map<string, Elsewhere>()

const settingsByDatabase = new Map<string, Record<string, string>>()

/** Every process on this database is of the service. */
export function setElsewhereSettings(databaseUrl: string, settings: Record<string, string>): void {
  settingsByDatabase.set(databaseUrl, settings)
}

export function elsewhereSettings(databaseUrl: string | undefined): Record<string, string> {
  return settingsByDatabase.get(databaseUrl ?? '') ?? {}
}

/** `host`: of the service's public address. */
export function setElsewhere(db: Postgres, host: string, elsewhere: Elsewhere): void {
  byDatabase.set(db, elsewhere)
  byHost.set(host, elsewhere)
}

/** Null: the account's users are Latchkey's own. */
export function elsewhereOf(db: Postgres, account: string): Elsewhere | null {
  if (USERS_FROM === 'own') return null
  const elsewhere = byDatabase.get(db)
  if (!elsewhere) throw new Error('users of this service can only be its own: the test needs "own_service"')
  return elsewhere.operatorAccount === account ? null : elsewhere
}

/** By the host of an account's pages. Null: its users are Latchkey's own. */
export function elsewhereAt(host: string): Elsewhere | null {
  const [account = '', ...service] = host.split('.')
  const elsewhere = byHost.get(service.join('.')) ?? null
  return elsewhere?.operatorAccount === account ? null : elsewhere
}
