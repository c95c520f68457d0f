/**
 * In-process copy of all applications, so that authentication needs no query. Refreshed from PostgreSQL every second
 * (jobs/background.ts) together with PostgreSQL's clock, so that all processes judge time alike.
 */
import type { Application, ApplicationSecret } from '../../core/applications/application.ts'
import { digestApplicationSecret, matchApplicationSecret } from '../../secrets/application-secret.ts'
import type { Keyset } from '../../secrets/keyset.ts'
import { equalSecrets } from '../../secrets/mac.ts'
import {
  type ApplicationChanges,
  readApplicationChanges,
  readEveryApplication,
} from '../../store/applications/applications.ts'
import { markSecretsUsed, type RehashedSecret, saveRehashedSecrets } from '../../store/applications/own.ts'
import { type History, isContinued } from '../../store/postgres/history.ts'
import type { Postgres } from '../../store/postgres/postgres.ts'

export type ApplicationCopy = {
  /** `reloaded`: PostgreSQL may have lost commits since the last call, and everything was read again. */
  refresh(): Promise<'continued' | 'reloaded'>
  /** Reads everything again. Secrets that were rehashed are not announced, because their old digests are right, too. */
  reload(): Promise<void>
  /**
   * The application, if the id is known and the secret is one of its live ones. A null secret is accepted from public
   * applications only, which have none.
   */
  authenticate(id: string, secret: string | null): Application | null
  /** Includes suspended and deleted applications; null if the id never existed. */
  find(id: string): Application | null
  /** PostgreSQL's clock, extrapolated with this process's monotonic clock. */
  now(): number
  /** Stores the day of use for secrets used since the last call, and hashes them under the signing key. */
  saveUses(): Promise<void>
}

/** Rows per statement; the rest is saved by the next call, a second later. */
const REHASHED_AT_ONCE = 1_000

const DAY_MS = 24 * 60 * 60 * 1000

/** A jump of PostgreSQL's clock that is reported: far more than clocks that are kept in step differ. */
const CLOCK_JUMP_MS = 5_000

export function createApplicationCopy(
  db: Postgres,
  keys: Keyset,
  onClockJump: (ms: number) => void = () => {},
): ApplicationCopy {
  const applications = new Map<string, Application>()
  /**
   * Last verified secret per application, in plain text: a shortcut past the digest. Every poll carries it, so keeping
   * it in memory exposes nothing new.
   */
  const proven = new Map<string, { readonly text: Buffer; readonly id: string }>()
  /** Day number of the last use, by secret id. */
  const usedOn = new Map<string, number>()
  const unsaved = new Set<string>()
  /** By secret id; not saved yet. */
  const rehashed = new Map<string, RehashedSecret>()
  let seen = 0
  let history: History | null = null
  let clockOffset = Date.now() - performance.now()

  const now = () => clockOffset + performance.now()
  const noteUse = (secretId: string) => {
    const day = Math.floor(now() / DAY_MS)
    if (usedOn.get(secretId) === day) return
    usedOn.set(secretId, day)
    unsaved.add(secretId)
  }

  /** A secret that was hashed under an older key is hashed anew, so that no secret in use depends on that key. */
  const rehash = ({ id, keyId: from }: ApplicationSecret, secret: string) => {
    const to = keys.signing.id
    if (from !== to) rehashed.set(id, { id, from, to, digest: digestApplicationSecret(keys, secret) })
  }
  const isLost = (changes: ApplicationChanges) =>
    history !== null && (!isContinued(history, changes.history) || changes.newest < seen)

  const take = (changes: ApplicationChanges, asked: number) => {
    for (const application of changes.applications) {
      applications.set(application.id, application)
      proven.delete(application.id)
    }
    const before = history && clockOffset
    seen = changes.changed
    history = changes.history
    // PostgreSQL read its clock between the request and its answer, so clamp the offset to the range that this allows.
    clockOffset = Math.min(Math.max(clockOffset, changes.now - performance.now()), changes.now - asked)
    const jumpMs = before === null ? 0 : clockOffset - before
    if (Math.abs(jumpMs) > CLOCK_JUMP_MS) onClockJump(jumpMs)
  }
  const reload = async () => {
    const asked = performance.now()
    const all = await readEveryApplication(db)
    applications.clear()
    proven.clear()
    usedOn.clear()
    take(all, asked)
  }

  return {
    refresh: async () => {
      const asked = performance.now()
      const changes = history && (await readApplicationChanges(db, seen))
      const lost = changes !== null && isLost(changes)
      if (changes === null || lost) await reload()
      else take(changes, asked)
      return lost ? 'reloaded' : 'continued'
    },
    reload,
    authenticate: (id, secret) => {
      const application = applications.get(id)
      if (secret === null) return application?.public && !application.deleted ? application : null
      const known = proven.get(id)
      if (application && known && equalSecrets(known.text, Buffer.from(secret))) {
        noteUse(known.id)
        return application
      }
      const matched = matchApplicationSecret(keys, application?.secrets ?? [], secret)
      if (!application || !matched || application.deleted) return null
      proven.set(id, { text: Buffer.from(secret), id: matched.id })
      noteUse(matched.id)
      rehash(matched, secret)
      return application
    },
    find: (id) => applications.get(id) ?? null,
    now,
    saveUses: async () => {
      const ids = [...unsaved]
      if (ids.length > 0) await markSecretsUsed(db, ids)
      for (const id of ids) unsaved.delete(id)
      const moving = [...rehashed.values()].slice(0, REHASHED_AT_ONCE)
      if (moving.length === 0) return
      await saveRehashedSecrets(db, moving)
      for (const { id } of moving) rehashed.delete(id)
    },
  }
}
