/** Environment of the server part: services in this process, each on a database of its own or in a cell, with three users and two applications. */
import { setTimeout as sleep } from 'node:timers/promises'
// A busy machine is not what this proof is about.
import '../rig/engines/long-timeouts.ts'
import type { Context } from '../../src/flows/context.ts'
import { PUBLISHER, startTestCells } from '../rig/cells.ts'
import { Device } from '../rig/device.ts'
import { engineUrl, type TestDatabase } from '../rig/engines/database.ts'
import { startOwnRedis } from '../rig/engines/own-redis.ts'
import { type MadeApplication, type MadeUser, makeAccount, makeApplication, makeUser } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import type { User } from './core-operations.ts'

type WorldService = Pick<TestService, 'address' | 'application' | 'config' | 'context' | 'device' | 'stop'> & {
  readonly database: Pick<TestDatabase, 'query' | 'advance'>
}

export type World = {
  readonly service: WorldService
  /** `context`: of the cell of their account. */
  readonly users: Readonly<Record<User, MadeUser & { readonly context: Context }>>
  /** The second application, which must learn nothing of the first one's codes. */
  readonly stranger: MadeApplication
  /** Whether one sequence at a time uses this database and its clock. */
  readonly clock: boolean
}

const SETTINGS = {
  POLL_INTERVAL: '1',
  // Not the ten minutes for which an answer is repeated: both would end within the real time that a sequence takes.
  DEVICE_CODE_LIFETIME: '900',
}

export async function startWorld(clock: boolean): Promise<World> {
  const environment = {
    REDIS_URL: engineUrl('REDIS_URL'),
    ...SETTINGS,
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
  const here = (user: MadeUser) => ({ ...user, context })
  return { service, users: { A: here(A), B: here(B), C: here(C) }, stranger, clock }
}

/** In each of three cells one that requests and polls codes there; its users are in the two others. */
export async function startCellWorlds(): Promise<World[]> {
  const redis = await Promise.all([0, 1, 2].map(startOwnRedis))
  const all = await startTestCells((cell) => ({ ...SETTINGS, REDIS_URL: redis[cell]?.url ?? '' }))
  const [home] = all.cells
  if (!home) throw new Error('no cells')
  const stranger = await makeApplication(home.service.context.db, home.service.context.config, PUBLISHER)
  const memberOf = async (id: number) => {
    const { context } = all.cells[id % 3]?.service ?? home.service
    const member = await all.makeMember(id % 3)
    return { ...member, context, colleague: async () => ({ ...(await makeUser(context.db, member.slug)), context }) }
  }
  const advance = () => Promise.reject(new Error('cells have no clock of their own'))
  const { application, query } = all
  return Promise.all(
    all.cells.map(async ({ id, service: { address, context } }) => {
      const service: WorldService = {
        address,
        application,
        context,
        config: context.config,
        database: { query, advance },
        device: (variant = 'oauth', by = application) => new Device(address, by, variant),
        stop: async () => {
          if (id !== home.id) return
          await all.stop()
          await Promise.all(redis.map((each) => each.stop()))
        },
      }
      await knows(service, stranger)
      const [A, C] = [await memberOf(id + 1), await memberOf(id + 2)]
      return { service, users: { A, B: await A.colleague(), C }, stranger, clock: false }
    }),
  )
}

/** The running server pulls new applications each second. */
async function knows(service: WorldService, application: MadeApplication): Promise<void> {
  for (let tries = 0; tries < 50; tries += 1) {
    const answer = await service.device('oauth', application).request()
    if (answer.status === 200) return
    await sleep(100)
  }
  throw new Error('the server does not learn of a new application')
}
