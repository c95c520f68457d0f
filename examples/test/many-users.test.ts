/** A server with many users: one row each, and one refresh at a time, in however many processes. */
import { readFile } from 'node:fs/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../server/test/rig/connect.ts'
import { grantLine } from '../../server/test/rig/credentials.ts'
import { startTestService, type TestService } from '../../server/test/rig/service.ts'
import { clientOf, userStore } from '../many-users/user-store.ts'

let service: TestService
/** Each process has pools of its own. */
const processes: { readonly db: pg.Pool; readonly locks: pg.Pool }[] = []
beforeAll(async () => {
  service = await startTestService()
  await service.database.query(await readFile(new URL('../many-users/schema.sql', import.meta.url), 'utf8'))
  const connectionString = service.database.url
  for (let each = 0; each < 3; each += 1) {
    processes.push({ db: new pg.Pool({ connectionString, max: 4 }), locks: new pg.Pool({ connectionString, max: 4 }) })
  }
})
afterAll(async () => {
  await Promise.all(processes.flatMap(({ db, locks }) => [db.end(), locks.end()]))
  await service.stop()
})

test('each user has credentials of their own, and many processes refresh them once', async () => {
  const { id: appId, secret: appSecret } = service.application
  const at = { baseUrl: service.address, appId, appSecret }
  const [ann, ben] = [await connect(service), await connect(service)]
  const [first] = processes
  if (!first) throw new Error('there is no process')
  for (const [userId, { credential: accessToken, refreshToken }] of [
    [1, ann],
    [2, ben],
  ] as const) {
    const expired = { issuedAt: Date.now() - 3_600_000, expiresAt: Date.now() - 1_000 }
    const set = {
      variant: 'token_set',
      accessToken,
      refreshToken,
      ...expired,
      scope: ['orders:read'],
      state: '',
    } as const
    await userStore(first.db, first.locks, userId).write(set)
  }
  const clients = [1, 1, 2].flatMap((userId) => processes.map(({ db, locks }) => clientOf(at, db, locks, userId)))
  const bearers = await Promise.all(clients.map((client) => client.bearer()))
  expect(new Set(bearers.slice(0, 6)).size).toBe(1)
  expect(new Set(bearers.slice(6)).size).toBe(1)
  expect(new Set(bearers).size).toBe(2)
  for (const { grantId } of [ann, ben]) expect(await grantLine(service, grantId)).toMatchObject({ generation: 2 })

  await clientOf(at, first.db, first.locks, 1).revoke()
  expect(await userStore(first.db, first.locks, 1).read()).toBeNull()
  expect(await userStore(first.db, first.locks, 2).read()).not.toBeNull()
  expect(await grantLine(service, ann.grantId)).toMatchObject({ revocation_reason: 'revoked_by_application' })
})
