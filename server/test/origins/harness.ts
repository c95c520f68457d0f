/** One database, two built servers of one service, the example service beside them, and one account with an application. */
import '../rig/engines/long-timeouts.ts'
import { startExample } from '../../../examples/test/rig/program.ts'
import { startEngines } from '../../../tools/engines.ts'
import { freePort } from '../../../tools/free-port.ts'
import { closeContext, createContext } from '../../src/app.ts'
import type { Config } from '../../src/config.ts'
import type { Context } from '../../src/flows/context.ts'
import { createTestDatabase, type TestDatabase } from '../rig/engines/database.ts'
import { type MadeApplication, makeAccount, makeApplication, makeConfig, makeUser } from '../rig/make.ts'
import { makeManagementKey } from '../rig/manage.ts'
import { LONG_TIMEOUTS, startServerProcess } from '../rig/process/server-process.ts'

const PROCESSES = 2
export type Harness = {
  readonly context: Context
  readonly config: Config
  readonly database: TestDatabase
  readonly account: { readonly id: string; readonly slug: string }
  /** Of the account's pages. */
  readonly origin: string
  /** Of the example service, and of its API. */
  readonly own: string
  /** Of each server process. */
  readonly addresses: readonly string[]
  readonly resource: MadeApplication
  /** Manages users of the account. */
  readonly managementKey: string
  end(): Promise<void>
}

/** `users`: those of the example service, or of the account's own identity provider. */
export async function openHarness(users: 'host' | 'provider'): Promise<Harness> {
  const engines = await startEngines()
  process.env.DATABASE_URL ??= engines.databaseUrl
  process.env.REDIS_URL ??= engines.redisUrl
  const database = await createTestDatabase()
  const [port, ownPort] = [await freePort(), await freePort()]
  const own = `http://127.0.0.1:${ownPort}`
  const handOver = {
    SIGN_IN_URL: `${own}/latchkey/sign-in`,
    SIGN_IN_KEYS: `${own}/latchkey/keys`,
    SIGN_IN_CREATES: 'users',
    SECOND_FACTOR_ELSEWHERE: 'trusted',
  }
  const environment = {
    DATABASE_URL: database.url,
    REDIS_URL: process.env.REDIS_URL,
    PUBLIC_URL: `http://localhost:${port}`,
    POLL_INTERVAL: '1',
    // The identity provider is on this machine.
    ...(users === 'host' ? handOver : { OUTBOUND_PRIVATE: 'true' }),
  }
  const config = makeConfig(environment)
  const context = await createContext(config)
  const account = await makeAccount(context.db, { slug: 'acme' })
  const asResource = { deviceFlow: false, resourceServer: true }
  const resource = await makeApplication(context.db, config, account.slug, asResource)
  // The last administrator of an account cannot lose the role.
  await makeUser(context.db, account.slug)
  const { key: managementKey } = await makeManagementKey(
    { context, config },
    { account: account.slug, scopes: ['users:write', 'roles:write'] },
  )
  const example = startExample('own-users/server.ts', {
    LATCHKEY_BASE_URL: config.publicUrl,
    LATCHKEY_RESOURCE_ID: resource.id,
    LATCHKEY_RESOURCE_SECRET: resource.secret,
    LATCHKEY_MANAGEMENT_KEY: managementKey,
    ACCOUNT: account.slug,
    PORT: String(ownPort),
  })
  await example.says(/The service is at/)
  // The first is the one that browsers and the example reach; the others must not depend on it.
  const start = (_: unknown, index: number) =>
    startServerProcess({ ...environment, PORT: index === 0 ? String(port) : '0' }, { preload: LONG_TIMEOUTS })
  const servers = await Promise.all(Array.from({ length: PROCESSES }, start))
  return {
    context,
    config,
    database,
    account,
    origin: `http://${account.slug}.localhost:${port}`,
    own,
    addresses: servers.map(({ address }) => address),
    resource,
    managementKey,
    end: async () => {
      await example.stop()
      await Promise.all(servers.map((server) => server.kill('SIGTERM')))
      await closeContext(context)
      await database.drop()
    },
  }
}
