/** Environment of the server part: services in this process, each on a database of its own, with three users and two applications. */
import { setTimeout as sleep } from 'node:timers/promises'
// A busy machine is not what this proof is about.
import '../rig/engines/long-timeouts.ts'
import { engineUrl } from '../rig/engines/database.ts'
import { type MadeApplication, type MadeUser, makeAccount, makeApplication, makeUser } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import type { User } from './core-operations.ts'

export type World = {
  readonly service: TestService
  readonly users: Readonly<Record<User, MadeUser>>
  /** The second application, which must learn nothing of the first one's codes. */
  readonly stranger: MadeApplication
  /** Whether one sequence at a time uses this database and its clock. */
  readonly clock: boolean
}

export async function startWorld(clock: boolean): Promise<World> {
  const environment = {
    REDIS_URL: engineUrl('REDIS_URL'),
    POLL_INTERVAL: '1',
    // Not the ten minutes for which an answer is repeated: both would end within the real time that a sequence takes.
    DEVICE_CODE_LIFETIME: '900',
    DATABASE_CONNECTIONS: clock ? '3' : '10',
  }
  const service = await startTestService(environment, { clock })
  const { context, config, user: A } = service
  const B = await makeUser(context.db, service.account.slug)
  const elsewhere = await makeAccount(context.db)
  const C = await makeUser(context.db, elsewhere.slug)
  const stranger = await makeApplication(context.db, config, elsewhere.slug)
  await context.applications.refresh()
  await knows(service, stranger)
  return { service, users: { A, B, C }, stranger, clock }
}

/** The running server pulls new applications each second. */
async function knows(service: TestService, application: MadeApplication): Promise<void> {
  for (let tries = 0; tries < 50; tries += 1) {
    const answer = await service.device('oauth', application).request()
    if (answer.status === 200) return
    await sleep(100)
  }
  throw new Error('the server does not learn of a new application')
}
