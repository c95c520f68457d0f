/**
 * All applications, in process: authentication asks no engine. The copy is pulled from PostgreSQL each second
 * (jobs/background.ts), and with it PostgreSQL's clock, so that time judged here is the same time.
 */
import type { Application } from '../../core/applications/application.ts'
import { matchApplicationSecret } from '../../secrets/application-secret.ts'
import type { Keyset } from '../../secrets/keyset.ts'
import { equalSecrets } from '../../secrets/mac.ts'
import { readApplicationChanges } from '../../store/applications/applications.ts'
import { markSecretsUsed } from '../../store/applications/own.ts'
import type { Postgres } from '../../store/postgres/postgres.ts'

export type ApplicationCopy = {
  refresh(): Promise<void>
  /**
   * The application, if the id is known and the secret is one of its live ones. A public application has no secret, and says
   * so by giving none (null); nobody else may.
   */
  authenticate(id: string, secret: string | null): Application | null
  /** Whatever became of it; null when there never was such an application. */
  find(id: string): Application | null
  /** PostgreSQL's clock, carried on by this process's monotonic one. */
  now(): number
  /** Writes down on which day secrets were used, for those that were since the last time. */
  saveUses(): Promise<void>
}

const DAY_MS = 24 * 60 * 60 * 1000

export function createApplicationCopy(db: Postgres, keys: Keyset): ApplicationCopy {
  const applications = new Map<string, Application>()
  /** The secret that an application proved last. Every poll brings it along, so it is no more secret here than there. */
  const proven = new Map<string, { readonly text: Buffer; readonly id: string }>()
  /** By the secret's id: the number of the day on which it was last seen to be used. */
  const usedOn = new Map<string, number>()
  const unsaved = new Set<string>()
  let seen = 0
  let clockOffset = Date.now() - performance.now()

  const now = () => clockOffset + performance.now()
  const noteUse = (secretId: string) => {
    const day = Math.floor(now() / DAY_MS)
    if (usedOn.get(secretId) === day) return
    usedOn.set(secretId, day)
    unsaved.add(secretId)
  }

  return {
    refresh: async () => {
      const asked = performance.now()
      const changes = await readApplicationChanges(db, seen)
      for (const application of changes.applications) {
        applications.set(application.id, application)
        proven.delete(application.id)
      }
      seen = changes.changed
      // PostgreSQL read its clock after it was asked and before its answer was here: what fits in between is kept.
      clockOffset = Math.min(Math.max(clockOffset, changes.now - performance.now()), changes.now - asked)
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
