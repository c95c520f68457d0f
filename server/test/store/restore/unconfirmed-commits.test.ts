/** Commits with a revocation journal that PostgreSQL did not confirm. docs/decisions/0058-what-was-ended-stays-ended-after-a-restore.md */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { closeContext, createContext } from '../../../src/app.ts'
import { revokeCredential } from '../../../src/flows/grants/revoke-credential.ts'
import { completeJournal } from '../../../src/flows/restore/settle.ts'
import { makeAccessKey } from '../../../src/secrets/credentials.ts'
import { Unavailable } from '../../../src/store/postgres/postgres.ts'
import { placeIssuedGrant } from '../../races/issued-grants.ts'
import { useOwnTimeouts } from '../../rig/engines/long-timeouts.ts'
import { startOwnPostgres } from '../../rig/engines/own-postgres.ts'
import { runStatements } from '../../rig/engines/postgres-programs.ts'
import { makeAccount, makeApplication, makeConfig, makeUser } from '../../rig/make.ts'

useOwnTimeouts()

const SOON = { timeout: 30_000, interval: 100 }

const cleaning: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const clean of cleaning.splice(0).reverse()) await clean()
})

it('a commit that waits for a lost standby ends within three seconds, and is not confirmed before it is journalled', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-restore-'))
  cleaning.push(() => removeFolder(folder))
  const postgres = await startOwnPostgres()
  cleaning.push(postgres.remove)
  const settings = { DATABASE_URL: postgres.url, REVOCATION_JOURNAL: join(folder, 'revocations.jsonl') }
  const context = await createContext(makeConfig(settings))
  cleaning.push(() => closeContext(context))
  const { db, config, journal } = context
  const account = await makeAccount(db)
  const user = await makeUser(db, account.slug)
  const application = await makeApplication(db, config, account.slug)
  await context.applications.refresh()
  const about = { accountId: account.id, userId: user.id, applicationId: application.id }
  const grant = await placeIssuedGrant(context, { ...about, variant: 'access_key' })
  const { id: applicationId, secret } = application
  const credential = makeAccessKey(config.keys, grant)
  const revoke = () => revokeCredential(context, { applicationId, secret, credential, variant: null })
  const journalled = async () =>
    (await journal?.read())?.entries.some(({ line }) => line.kind === 'grant.revoked' && line.grant === grant.id)
  const waitForStandby = (name: string) =>
    runStatements(postgres.url, `alter system set synchronous_standby_names = '${name}'`, 'select pg_reload_conf()')

  await waitForStandby('lost')
  const began = performance.now()
  await expect(revoke()).rejects.toThrow(Unavailable)
  expect(performance.now() - began).toBeLessThan(4_000)
  await waitForStandby('')
  const { reads } = db
  await expect
    .poll(async () => (await reads.query('select from grants where revoked_at is not null')).rowCount, SOON)
    .toBe(1)
  expect(await journalled()).toBe(false)
  await expect(revoke()).rejects.toThrow('not confirmed')
  await completeJournal(context)
  expect(await journalled()).toBe(true)
  await revoke()
})
