/** Who takes part in a soak: two servers, of which the second is replaced now and then, users, applications, and receivers. */
import '../../rig/engines/long-timeouts.ts'
import { freePort } from '../../../../tools/free-port.ts'
import { Device } from '../../rig/device.ts'
import { makeDialogApplication } from '../../rig/dialog.ts'
import { type MadeApplication, makeAccount, makeUser } from '../../rig/make.ts'
import { startMailbox } from '../../rig/network/mailbox.ts'
import { startReceiver } from '../../rig/network/receiver.ts'
import { debuggersOf, evaluateWithin } from '../../rig/process/debugger.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { Web } from '../../rig/web.ts'
import { makeEndpoint } from '../../rig/webhooks.ts'
import { COMPLAINT, retryStart } from '../messages/harness.ts'
import { PASSWORD, Person } from './person.ts'

const PEOPLE = 12

/**
 * Options of the servers, so that memory shows what they keep: garbage is collected before each measurement, and the semi-space is
 * small, because V8 sizes the young generation by the last requests (2 to 50 MB measured).
 */
const GC_OPTIONS = ['--expose-gc', '--max-semi-space-size=1', '--inspect=127.0.0.1:0']

export type Scene = {
  /** In this process, with its own way to the engines; its account is that of the operators. */
  readonly own: TestService
  /** One for each server, at the account of the people. */
  readonly services: readonly TestService[]
  readonly applications: { readonly device: MadeApplication; readonly dialog: MadeApplication }
  readonly people: readonly Person[]
  readonly servers: {
    pids(): readonly number[]
    collectGarbage(): Promise<void>
    /** Kills the second one, and starts another on its port. */
    replace(): Promise<void>
    /** Unexpected errors in their logs. */
    complaints(): readonly string[]
  }
  /** Received so far. */
  webhooks(): number
  stop(): Promise<void>
}

export async function openScene(redisUrl: string, random: () => number): Promise<Scene> {
  const ports = [await freePort(), await freePort()]
  const receiver = await startReceiver()
  receiver.answer(() => (random() < 0.1 ? 500 : random() < 0.05 ? 'close' : 204))
  const mailbox = await startMailbox()
  const settings = {
    PUBLIC_URL: `http://localhost:${ports[0]}`,
    REDIS_URL: redisUrl,
    SMTP_URL: mailbox.url,
    OUTBOUND_PRIVATE: 'true',
    POLL_INTERVAL: '1',
    GRANT_RETENTION_DAYS: '7',
    ADDRESS_RETENTION_DAYS: '30',
  }
  const own = await startTestService(
    { ...settings, LOG_LEVEL: 'silent' },
    { clock: true, listen: false, operators: true },
  )
  const account = await makeAccount(own.context.db)
  const dialog = await makeDialogApplication(own)
  await makeEndpoint(own, receiver.url)

  const environment = { ...settings, DATABASE_URL: own.database.url, OPERATOR_ACCOUNT: own.account.slug }
  const start = (port = 0) =>
    retryStart(() => startServerProcess({ ...environment, PORT: String(port) }, { node: GC_OPTIONS }))
  const running: ServerProcess[] = [await start(ports[0]), await start(ports[1])]
  const ended: ServerProcess[] = []

  const { host } = new URL(settings.PUBLIC_URL)
  const services = ports.map((port): TestService => {
    const address = `http://127.0.0.1:${port}`
    return {
      ...own,
      address,
      account,
      device: (variant = 'oauth', by = own.application) => new Device(address, by, variant),
      web: (headers = {}, slug = account.slug) => new Web(address, `${slug}.${host}`, headers),
    }
  })
  const people: Person[] = []
  for (let count = 0; count < PEOPLE; count += 1) {
    const holds = ['orders:read', 'orders:write']
    const user = await makeUser(own.context.db, account.slug, { holds, password: PASSWORD })
    people.push(new Person(user, (services[count % services.length] as TestService).web()))
  }
  return {
    own,
    services,
    applications: { device: own.application, dialog },
    people,
    servers: {
      pids: () => running.map(({ pid }) => pid),
      collectGarbage: async () => {
        const addresses = running.flatMap(({ log }) => debuggersOf(log()).slice(0, 1))
        await Promise.all(addresses.map((address) => evaluateWithin(address, 'gc()')))
      },
      replace: async () => {
        const [first, killed] = running as [ServerProcess, ServerProcess]
        await killed.kill('SIGKILL')
        ended.push(killed)
        running.splice(0, 2, first, await start(ports[1]))
      },
      complaints: () =>
        [...ended, ...running].flatMap(({ log }) =>
          log()
            .split('\n')
            .filter((line) => COMPLAINT.test(line)),
        ),
    },
    webhooks: () => receiver.received.length,
    stop: async () => {
      await Promise.all(running.map((server) => server.kill('SIGTERM')))
      await own.stop()
      await receiver.stop()
      await mailbox.stop()
    },
  }
}
