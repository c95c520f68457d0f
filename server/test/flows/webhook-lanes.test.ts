/** Hanging webhook receivers delay neither other receivers nor users nor PostgreSQL. Real times, real sockets. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { BY_COMMAND_LINE } from '../../src/core/audit/actor.ts'
import { createWebhookSender, type WebhookSender } from '../../src/flows/webhooks/send.ts'
import { recordEvent } from '../../src/store/audit/events.ts'
import { type MadeApplication, type MadeUser, makeAccount, makeApplication, makeUser } from '../rig/make.ts'
import { type Receiver, startReceiver } from '../rig/network/receiver.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { deliveriesOf, makeEndpoint } from '../rig/webhooks.ts'

/** Well before a hanging receiver times out, after ten seconds; and enough for a busy machine. */
const SOON_MS = 6_000

let service: TestService
beforeAll(async () => {
  // One connection for all transactions: holding it while waiting for a receiver would be noticed.
  const environment = { OUTBOUND_PRIVATE: 'true', DATABASE_CONNECTIONS: '1' }
  service = await startTestService(environment, { clock: true, listen: false })
})
afterAll(() => service.stop())

const receivers: Receiver[] = []
const senders: WebhookSender[] = []
afterEach(async () => {
  for (const sender of senders.splice(0)) await sender.stop()
  for (const receiver of receivers.splice(0)) await receiver.stop()
  await service.database.query(
    "update webhook_endpoints set disabled_at = now(), disabled_reason = 'removed' where disabled_at is null",
  )
})

async function receive(): Promise<Receiver> {
  const receiver = await startReceiver()
  receivers.push(receiver)
  return receiver
}

/** As the job does every second. */
function sending(): { run(): Promise<void> } {
  const sender = createWebhookSender(service.context)
  senders.push(sender)
  return sender
}

type Owner = { readonly accountId: string; readonly slug: string; readonly by: MadeUser }

async function makeOwner(): Promise<Owner> {
  const account = await makeAccount(service.context.db)
  return { accountId: account.id, slug: account.slug, by: await makeUser(service.context.db, account.slug) }
}

/** An application with this many endpoints at a receiver. `proven`: they answered quickly the last time. */
async function makeHooked(
  receiver: Receiver,
  owner: Owner,
  endpoints: number,
  proven: boolean,
): Promise<MadeApplication> {
  const application = await makeApplication(service.context.db, service.config, owner.slug)
  for (let each = 1; each <= endpoints; each += 1) {
    const { id } = await makeEndpoint(service, `${receiver.url}/${application.id}/${each}`, { application, ...owner })
    await service.database.query('update webhook_endpoints set slow = $2 where id = $1', [id, !proven])
  }
  return application
}

async function happen({ id: applicationId }: MadeApplication, events: number): Promise<void> {
  await service.context.db.transaction(async (tx) => {
    for (let event = 0; event < events; event += 1)
      await recordEvent(tx, { kind: 'application.restored', actor: BY_COMMAND_LINE, applicationId })
  })
}

describe('beside a hanging receiver', () => {
  it('another one of the same application receives everything at once', async () => {
    const [hanging, good] = [await receive(), await receive()]
    hanging.answer('hang')
    const owner = await makeOwner()
    const application = await makeHooked(hanging, owner, 1, true)
    await makeEndpoint(service, good.url, { application, ...owner })
    await happen(application, 20)
    const sender = sending()
    for (const _ of [1, 2, 3]) await sender.run()
    await good.waitFor(20, SOON_MS)
    expect(hanging.connections.opened).toBe(2)
  })

  it('sixty endpoints that never answered take ten lanes; a quick one is served as usual', async () => {
    const [hanging, good] = [await receive(), await receive()]
    hanging.answer('hang')
    for (let account = 0; account < 15; account += 1) {
      await happen(await makeHooked(hanging, await makeOwner(), 4, false), 5)
    }
    const sender = sending()
    await sender.run()
    await hanging.waitFor(10)
    const mine = await makeHooked(good, await makeOwner(), 1, true)
    await happen(mine, 20)
    const began = performance.now()
    await sender.run()
    await good.waitFor(20, SOON_MS)
    expect(performance.now() - began).toBeLessThan(SOON_MS)
    expect(hanging.connections.opened).toBe(10)
  })

  it('decisions and changes of applications are as fast as usual', async () => {
    const hanging = await receive()
    hanging.answer('hang')
    const application = await makeHooked(hanging, await makeOwner(), 5, true)
    await happen(application, 20)
    await sending().run()
    await hanging.waitFor(10)
    const began = performance.now()
    for (let time = 0; time < 20; time += 1) await happen(application, 1)
    expect(performance.now() - began).toBeLessThan(SOON_MS)
    expect(hanging.connections.open).toBe(10)
  })
})

it('one account has ten lanes at most, however many applications and endpoints it has', async () => {
  const [hanging, good] = [await receive(), await receive()]
  hanging.answer('hang')
  const owner = await makeOwner()
  for (let application = 0; application < 4; application += 1)
    await happen(await makeHooked(hanging, owner, 5, true), 3)
  const sender = sending()
  for (const _ of [1, 2, 3]) await sender.run()
  await hanging.waitFor(10)
  const other = await makeHooked(good, await makeOwner(), 1, true)
  await happen(other, 1)
  await sender.run()
  await good.waitFor(1, SOON_MS)
  expect(hanging.connections.opened).toBe(10)
})

describe('an endpoint', () => {
  const slowOf = async (application: MadeApplication) =>
    (await service.database.query('select slow from webhook_endpoints where application_id = $1', [application.id]))[0]

  it('is slow until it has answered within a second, and again when it takes longer', async () => {
    const receiver = await receive()
    const application = await makeHooked(receiver, await makeOwner(), 1, false)
    const sender = createWebhookSender(service.context)
    const send = async () => {
      await happen(application, 1)
      await sender.run()
      await sender.settled()
    }
    expect(await slowOf(application)).toEqual({ slow: true })
    await send()
    expect(await slowOf(application)).toEqual({ slow: false })
    // Quick failures do not delay others.
    receiver.answer(500)
    await send()
    expect(await slowOf(application)).toEqual({ slow: false })
    receiver.answer('hang')
    await send()
    expect(await slowOf(application)).toEqual({ slow: true })
  })
})

describe('a process that stops', () => {
  it('completes quick deliveries, and leaves hanging ones to the next process', async () => {
    const [hanging, good] = [await receive(), await receive()]
    hanging.answer('hang')
    const owner = await makeOwner()
    const [stuck, quick] = [await makeHooked(hanging, owner, 1, true), await makeHooked(good, owner, 1, true)]
    await happen(stuck, 1)
    await happen(quick, 1)
    const sender = createWebhookSender(service.context)
    await sender.run()
    await hanging.waitFor(1)
    const began = performance.now()
    await sender.stop()
    expect(performance.now() - began).toBeLessThan(SOON_MS)
    expect(good.received).toHaveLength(1)
    const [{ id = '' } = {}] = await service.database.query<{ id: string }>(
      'select id from webhook_endpoints where application_id = $1',
      [stuck.id],
    )
    expect(await deliveriesOf(service, id)).toMatchObject([{ attempts: 0, delivered_at: null, given_up_at: null }])
    await happen(quick, 1)
    await sender.run()
    expect(good.received).toHaveLength(1)

    hanging.answer(204)
    await service.database.advance(31_000)
    await sending().run()
    await hanging.waitFor(2)
    const ids = hanging.received.map(({ headers }) => headers['webhook-id'])
    expect(new Set(ids).size).toBe(1)
  })
})
