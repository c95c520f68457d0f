/** The outbox of webhooks: each event arrives at least once, in bounded time, despite failing receivers and processes. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { closeContext, createContext } from '../../../src/app.ts'
import { BY_COMMAND_LINE } from '../../../src/core/audit/actor.ts'
import { resend, rotateEndpointSecret, testEndpoint } from '../../../src/flows/webhooks/manage.ts'
import { createWebhookSender } from '../../../src/flows/webhooks/send.ts'
import { createKey } from '../../../src/secrets/keyset.ts'
import { recordEvent } from '../../../src/store/audit/events.ts'
import { Unavailable } from '../../../src/store/postgres/postgres.ts'
import { takeDueDelivery } from '../../../src/store/webhooks/deliveries.ts'
import { makeConfig } from '../../rig/make.ts'
import { type Receiver, startReceiver } from '../../rig/network/receiver.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import {
  deliveriesOf,
  type MadeEndpoint,
  makeEndpoint,
  sendOnce,
  verified,
  withShortTimeout,
} from '../../rig/webhooks.ts'

const SECOND = 1_000
const HOUR = 3_600_000

let service: TestService
let receiver: Receiver
let endpoint: MadeEndpoint
beforeAll(async () => {
  // Not listening: webhooks are sent when a test says so, not each second.
  service = await startTestService({ OUTBOUND_PRIVATE: 'true' }, { clock: true, listen: false })
})
afterAll(() => service.stop())
beforeEach(async () => {
  await service.database.query("update webhook_endpoints set disabled_at = now(), disabled_reason = 'removed'")
  receiver = await startReceiver()
  endpoint = await makeEndpoint(service, receiver.url)
})
afterEach(() => receiver.stop())

/** Records this many events for the application. */
async function happen(events = 1, applicationId = service.application.id): Promise<void> {
  await service.context.db.transaction(async (tx) => {
    for (let event = 1; event <= events; event += 1) {
      await recordEvent(tx, {
        kind: 'application.warned',
        actor: BY_COMMAND_LINE,
        applicationId,
        detail: { reason: `the ${event}.` },
      })
    }
  })
}

const send = () => sendOnce(withShortTimeout(service.context))
const deliveries = () => deliveriesOf(service, endpoint.id)
const ids = () => receiver.received.map(({ headers }) => headers['webhook-id'])

