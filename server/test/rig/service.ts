/** A service in this process, on a database of its own, with what most tests start from: an account, a user, an application. */
import { closeContext, createContext, type RunningService, startService } from '../../src/app.ts'
import type { Config } from '../../src/config.ts'
import type { Context } from '../../src/flows/context.ts'
import { enterUserCode, grantDeviceCode, rejectDeviceCode } from '../../src/flows/decide-device-code.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { Device, type WireVariant } from './device.ts'
import { type MadeApplication, type MadeUser, makeAccount, makeApplication, makeConfig, makeUser } from './make.ts'

export type TestService = {
  readonly address: string
  readonly config: Config
  readonly database: TestDatabase
  /** The user's side: flows called as the web interface and the command line call them. */
  readonly context: Context
  readonly account: { id: string; slug: string }
  readonly user: MadeUser
  readonly application: MadeApplication
  device(variant?: WireVariant, application?: MadeApplication): Device
  grant(userCode: string, user?: MadeUser): Promise<string>
  reject(userCode: string, user?: MadeUser): Promise<string>
  stop(): Promise<void>
}

export async function startTestService(
  environment: Record<string, string> = {},
  options: { clock?: boolean; listen?: boolean } = {},
): Promise<TestService> {
  const database = await createTestDatabase(options)
  const config = makeConfig({ DATABASE_URL: database.url, ...environment })
  const running: RunningService | null = options.listen === false ? null : await startService(config)
  const context = running?.context ?? createContext(config)
  const account = await makeAccount(context.db)
  const user = await makeUser(context.db, account.slug)
  const application = await makeApplication(context.db, config, account.slug)
  await context.applications.refresh()

  const decide = async (userCode: string, by: MadeUser, decision: typeof grantDeviceCode | typeof rejectDeviceCode) => {
    const entered = await enterUserCode(context, by.id, userCode)
    if (entered.outcome !== 'claimed') return entered.outcome
    return (await decision(context, by.id, entered.code)).outcome
  }
  const address = running?.address ?? ''
  return {
    address,
    config,
    database,
    context,
    account,
    user,
    application,
    device: (variant = 'oauth', by = application) => new Device(address, by, variant),
    grant: (userCode, by = user) => decide(userCode, by, grantDeviceCode),
    reject: (userCode, by = user) => decide(userCode, by, rejectDeviceCode),
    stop: async () => {
      await (running ? running.stop() : closeContext(context))
      await database.drop()
    },
  }
}
