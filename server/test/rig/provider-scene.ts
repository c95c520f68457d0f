/** A service for a test file, and for each case an account with an identity provider that can misbehave. */
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { connectProvider, PROVIDER_ENVIRONMENT, startProvider, type TestProvider } from './identity-provider.ts'
import { makeAccount } from './make.ts'
import { startTestService, type TestService } from './service.ts'
import type { Web } from './web.ts'

type SceneAccount = { readonly id: string; readonly slug: string }

export type ProviderScene = {
  readonly service: TestService
  /** New in each case. */
  readonly provider: TestProvider
  readonly account: SceneAccount
  connect(
    wanted?: Parameters<typeof connectProvider>[2],
    to?: SceneAccount,
    by?: TestProvider,
  ): ReturnType<typeof connectProvider>
  /** A browser at the account's address. */
  browser(at?: SceneAccount): Web
}

export function useProviderScene(settings: Record<string, string> = {}): ProviderScene {
  let service: TestService
  let provider: TestProvider
  let account: SceneAccount
  beforeAll(async () => {
    service = await startTestService({ ...PROVIDER_ENVIRONMENT, ...settings, LOG_LEVEL: 'silent' }, { clock: true })
  })
  beforeEach(async () => {
    provider = await startProvider()
    account = await makeAccount(service.context.db)
    return () => provider.stop()
  })
  afterAll(() => service.stop())
  return {
    get service() {
      return service
    },
    get provider() {
      return provider
    },
    get account() {
      return account
    },
    connect: (wanted = {}, to = account, by = provider) => connectProvider(service, by, wanted, to),
    browser: (at = account) => service.web({}, at.slug),
  }
}