describe('a delivery', () => {
  it('is sent once, signed according to Standard Webhooks', async () => {
    await happen()
    await send()
    await send()
    expect(receiver.received).toHaveLength(1)
    const [received] = receiver.received
    if (!received) throw new Error('nothing arrived')
    const [delivery] = await deliveries()
    expect(verified(await endpoint.secret(), received)).toEqual({
      type: 'application.warned',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      data: { application: service.application.id, reason: 'the 1.' },
    })
    expect(received.headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-id': `evt_${delivery?.event_id.replaceAll('-', '')}`,
    })
    expect(delivery).toMatchObject({ attempts: 1, last_status: 204, last_error: null, given_up_at: null })
    expect(delivery?.delivered_at).not.toBeNull()
  })

  it('that fails is retried, later each time, with the same id and a new timestamp', async () => {
    receiver.answer((_request, count) => (count <= 3 ? 500 : 200))
    await happen()
    const pauses = [5, 30, 120]
    for (const pause of pauses) {
      await send()
      const [{ due_in_ms = 0 } = {}] = await deliveries()
      expect(due_in_ms).toBeGreaterThan(pause * SECOND - 2_000)
      expect(due_in_ms).toBeLessThanOrEqual(pause * 1.2 * SECOND)
      await send()
      await service.database.advance(pause * 1.2 * SECOND)
    }
    await send()
    expect(receiver.received).toHaveLength(4)
    expect(new Set(ids()).size).toBe(1)
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1)
    const times = receiver.received.map(({ headers }) => Number(headers['webhook-timestamp']))
    expect(times.every((time, at) => at === 0 || time > (times[at - 1] ?? 0))).toBe(true)
    for (const each of receiver.received) verified(await endpoint.secret(), each)
    expect(await deliveries()).toMatchObject([{ attempts: 4, last_status: 200, delivered_at: expect.any(Date) }])
  })

  it('that fails eight times is given up, within 38 hours; resending starts over, with the same id', async () => {
    receiver.answer(503)
    await happen()
    for (let attempt = 1; attempt <= 8; attempt += 1) {
      await send()
      await service.database.advance(29 * HOUR)
    }
    await send()
    expect(receiver.received).toHaveLength(8)
    const [given] = await deliveries()
    expect(given).toMatchObject({ attempts: 8, last_status: 503, given_up_at: expect.any(Date), delivered_at: null })

    receiver.answer(204)
    const by = [service.context, service.user.id, service.application.id] as const
    expect(await resend(...by, String(given?.id))).toEqual({ outcome: 'resent' })
    await send()
    expect(await deliveries()).toMatchObject([{ attempts: 1, given_up_at: null, delivered_at: expect.any(Date) }])
    // A delivered one can be resent, too, for a receiver that lost it.
    await resend(...by, String(given?.id))
    await send()
    expect(receiver.received).toHaveLength(10)
    expect(new Set(ids()).size).toBe(1)
  })

  it('leased by a process that died is sent again after half a minute, and that does not count as an attempt', async () => {
    await happen()
    expect(await takeDueDelivery(service.context.db, endpoint.id)).toMatchObject({ attempts: 0 })
    await send()
    await service.database.advance(29 * SECOND)
    await send()
    expect(receiver.received).toEqual([])
    await service.database.advance(SECOND)
    await send()
    expect(receiver.received).toHaveLength(1)
    expect(await deliveries()).toMatchObject([{ attempts: 1, delivered_at: expect.any(Date) }])
  })

  it('is leased by one of two processes at the same moment', async () => {
    await happen(100)
    const other = await createContext(makeConfig({ DATABASE_URL: service.database.url, OUTBOUND_PRIVATE: 'true' }))
    for (let round = 0; round < 5; round += 1) {
      await Promise.all([service.context, other, service.context, other].map(sendOnce))
    }
    await closeContext(other)
    expect(receiver.received).toHaveLength(100)
    expect(new Set(ids()).size).toBe(100)
  })

  it('that arrived while PostgreSQL was down is sent again, with the same id', async () => {
    await happen()
    const { context } = service
    const query: typeof context.db.query = (statement, values) =>
      String(statement).includes('delivered_at = now()')
        ? Promise.reject(new Unavailable('PostgreSQL: went away'))
        : context.db.query(statement, values)
    await sendOnce({ ...context, db: { ...context.db, query } })
    expect(await deliveries()).toMatchObject([{ attempts: 0, delivered_at: null }])
    await service.database.advance(31 * SECOND)
    await send()
    expect(receiver.received).toHaveLength(2)
    expect(new Set(ids()).size).toBe(1)
    expect(await deliveries()).toMatchObject([{ attempts: 1, delivered_at: expect.any(Date) }])
  })
})

describe('a receiver that', () => {
  it.each([
    ['hang', null, 'timeout'],
    ['drip', null, 'timeout'],
    ['garbage', null, 'broken'],
    ['close', null, 'broken'],
    ['upgrade', null, 'broken'],
    [{ to: 'http://127.0.0.1:1/' }, 302, null],
    [500, 500, null],
    [429, 429, null],
  ] as const)('does this gets the event again, and the log says what it did: %j', async (answer, status, error) => {
    receiver.answer(answer)
    await happen()
    await send()
    expect(await deliveries()).toMatchObject([
      { attempts: 1, delivered_at: null, given_up_at: null, last_status: status, last_error: error },
    ])
    receiver.answer(200)
    await service.database.advance(7 * SECOND)
    await send()
    expect(await deliveries()).toMatchObject([{ attempts: 2, delivered_at: expect.any(Date), last_status: 200 }])
    expect(new Set(ids()).size).toBe(1)
  })

  it.each(['endless', 'cut short', 'drip body'] as const)(
    'answers 200 with a broken body counts as delivered: %s',
    async (answer) => {
      receiver.answer(answer)
      await happen()
      await send()
      expect(await deliveries()).toMatchObject([{ attempts: 1, last_status: 200, delivered_at: expect.any(Date) }])
    },
  )

  it('is unreachable is retried', async () => {
    await receiver.stop()
    await happen()
    await send()
    expect(await deliveries()).toMatchObject([{ attempts: 1, last_error: 'unreachable', delivered_at: null }])
    receiver = await startReceiver({ port: receiver.port })
    await service.database.advance(7 * SECOND)
    await send()
    expect(receiver.received).toHaveLength(1)
  })

  it('answers 410 receives nothing more', async () => {
    receiver.answer(410)
    await happen(3)
    await send()
    await happen()
    await service.database.advance(48 * HOUR)
    await send()
    expect(receiver.received.length).toBeLessThanOrEqual(2)
    const [row] = await service.database.query('select disabled_reason from webhook_endpoints where id = $1', [
      endpoint.id,
    ])
    expect(row).toEqual({ disabled_reason: 'gone' })
    expect(await deliveries()).toHaveLength(3)
    const events = await service.database.query("select detail from audit_events where kind = 'webhook.gone'")
    expect(events).toEqual([{ detail: { endpoint: endpoint.id } }])
  })

  it('answers quickly receives many deliveries per run', async () => {
    await happen(200)
    const sender = createWebhookSender(service.context)
    for (let turn = 1; turn <= 10; turn += 1) {
      await sender.run()
      await sender.settled()
    }
    expect(receiver.received).toHaveLength(200)
    expect(new Set(ids()).size).toBe(200)
  })
})

