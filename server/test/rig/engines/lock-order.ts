/**
 * Watches every transaction of every test that uses engines: locks are taken in the order of ARCHITECTURE.md, "Lock order". A
 * transaction that takes them in another order fails the test file that ran it.
 */
import pg from 'pg'
import { afterAll, afterEach, expect } from 'vitest'

/** In order: tables by name, for their rows; advisory locks by name up to the colon, after an @. */
export const LOCK_ORDER: readonly (readonly string[])[] = [
  [
    '@device_code_partitions',
    '@judging',
    '@reminding',
    '@audit_seals',
    '@dropping_partitions',
    '@forgetting_grants',
    '@counting_days',
    '@counting_today',
    '@restoring',
  ],
  ['@entry:', '@sign_in:', '@user_code:'],
  ['device_codes', 'dialogs'],
  ['accounts'],
  ['users'],
  ['application_vettings'],
  ['sessions', 'links', 'passkeys', 'authenticators', 'recovery_codes', 'address_changes', '@mails:', 'mails'],
  ['@crowd:', '@external_id:'],
  ['@review:'],
  ['application_test_modes'],
  ['@application_changes'],
  ['applications'],
  ['grants'],
]

/** Several of these only after locking the user's row, so they need no order. */
const OF_ONE_USER = LOCK_ORDER[6] ?? []

/** Rows that are only written under another lock, so they need no order. */
export const GUARDED_BY: Readonly<Record<string, string>> = {
  operator_changes: 'accounts',
  identity_providers: 'accounts',
  identity_provider_roles: 'accounts',
  roles: 'accounts',
  role_scopes: 'accounts',
  user_roles: 'accounts',
  reviews: '@review:',
  review_decisions: '@review:',
  application_secrets: '@application_changes',
  application_proposals: '@application_changes',
}

type Taken = { readonly lock: string; readonly waits: boolean }

/** Everything else comes last. */
function rankOf(lock: string): number {
  const rank = LOCK_ORDER.findIndex((locks) => locks.includes(lock))
  return rank === -1 ? LOCK_ORDER.length : rank
}

function problemOf(lock: string, held: readonly string[]): string | null {
  const guard = GUARDED_BY[lock]
  if (guard !== undefined) return held.includes(guard) ? null : `${lock} without ${guard}`
  const rank = rankOf(lock)
  const ordered = held.filter((each) => GUARDED_BY[each] === undefined)
  const later = ordered.find((each) => rankOf(each) > rank)
  if (later !== undefined) return `${lock} after ${later}`
  const beside = rank < LOCK_ORDER.length && ordered.find((each) => rankOf(each) === rank)
  if (!beside || (OF_ONE_USER.includes(lock) && held.includes('users'))) return null
  return `${lock} beside ${beside}`
}

const ADVISORY = /pg_(try_)?advisory_xact_lock/
const LOCKING =
  /(?<!\b(?:for|key|do) )\bupdate (?:only )?(?<updated>[a-z_]+)|\bdelete from (?<deleted>[a-z_]+)|\bfor (?:no key update|update|share)(?: of (?<alias>\w+))?(?<skips> skip locked)?/g

/** Locks in the order in which a statement names them. Inserts are left out: no other transaction waits for an uncommitted row. */
export function locksOf(text: string, values: readonly unknown[] = []): readonly Taken[] {
  const locks = known.get(text) ?? namedIn(text)
  // A transaction begins with the id of its request, so no two begin alike.
  if (!text.startsWith('begin')) known.set(text, locks)
  return locks.map(({ lock, waits }) => ({ lock: lock === ADVISORY_LOCK ? `@${nameOf(values[0])}` : lock, waits }))
}

/** By text of the statement: the service sends the same few hundred again and again. */
const known = new Map<string, readonly Taken[]>()

/** Stands for the lock whose name is the statement's first value. */
const ADVISORY_LOCK = '@'

const nameOf = (value: unknown) => String(value).replace(/:.*/, ':')

function namedIn(text: string): readonly Taken[] {
  const advisory = ADVISORY.exec(text)
  if (advisory) return [{ lock: ADVISORY_LOCK, waits: advisory[1] === undefined }]
  const sql = text.replace(/\s+/g, ' ')
  return Array.from(sql.matchAll(LOCKING), ({ index, groups = {} }) => {
    const { updated, deleted, alias, skips } = groups
    const named = new RegExp(`(?:from|join) ([a-z_]+) ${alias ?? ''}\\b`)
    const nearest = Array.from(sql.slice(0, index).matchAll(/\b(?:from|join) ([a-z_]+)/g)).at(-1)
    const lock = updated ?? deleted ?? (alias ? named.exec(sql) : nearest)?.[1] ?? '?'
    return { lock, waits: skips === undefined }
  })
}

const problems: string[] = []
const open = new WeakMap<object, string[]>()

/** Violations since the last call. */
export function takeProblems(): readonly string[] {
  return problems.splice(0)
}

function watch(client: object, text: string, values: readonly unknown[] | undefined): void {
  if (/^begin\b/.test(text)) open.set(client, [])
  // Tests only the last nine characters: statements may be long.
  if (/\b(commit|rollback)$/.test(text.slice(-9))) open.delete(client)
  const held = open.get(client)
  if (!held) return
  for (const { lock, waits } of locksOf(text, values)) {
    if (held.includes(lock)) continue
    const problem = waits ? problemOf(lock, held) : null
    if (problem) problems.push(`${problem}: ${[...held, lock].join(' → ')}`)
    held.push(lock)
  }
}

type Query = (first: string | pg.QueryConfig, second?: unknown, ...more: unknown[]) => unknown

/** Wraps the original `query`, not an earlier wrapper: Vitest runs this file again for each test file of a process. */
const client: { query: unknown; unwatched?: Query } = pg.Client.prototype
client.unwatched ??= client.query as Query
const query = client.unwatched
client.query = function (this: object, ...given: Parameters<Query>): unknown {
  const [first, second] = given
  const [text, values] = typeof first === 'string' ? [first, second] : [first.text, first.values ?? second]
  watch(this, text, Array.isArray(values) ? values : undefined)
  return query.apply(this, given)
}

const inOrder = () => expect(takeProblems(), 'ARCHITECTURE.md, "Lock order"').toEqual([])
afterEach(inOrder)
afterAll(inOrder)
