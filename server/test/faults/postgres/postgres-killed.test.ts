/** docs/operations.md, "When PostgreSQL or Redis is unavailable": PostgreSQL is killed under load and started again. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { closeContext, createContext } from '../../../src/app.ts'
import type { Context } from '../../../src/flows/context.ts'
import { useOwnTimeouts } from '../../rig/engines/long-timeouts.ts'
import { type OwnPostgres, startOwnPostgres } from '../../rig/engines/own-postgres.ts'
import { makeAccount, makeApplication, makeConfig, makeUser } from '../../rig/make.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { startLoad } from '../load.ts'

useOwnTimeouts()

let postgres: OwnPostgres
let context: Context
let servers: readonly ServerProcess[] = []
beforeAll(async () => {
  postgres = await startOwnPostgres()
  context = await createContext(makeConfig({ DATABASE_URL: postgres.url, POLL_INTERVAL: '1' }))
  const start = () => startServerProcess({ DATABASE_URL: postgres.url, POLL_INTERVAL: '1' })
  servers = await Promise.all([start(), start()])
})
afterAll(async () => {
  await Promise.all(servers.map((server) => server.kill('SIGKILL')))
  await closeContext(context)
  postgres.remove()
})

it('F06: PostgreSQL is killed under load, twice: no decision and no credential that anybody was told of is lost', async () => {
  const account = await makeAccount(context.db)
  const application = await makeApplication(context.db, context.config, account.slug)
  const user = await makeUser(context.db, account.slug)
  await sleep(1_500)
  const load = startLoad({ addresses: servers.map(({ address }) => address), application, context, user })
  for (let kill = 0; kill < 2; kill += 1) {
    await sleep(3_000)
    postgres.kill()
    await sleep(500)
    postgres.start()
  }
  expect(await load.finish()).toEqual([])
  expect(load.totals().collected).toBeGreaterThan(0)
  expect(await load.refusedCredentials()).toEqual([])
  const twice = await context.db.query('select device_code_id from grants group by 1 having count(*) > 1')
  expect(twice.rows).toEqual([])
})
