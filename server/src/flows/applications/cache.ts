/**
 * In-process copy of all applications, so that authentication needs no query. Refreshed from PostgreSQL every second
 * (jobs/background.ts) together with PostgreSQL's clock, so that all processes judge time alike.
 */
import type { Application } from '../../core/applications/application.ts'
import { matchApplicationSecret } from '../../secrets/application-secret.ts'
import type { Keyset } from '../../secrets/keyset.ts'
import { equalSecrets } from '../../secrets/mac.ts'
import {
  type ApplicationChanges,
  readApplicationChanges,
  readEveryApplication,
} from '../../store/applications/applications.ts'
import { markSecretsUsed } from '../../store/applications/own.ts'
import { type History, isContinued } from '../../store/postgres/history.ts'
import type { Postgres } from '../../store/postgres/postgres.ts'

export type ApplicationCopy = {
  /** `reloaded`: PostgreSQL may have lost commits since the last call, and everything was read again. */
  refresh(): Promise<'continued' | 'reloaded'>
  /**
   * The application, if the id is known and the secret is one of its live ones. A null secret is accepted from public
   * applications only, which have none.
   */
  authenticate(id: string, secret: string | null): Application | null
  /** Includes suspended and deleted applications; null if the id never existed. */
  find(id: string): Application | null
  /** PostgreSQL's clock, extrapolated with this process's monotonic clock. */
  now(): number
  /** Stores the day of use for secrets used since the last call. */
  saveUses(): Promise<void>
}

const DAY_MS = 24 * 60 * 60 * 1000

export function createApplicationCopy(db: Postgres, keys: Keyset): ApplicationCopy {
  const applications = new Map<string, Application>()
  /**
   * Last verified secret per application, in plain text: a shortcut past the digest. Every poll carries it, so keeping
   * it in memory exposes nothing new.
   */
  const proven = new Map<string, { readonly text: Buffer; readonly id: string }>()
  /** Day number of the last use, by secret id. */
  const usedOn = new Map<string, number>()
  const unsaved = new Set<string>()
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

  const isLost = (changes: ApplicationChanges) =>
    history !== null && (!isContinued(history, changes.history) || changes.newest < seen)

  return {
    refresh: async () => {
      let asked = performance.now()
      let changes = history ? await readApplicationChanges(db, seen) : await readEveryApplication(db)
      const lost = isLost(changes)
      if (lost) {
        asked = performance.now()
        changes = await readEveryApplication(db)
        applications.clear()
        proven.clear()
        usedOn.clear()
      }
      for (const application of changes.applications) {
        applications.set(application.id, application)
        proven.delete(application.id)
      }
      seen = changes.changed
      history = changes.history
      // PostgreSQL read its clock between the request and its answer, so clamp the offset to the range that this
      // allows.
      clockOffset = Math.min(Math.max(clockOffset, changes.now - performance.now()), changes.now - asked)
      return lost ? 'reloaded' : 'continued'
    },
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
      return application
    },
    find: (id) => applications.get(id) ?? null,
    now,
    saveUses: async () => {
      const ids = [...unsaved]
      if (ids.length === 0) return
      await markSecretsUsed(db, ids)
      for (const id of ids) unsaved.delete(id)
    },
  }
}
