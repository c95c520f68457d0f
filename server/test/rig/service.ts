/** A service in this process on a database of its own, with an account, a user and an application. */
import { onFreePort } from '../../../tools/free-port.ts'
import { closeContext, createContext, type RunningService, startService } from '../../src/app.ts'
import type { Config } from '../../src/config.ts'
import type { Context } from '../../src/flows/context.ts'
import { grantDeviceCode, rejectDeviceCode } from '../../src/flows/device/decide.ts'
import { enterUserCode } from '../../src/flows/device/enter-code.ts'
import { Device, type WireVariant } from './device.ts'
import { createTestDatabase, type TestDatabase } from './engines/database.ts'
import { type MadeApplication, type MadeUser, makeAccount, makeApplication, makeConfig, makeUser } from './make.ts'
import { startUsersElsewhere } from './origins/elsewhere.ts'
import { setElsewhereSettings } from './origins/users-from.ts'
import { Web } from './web.ts'

export type TestService = {
  readonly address: string
  /** Null without METRICS_PORT. */
  readonly metricsAddress: string | null
  readonly config: Config
  readonly database: TestDatabase
  /** The user's side: flows called as the web interface and the command line call them. */
  readonly context: Context
  readonly account: { id: string; slug: string }
  readonly user: MadeUser
  readonly application: MadeApplication
  device(variant?: WireVariant, application?: MadeApplication): Device
  /** A browser at the account's own address; with headers, for example of a proxy or a language. */
  web(headers?: Record<string, string>, slug?: string): Web
  grant(userCode: string, user?: MadeUser): Promise<string>
  reject(userCode: string, user?: MadeUser): Promise<string>
  stop(): Promise<void>
}

/** Requests that the service has received and not answered yet. */
export function requestsInFlight({ context }: TestService): number | null {
  const family = context.counts.requests.families().find(({ name }) => name === 'latchkey_http_requests_in_flight')
  const sample = family?.samples[0]
  return sample && 'value' in sample ? sample.value : null
}

export async function startTestService(
  environment: Record<string, string> = {},
  options: { clock?: boolean; listen?: boolean; operators?: boolean } = {},
): Promise<TestService> {
  const database = await createTestDatabase(options)
  // Its account is the operators' account, so that every page route exists at its address.
  const own = options.operators ? { slug: 'operators' } : {}
  const users = await startUsersElsewhere(environment)
  if (users) setElsewhereSettings(database.url, users.environment)
  const { config, running } = await startOnFreePort(
    { DATABASE_URL: database.url, ...(own.slug ? { OPERATOR_ACCOUNT: own.slug } : {}), ...environment },
    options.listen !== false,
  )
  const context = running?.context ?? (await createContext(config))
  users?.serve(context)
  const account = await makeAccount(context.db, own)
  const user = await makeUser(context.db, account.slug)
  const application = await makeApplication(context.db, config, account.slug)
  await context.applications.refresh()

  const decide = async (userCode: string, by: MadeUser, decision: typeof grantDeviceCode | typeof rejectDeviceCode) => {
    const entered = await enterUserCode(context, by.id, userCode)
    if (entered.outcome !== 'claimed') return entered.outcome
    const decided = await decision(context, by.id, entered.code)
    return decided.outcome === 'prevented' ? decided.by : decided.outcome
  }
  const address = running?.address ?? ''
  return {
    address,
    metricsAddress: running?.metricsAddress ?? null,
    config,
    database,
    context,
    account,
    user,
    application,
    device: (variant = 'oauth', by = application) => new Device(address, by, variant),
    web: (headers = {}, slug = account.slug) => new Web(address, `${slug}.${new URL(config.publicUrl).host}`, headers),
    grant: (userCode, by = user) => decide(userCode, by, grantDeviceCode),
    reject: (userCode, by = user) => decide(userCode, by, rejectDeviceCode),
    stop: async () => {
      await (running ? running.stop() : closeContext(context))
      await users?.stop()
      await database.drop()
    },
  }
}

/** Account hosts are subdomains of PUBLIC_URL with its port, so the port is chosen first. */
function startOnFreePort(
  environment: Record<string, string>,
  listen: boolean,
): Promise<{ config: Config; running: RunningService | null }> {
  return onFreePort(async (port) => {
    const config = makeConfig({ PORT: String(port), PUBLIC_URL: `http://localhost:${port}`, ...environment })
    return { config, running: listen ? await startService(config) : null }
  })
}
