/**
 * Signs of life: until when a database was in use shows in it after a restore, and which processes may have seen commits
 * confirmed.
 */
import { markSigning } from '../../store/operator/signing-keys.ts'
import { Unavailable } from '../../store/postgres/postgres.ts'
import { markProcess, removeProcess } from '../../store/restore/processes.ts'
import type { Context } from '../context.ts'

type Active = Pick<Context, 'db' | 'commits' | 'config'>

/** Notes nothing while a restore is not settled, which reads the last sign of life. */
export function noteActivity({ db, commits, config }: Active): Promise<void> {
  return db.transaction(async (tx) => {
    if (await markProcess(tx, commits.processId)) await markSigning(tx, config.keys.signing.id)
  })
}

/** The last commit of a process that stops. Without PostgreSQL, what it saw confirmed stays unproven. */
export async function noteEnd({ db, commits }: Active): Promise<void> {
  await db
    .transaction((tx) => removeProcess(tx, commits.processId))
    .catch((error) => {
      if (!(error instanceof Unavailable)) throw error
    })
}
