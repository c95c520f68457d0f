/** What was open before a restore is closed, however much it is. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openPostgres, type Postgres } from '../../../src/store/postgres/postgres.ts'
import { closeOpen } from '../../../src/store/restore/closing.ts'
import { createTestDatabase, type TestDatabase } from '../../rig/engines/database.ts'
import { makeAccount, makeApplication, makeConfig } from '../../rig/make.ts'

/** More than one batch. */
const CODES = 20_100

let database: TestDatabase
let db: Postgres
beforeAll(async () => {
  database = await createTestDatabase()
  db = openPostgres(database.url, 2)
  const { slug } = await makeAccount(db)
  const { id } = await makeApplication(db, makeConfig({ DATABASE_URL: database.url }), slug)
  const expiresAt = "date_trunc('hour', now()) + interval '2 hours'"
  await database.query(`select make_device_code_partition(${expiresAt})`)
  await database.query(
    `insert into device_codes (id, expires_at, created_at, application_id, variant, status, key_id, user_code_digits,
       user_code_digest, scopes, state, claimed_by, decided_at, grant_id)
     select md5(n::text)::uuid, ${expiresAt}, now(), $1, 'token_set', case when n = 1 then 'accepted' else 'pending' end, 1, 9,
       uuid_send(md5(n::text)::uuid), '{}', '', case when n = 1 then 'usr_1' end, case when n = 1 then now() end,
       case when n = 1 then 'grt_1' end
     from generate_series(1, ${CODES}) n`,
    [id],
  )
})
afterAll(async () => {
  await db.close()
  await database.drop()
})

it('closes every code, in several transactions, and what was granted stays granted', async () => {
  expect(await closeOpen(db)).toEqual({ codes: CODES, dialogs: 0, sessions: 0 })
  const [counts] = await database.query(
    `select count(*)::integer as used, count(distinct xmin::text)::integer as transactions,
       count(*) filter (where outcome = 'accepted' and grant_id is not null)::integer as accepted
     from device_codes where status = 'used'`,
  )
  expect(counts).toEqual({ used: CODES, transactions: 2, accepted: 1 })
  expect(await closeOpen(db)).toEqual({ codes: 0, dialogs: 0, sessions: 0 })
})
