/**
 * All applications, in process: authentication asks no engine. The copy is pulled from PostgreSQL each second
 * (jobs/background.ts), and with it PostgreSQL's clock, so that time judged here is the same time.
 */
import type { Application } from '../core/application.ts'
import { matchApplicationSecret } from '../secrets/application-secret.ts'
import type { Keyset } from '../secrets/keyset.ts'
import { equalSecrets } from '../secrets/mac.ts'
import { readApplicationChanges } from '../store/applications.ts'
import type { Postgres } from '../store/postgres.ts'

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
}

export function createApplicationCopy(db: Postgres, keys: Keyset): ApplicationCopy {
  const applications = new Map<string, Application>()
  /** The secret that an application proved last. Every poll brings it along, so it is no more secret here than there. */
  const proven = new Map<string, Buffer>()
  let seen = 0
  let clockOffset = Date.now() - performance.now()

  return {
    refresh: async () => {
      const changes = await readApplicationChanges(db, seen)
      for (const application of changes.applications) {
        applications.set(application.id, application)
        proven.delete(application.id)
      }
      seen = changes.changed
      clockOffset = changes.now - performance.now()
    },
    authenticate: (id, secret) => {
      const application = applications.get(id)
      if (secret === null) return application?.public && !application.deleted ? application : null
      const known = proven.get(id)
      if (application && known && equalSecrets(known, Buffer.from(secret))) return application
      const matched = matchApplicationSecret(keys, application?.secrets ?? [], secret)
      if (!application || !matched || application.deleted) return null
      proven.set(id, Buffer.from(secret))
      return application
    },
    find: (id) => applications.get(id) ?? null,
    now: () => clockOffset + performance.now(),
  }
}
