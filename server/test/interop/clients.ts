/** Applications as OAuth libraries expect them: a dialog, the device flow, and one client authentication method. */
import { CALLBACK, type MadeApplication, makeApplication } from '../rig/make.ts'
import type { TestService } from '../rig/service.ts'

/** The methods in our metadata, `token_endpoint_auth_methods_supported`. */
export const METHODS = ['client_secret_post', 'client_secret_basic', 'none'] as const

export type Method = (typeof METHODS)[number]

export function makeClient(service: TestService, method: Method): Promise<MadeApplication> {
  return make(service, { public: method === 'none', redirectUris: [CALLBACK] })
}

/** A resource server, which introspects credentials of every application. */
export function makeResourceServer(service: TestService): Promise<MadeApplication> {
  return make(service, { deviceFlow: false, resourceServer: true })
}

async function make(
  { context, config, account }: TestService,
  wish: Parameters<typeof makeApplication>[3],
): Promise<MadeApplication> {
  const application = await makeApplication(context.db, config, account.slug, wish)
  await context.applications.refresh()
  return application
}