describe('the secret', () => {
  const rotate = () => rotateEndpointSecret(service.context, service.user.id, service.application.id, endpoint.id)
  const signatures = () => receiver.received.at(-1)?.headers['webhook-signature']?.split(' ').length

  it('that is rotated signs beside the new one for a day', async () => {
    const old = await endpoint.secret()
    expect(await rotate()).toEqual({ outcome: 'rotated' })
    const next = await endpoint.secret()
    expect(next).not.toBe(old)
    await happen()
    await send()
    expect(signatures()).toBe(2)
    const [received] = receiver.received
    if (received) for (const secret of [old, next]) verified(secret, received)
    await service.database.advance(24 * HOUR)
    await happen()
    await send()
    expect(signatures()).toBe(1)
    const last = receiver.received.at(-1)
    if (last) verified(next, last)
    expect(() => last && verified(old, last)).toThrow('No matching signature')
  })

  it('of a retired signing key signs nothing; after a rotation, queued deliveries arrive', async () => {
    const config = makeConfig({
      DATABASE_URL: service.database.url,
      OUTBOUND_PRIVATE: 'true',
      LATCHKEY_KEYS: createKey(9),
    })
    const other = await createContext(config)
    await happen()
    await sendOnce(other)
    expect(receiver.received).toEqual([])
    expect(await deliveries()).toMatchObject([{ attempts: 1, last_error: 'key_retired' }])
    // Nothing was sent, so the endpoint has not answered quickly.
    const slow = 'select slow, last_took_ms from webhook_endpoints e join webhook_deliveries on endpoint_id = e.id'
    expect(await service.database.query(`${slow} where e.id = $1`, [endpoint.id])).toEqual([
      { slow: true, last_took_ms: null },
    ])
    await rotateEndpointSecret(other, service.user.id, service.application.id, endpoint.id)
    await service.database.advance(7 * SECOND)
    await sendOnce(other)
    await closeContext(other)
    expect(receiver.received).toHaveLength(1)
    expect(signatures()).toBe(1)
  })

  it('is in no row', async () => {
    await happen()
    await send()
    await rotate()
    const secret = (await endpoint.secret()).slice('whsec_'.length)
    const [rows] = await service.database.query<{ text: string }>(
      `select (select json_agg(w)::text from webhook_endpoints w) || (select json_agg(d)::text from webhook_deliveries d)
         || (select json_agg(a)::text from audit_events a) as text`,
    )
    const bytes = Buffer.from(secret, 'base64')
    for (const form of [secret, bytes.toString('hex'), bytes.toString('base64url')]) {
      expect(rows?.text).not.toContain(form)
    }
  })
})

describe('a test', () => {
  it('delivery goes to its endpoint only, and one is queued at a time', async () => {
    const second = await makeEndpoint(service, `${receiver.url}/second`)
    const test = () => testEndpoint(service.context, service.user.id, service.application.id, endpoint.id)
    expect([await test(), await test()]).toEqual([{ outcome: 'sent' }, { outcome: 'sent' }])
    await send()
    expect(receiver.received.map((each) => JSON.parse(each.body))).toEqual([
      { type: 'webhook.test', timestamp: expect.any(String), data: { application: service.application.id } },
    ])
    expect(await deliveriesOf(service, second.id)).toEqual([])
    await test()
    await send()
    expect(new Set(ids()).size).toBe(2)
  })
})
