/** For a test file: a service with the applications of the examples, and the examples, ended with their test. */
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { type MadeApplication, makeApplication } from '../../../server/test/rig/make.ts'
import { startTestService, type TestService } from '../../../server/test/rig/service.ts'
import { type Program, startExample } from './program.ts'

export type Trying = {
  readonly service: TestService
  /** Public. */
  readonly publicApplication: MadeApplication
  readonly resource: MadeApplication
  start(file: string, environment?: Readonly<Record<string, string>>, args?: readonly string[]): Program
}

/** With a movable clock, and an interval of one second. */
export function useTrying(): Trying {
  let service: TestService
  let publicApplication: MadeApplication
  let resource: MadeApplication
  beforeAll(async () => {
    service = await startTestService({ POLL_INTERVAL: '1' }, { clock: true })
    const { context, config, account } = service
    publicApplication = await makeApplication(context.db, config, account.slug, { public: true })
    resource = await makeApplication(context.db, config, account.slug, { deviceFlow: false, resourceServer: true })
    await context.applications.refresh()
  })
  afterAll(() => service?.stop())
  return {
    get service() {
      return service
    },
    get publicApplication() {
      return publicApplication
    },
    get resource() {
      return resource
    },
    start: (file, environment = {}, args = []) => {
      const settings = {
        LATCHKEY_BASE_URL: service.config.publicUrl,
        LATCHKEY_APP_ID: service.application.id,
        LATCHKEY_APP_SECRET: service.application.secret,
        LATCHKEY_PUBLIC_APP_ID: publicApplication.id,
        LATCHKEY_RESOURCE_ID: resource.id,
        LATCHKEY_RESOURCE_SECRET: resource.secret,
      }
      const program = startExample(file, { ...settings, ...environment }, args)
      onTestFinished(() => program.stop())
      return program
    },
  }
}

/** The code that a program shows, without the spaces. */
export async function codeOf(program: Program): Promise<string> {
  const [, code = ''] = await program.says(/code is ((?:\d{2,3} ?){3,6})/)
  return code.replaceAll(' ', '')
}
