/** Webhooks in the console: an administrator adds an endpoint, sees its deliveries, and resends one. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { UNCONNECTED } from '../../src/outbound.ts'
import { wordsFor } from '../../src/pages/ui/words.ts'
import { connect } from '../rig/connect.ts'
import { type MadeUser, makeUser } from '../rig/make.ts'
import { type Receiver, startReceiver } from '../rig/network/receiver.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { signedFor, signInAs } from '../rig/signed-in.ts'
import { textOf, unescapeHtml, type Web } from '../rig/web.ts'
import { verified } from '../rig/webhooks.ts'

const { t } = wordsFor('en')
const PATH = '/developer/application/webhooks'

let service: TestService
let administrator: MadeUser
let web: Web
let receiver: Receiver
let list: string
beforeAll(async () => {
  service = await startTestService({ OUTBOUND_PRIVATE: 'true' })
  administrator = await makeUser(service.context.db, service.account.slug)
})
afterAll(() => service.stop())
beforeEach(async () => {
  receiver = await startReceiver()
  web = await signInAs(service, administrator)
  list = `${PATH}?application=${service.application.id}`
})
afterEach(async () => {
  await receiver.stop()
  await service.database.query(
    "update webhook_endpoints set disabled_at = now(), disabled_reason = 'removed' where disabled_at is null",
  )
})

async function add(url = receiver.url): Promise<string> {
  await web.get(list)
  const page = await web.submit(PATH, { url })
  return /whsec_[\w+/=]+/.exec(unescapeHtml(page.text))?.[0] ?? ''
}

/** Waits for background tasks, at most a few seconds. */
async function until<T>(look: () => Promise<T | false | null | undefined>): Promise<T> {
  for (const late = Date.now() + 8_000; Date.now() < late; ) {
    const found = await look()
    if (found) return found
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error('it did not happen')
}

const shows = (...texts: string[]) =>
  until(async () => {
    const text = textOf((await web.get(list)).text)
    return texts.every((each) => text.includes(each)) && text
  })

describe('an endpoint', () => {
  it('that was not reached reads the same, whether its name is unknown, private, closed, silent or no TLS server', async () => {
    await add()
    const pages = []
    for (const error of UNCONNECTED) {
      await service.database.query(
        `with old as (delete from webhook_deliveries)
         insert into webhook_deliveries (endpoint_id, event_id, kind, data, created_at, due_at, attempts, tried_at, last_error, last_took_ms)
         select id, '0f0e0d0c-0b0a-4908-8706-050403020100', 'webhook.test', '{}', '2026-11-16', now() + interval '1 day', 1, '2026-11-16', $1, 12
         from webhook_endpoints where disabled_at is null`,
        [error],
      )
      const text = textOf((await web.get(list)).text)
      expect(text).toContain(t('webhooks.error_unreachable'))
      pages.push(
        text
          .slice(
            text.indexOf(t('webhooks.error_unreachable')) - 200,
            text.indexOf(t('webhooks.error_unreachable')) + 200,
          )
          .replace(/\d+/g, '0'),
      )
    }
    expect(new Set(pages).size).toBe(1)
  })

  it('is added, shows its secret, and its receiver gets the next grant within seconds', async () => {
    const secret = await add()
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    const { grantId } = await connect(service, { user: administrator })
    const [received] = await receiver.waitFor(1, 8_000)
    if (!received) throw new Error('nothing arrived')
    expect(verified(secret, received)).toMatchObject({ type: 'grant.created', data: { grant: grantId, test: false } })
    await shows('grant.created', t('webhooks.status_delivered'), received.headers['webhook-id'] ?? '')
  })

  it.each([
    ['https://169.254.169.254/latest/meta-data/', null],
    ['http://10.0.0.1/', 'webhooks.problem_scheme'],
    ['nonsense', 'webhooks.problem_not_an_address'],
    ['https://user:pass@hooks.example.com/', 'webhooks.problem_userinfo'],
    ['https://hooks.example.com:22/', 'webhooks.problem_port'],
  ] as const)('at %s comes back with what is wrong with it: %s', async (url, problem) => {
    await web.get(list)
    const page = await web.submit(PATH, { url })
    // Private addresses are allowed in tests and development; other schemes never.
    if (problem === null) return expect(textOf(page.text)).toContain(t('webhook_secret.notice_added'))
    expect([page.status, textOf(page.text)]).toEqual([400, expect.stringContaining(t(problem))])
    expect(unescapeHtml(page.text)).toContain(`value="${url}"`)
  })

  it('is tested: the test arrives, and the log says so', async () => {
    const secret = await add()
    await web.get(list)
    const page = await web.submit(`${PATH}/test`, {})
    expect(textOf(page.text)).toContain(t('webhooks.notice_tested'))
    const [received] = await receiver.waitFor(1, 8_000)
    if (received) expect(verified(secret, received)).toMatchObject({ type: 'webhook.test' })
    await shows('webhook.test', t('webhooks.status_delivered'))
  })

  it('gets a new secret, and both sign', async () => {
    const old = await add()
    await web.get(list)
    const page = await web.submit(`${PATH}/rotate`, {})
    expect(textOf(page.text)).toContain(t('webhook_secret.notice_rotated'))
    const next = /whsec_[\w+/=]+/.exec(unescapeHtml(page.text))?.[0] ?? ''
    expect(next).not.toBe(old)
    await web.get(list)
    await web.submit(`${PATH}/test`, {})
    const [received] = await receiver.waitFor(1, 8_000)
    if (received) for (const secret of [old, next]) verified(secret, received)
    expect(textOf((await web.get(list)).text)).toContain(t('webhooks.both_until'))
  })

  it('is removed, and receives nothing more', async () => {
    await add()
    await web.get(list)
    const page = await web.submit(`${PATH}/remove`, {})
    expect(textOf(page.text)).toContain(t('webhooks.notice_removed'))
    expect(textOf(page.text)).toContain(t('webhooks.none'))
    await connect(service, { user: administrator })
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    expect(receiver.received).toEqual([])
  })
})

describe('a delivery', () => {
  it('that failed shows the error and the next attempt, and is resent at once with the same id', async () => {
    await add()
    receiver.answer(500)
    await connect(service, { user: administrator })
    await shows(
      'grant.created',
      t('webhooks.status_waiting'),
      t('webhooks.answered', { status: '500', seconds: 0 }).slice(0, 12),
      t('webhooks.next'),
    )
    receiver.answer(204)
    await web.get(list)
    const page = await web.submit(`${PATH}/resend`, {})
    expect(textOf(page.text)).toContain(t('webhooks.notice_resent'))
    await receiver.waitFor(2, 4_000)
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    await shows(t('webhooks.status_delivered'))
  })

  it('with an unknown or invalid id is not found', async () => {
    await add()
    for (const delivery of ['999999', '0', "1' or '1'='1", '9'.repeat(30), '']) {
      const form = await signedFor(service, administrator, `${PATH}/resend`, {
        application: service.application.id,
        delivery,
      })
      expect((await web.send('POST', `${PATH}/resend`, form)).status).toBe(404)
    }
  })
})
