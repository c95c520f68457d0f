/** Flows of the console for webhooks: endpoints, secrets, and who may manage them. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { BY_COMMAND_LINE } from '../../../src/core/audit/actor.ts'
import { sweep } from '../../../src/flows/sweep.ts'
import {
  addEndpoint,
  readWebhookSecret,
  readWebhooks,
  removeEndpoint,
  resend,
  rotateEndpointSecret,
  testEndpoint,
} from '../../../src/flows/webhooks/manage.ts'
import { recordEvent } from '../../../src/store/audit/events.ts'
import { type MadeApplication, type MadeUser, makeAccount, makeApplication, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { deliveriesOf, makeEndpoint } from '../../rig/webhooks.ts'
import { everyRow } from '../../rig/witness.ts'

const DAY = 24 * 3_600_000
const URL_OF_RECEIVER = 'https://hooks.receiver.example/latchkey'

let service: TestService
let application: MadeApplication
beforeAll(async () => {
  service = await startTestService({}, { clock: true, listen: false })
})
afterAll(() => service.stop())
beforeEach(async () => {
  application = await makeApplication(service.context.db, service.config, service.account.slug)
})

const add = (url: string, by = service.user) => addEndpoint(service.context, by.id, application.id, url)
const read = () => readWebhooks(service.context, service.account.id, application.id)
const happen = () =>
  service.context.db.transaction((tx) =>
    recordEvent(tx, { kind: 'application.restored', actor: BY_COMMAND_LINE, applicationId: application.id }),
  )

describe('an endpoint', () => {
  it('is stored normalised, with a secret that can be shown again', async () => {
    const added = await add('HTTPS://Hooks.Receiver.Example:443/latchkey')
    if (added.outcome !== 'added') throw new Error(added.outcome)
    expect(await read()).toMatchObject({
      endpoints: [{ id: added.endpointId, url: URL_OF_RECEIVER, rotatedAt: null, gone: false }],
      deliveries: [],
    })
    const shown = () => readWebhookSecret(service.context, service.account.id, application.id, added.endpointId)
    const secret = (await shown())?.secret
    expect(secret).toMatch(/^whsec_/)
    expect((await shown())?.secret).toBe(secret)
  })

  it.each([
    ['http://hooks.receiver.example/', 'scheme'],
    ['https://user:pass@hooks.receiver.example/', 'userinfo'],
    ['https://127.0.0.1/', 'private'],
    ['https://[::ffff:169.254.169.254]/', 'private'],
    ['https://2852039166/latest/meta-data/', 'private'],
    ['https://localhost/', 'private'],
    ['https://localhost./', 'private'],
    ['https://redis/', 'private'],
    ['', 'not_an_address'],
  ])('AD-03: at %s is refused with a reason: %s', async (url, problem) => {
    const before = await everyRow(service)
    expect(await add(url)).toEqual({ outcome: 'unfit', problem })
    expect(await everyRow(service)).toEqual(before)
  })

  it('exists once, also if the form is sent twice', async () => {
    expect(
      (await Promise.all([add(URL_OF_RECEIVER), add(URL_OF_RECEIVER)])).map(({ outcome }) => outcome).sort(),
    ).toEqual(['added', 'unfit'])
    expect(await add(URL_OF_RECEIVER)).toEqual({ outcome: 'unfit', problem: 'exists' })
  })

  it('is one of at most five, also when ten are added at the same moment; removing one makes room', async () => {
    const outcomes = await Promise.all(Array.from({ length: 10 }, (_, index) => add(`${URL_OF_RECEIVER}/${index}`)))
    const added = outcomes.flatMap((each) => (each.outcome === 'added' ? [each.endpointId] : []))
    expect(added).toHaveLength(5)
    expect(outcomes.filter(({ outcome }) => outcome === 'unfit')).toEqual(
      new Array(5).fill({ outcome: 'unfit', problem: 'too_many' }),
    )
    const by = [service.context, service.user.id, application.id] as const
    expect(await removeEndpoint(...by, added[0] ?? '')).toEqual({ outcome: 'removed' })
    expect(await removeEndpoint(...by, added[0] ?? '')).toEqual({ outcome: 'not_found' })
    expect((await add(`${URL_OF_RECEIVER}/new`)).outcome).toBe('added')
  })

  it('that is removed loses its log, and nothing can be resent', async () => {
    const { id } = await makeEndpoint(service, URL_OF_RECEIVER, { application })
    await happen()
    const [delivery] = await deliveriesOf(service, id)
    const by = [service.context, service.user.id, application.id] as const
    await removeEndpoint(...by, id)
    expect(await read()).toMatchObject({ endpoints: [], deliveries: [] })
    expect(await resend(...by, String(delivery?.id))).toEqual({ outcome: 'not_found' })
    expect(await rotateEndpointSecret(...by, id)).toEqual({ outcome: 'not_found' })
    expect(await testEndpoint(...by, id)).toEqual({ outcome: 'not_found' })
    expect(await readWebhookSecret(service.context, service.account.id, application.id, id)).toBeNull()
  })

  it('that is gone stays listed, receives nothing, and can be removed', async () => {
    const { id } = await makeEndpoint(service, URL_OF_RECEIVER, { application })
    await happen()
    await service.database.query(
      "update webhook_endpoints set disabled_at = now(), disabled_reason = 'gone' where id = $1",
      [id],
    )
    expect(await read()).toMatchObject({ endpoints: [{ gone: true }], deliveries: [{ off: true }] })
    const by = [service.context, service.user.id, application.id] as const
    const [delivery] = await deliveriesOf(service, id)
    expect(await resend(...by, String(delivery?.id))).toEqual({ outcome: 'not_found' })
    expect(await testEndpoint(...by, id)).toEqual({ outcome: 'not_found' })
    expect((await add(URL_OF_RECEIVER)).outcome).toBe('added')
    expect(await removeEndpoint(...by, id)).toEqual({ outcome: 'removed' })
    expect((await read())?.endpoints).toHaveLength(1)
  })
})

describe('the log', () => {
  it('has the last fifty deliveries of all endpoints, the newest first', async () => {
    for (const path of ['first', 'second']) await makeEndpoint(service, `${URL_OF_RECEIVER}/${path}`, { application })
    for (let event = 0; event < 40; event += 1) await happen()
    const lines = (await read())?.deliveries ?? []
    expect(lines).toHaveLength(50)
    expect(lines.map(({ id }) => id)).toEqual(lines.map(({ id }) => id).sort((a, b) => b - a))
    expect(new Set(lines.map(({ url }) => url)).size).toBe(2)
  })

  it('is deleted after thirty days, and then removed endpoints', async () => {
    const { id } = await makeEndpoint(service, URL_OF_RECEIVER, { application })
    await happen()
    const count = async () => (await read())?.deliveries.length
    await service.database.advance(29 * DAY)
    await sweep(service.context.db, service.config)
    expect(await count()).toBe(1)
    await removeEndpoint(service.context, service.user.id, application.id, id)
    const kept = () => service.database.query('select from webhook_endpoints where id = $1', [id])
    await service.database.advance(2 * DAY)
    await sweep(service.context.db, service.config)
    expect([await deliveriesOf(service, id), (await kept()).length]).toEqual([[], 1])
    await service.database.advance(29 * DAY)
    await sweep(service.context.db, service.config)
    expect(await kept()).toEqual([])
  })
})

describe('AD-05: users', () => {
  async function tryAll(by: MadeUser, accountId: string): Promise<readonly string[]> {
    const { id } = await makeEndpoint(service, URL_OF_RECEIVER, { application })
    await happen()
    const [delivery] = await deliveriesOf(service, id)
    const before = await everyRow(service)
    const { context } = service
    const outcomes = [
      await add('https://evil.example/', by),
      await removeEndpoint(context, by.id, application.id, id),
      await rotateEndpointSecret(context, by.id, application.id, id),
      await testEndpoint(context, by.id, application.id, id),
      await resend(context, by.id, application.id, String(delivery?.id)),
    ]
    if (accountId !== service.account.id) {
      expect(await readWebhooks(context, accountId, application.id)).toBeNull()
      expect(await readWebhookSecret(context, accountId, application.id, id)).toBeNull()
    }
    expect(await everyRow(service)).toEqual(before)
    return outcomes.map(({ outcome }) => outcome)
  }

  it('of another account read nothing and change nothing', async () => {
    const account = await makeAccount(service.context.db)
    const stranger = await makeUser(service.context.db, account.slug)
    expect(await tryAll(stranger, account.id)).toEqual(new Array(5).fill('not_found'))
  })

  it('of the same account who are not administrators are refused', async () => {
    const clerk = await makeUser(service.context.db, service.account.slug, { holds: ['orders:read'] })
    expect(await tryAll(clerk, service.account.id)).toEqual(new Array(5).fill('forbidden'))
  })

  it('of an account cannot reach another’s endpoint or delivery through their own application', async () => {
    const account = await makeAccount(service.context.db)
    const stranger = await makeUser(service.context.db, account.slug)
    const theirs = await makeApplication(service.context.db, service.config, account.slug)
    const { id } = await makeEndpoint(service, URL_OF_RECEIVER, { application })
    await happen()
    const [delivery] = await deliveriesOf(service, id)
    const by = [service.context, stranger.id, theirs.id] as const
    const outcomes = [
      await removeEndpoint(...by, id),
      await rotateEndpointSecret(...by, id),
      await testEndpoint(...by, id),
      await resend(...by, String(delivery?.id)),
    ]
    expect(outcomes).toEqual(new Array(4).fill({ outcome: 'not_found' }))
    expect(await readWebhookSecret(service.context, account.id, theirs.id, id)).toBeNull()
  })
})
