/** The mail server and the receiver of webhooks are away for an hour: nobody notices, and everything arrives afterwards. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Mailbox, startMailbox } from '../../rig/network/mailbox.ts'
import { type Receiver, startReceiver } from '../../rig/network/receiver.ts'
import { type SwitchingProxy, startSwitchingProxy } from '../../rig/network/switching-proxy.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { deliveriesOf, type MadeEndpoint, makeEndpoint } from '../../rig/webhooks.ts'

const MINUTE = 60_000
const ROUNDS = 6

let mailbox: Mailbox
let way: SwitchingProxy
let receiver: Receiver
let service: TestService
let endpoint: MadeEndpoint
beforeAll(async () => {
  mailbox = await startMailbox()
  way = await startSwitchingProxy(Number(new URL(mailbox.url).port))
  receiver = await startReceiver()
  const settings = { SMTP_URL: `smtp://127.0.0.1:${way.port}`, OUTBOUND_PRIVATE: 'true' }
  service = await startTestService(settings, { clock: true })
  endpoint = await makeEndpoint(service, receiver.url)
})
afterAll(async () => {
  await service.stop()
  await way.stop()
  await mailbox.stop()
  await receiver.stop()
})

const mails = () =>
  service.database.query<{ attempts: number; sent_at: Date | null }>('select attempts, sent_at from mails order by id')

it('F49: while the mail server and the receiver of webhooks refuse connections for an hour, users and devices are served; afterwards every mail and every webhook arrives', async () => {
  way.cut()
  await receiver.stop()
  const device = service.device()
  for (let round = 0; round < ROUNDS; round += 1) {
    const { device_code, user_code } = await device.code()
    expect(await service.grant(user_code)).toBe('granted')
    await expect.poll(async () => (await device.poll(device_code)).status, { timeout: 30_000 }).toBe(200)
    await service.database.advance((60 / ROUNDS) * MINUTE)
  }
  // Each was tried, and none is lost.
  const tried = async () => (await mails()).filter(({ attempts, sent_at }) => attempts > 0 && sent_at === null).length
  await expect.poll(tried, { timeout: 20_000 }).toBe((await mails()).length)
  expect((await mails()).length).toBeGreaterThanOrEqual(3)
  expect(mailbox.mails).toEqual([])

  way.lead(Number(new URL(mailbox.url).port))
  receiver = await startReceiver({ port: receiver.port })
  const left = async () => {
    await service.database.advance(30 * MINUTE)
    const undelivered = (await deliveriesOf(service, endpoint.id)).filter(({ delivered_at }) => delivered_at === null)
    return undelivered.length + (await mails()).filter(({ sent_at }) => sent_at === null).length
  }
  await expect.poll(left, { timeout: 90_000, interval: 2_000 }).toBe(0)
  expect(mailbox.mails.length).toBe((await mails()).length)
  const ids = new Set(receiver.received.map(({ headers }) => headers['webhook-id']))
  const events = await deliveriesOf(service, endpoint.id)
  expect(events.length).toBeGreaterThanOrEqual(ROUNDS)
  expect(ids.size).toBe(events.length)
})
