/** AD-03 to AD-05: webhooks with internal addresses, additional fields, and endpoints of others. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { BY_COMMAND_LINE } from '../../../src/core/audit/actor.ts'
import { registerApplication } from '../../../src/flows/applications/own.ts'
import { readWebhooks } from '../../../src/flows/webhooks/manage.ts'
import { createOutbound } from '../../../src/outbound.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { recordEvent } from '../../../src/store/audit/events.ts'
import { makeSettings } from '../../rig/application-settings.ts'
import { type MadeUser, makeAccount, makeUser } from '../../rig/make.ts'
import { type NameServer, startNameServer } from '../../rig/network/name-server.ts'
import { makeCertificate, type Receiver, startReceiver } from '../../rig/network/receiver.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { signedFor, signInAs } from '../../rig/signed-in.ts'
import { textOf, unescapeHtml, type Web } from '../../rig/web.ts'
import { deliveriesOf, makeDelivered, makeEndpoint, sendOnce } from '../../rig/webhooks.ts'
import { everyRow } from '../../rig/witness.ts'

const { t } = wordsFor('en')
const PATH = '/developer/application/webhooks'
const NAME = 'hooks.receiver.example'
/** Not allocated by IANA, so nobody listens there; but a public address. */
const NOBODY = '3000::1'

let service: TestService
/** Without a listener, so that webhooks are sent only when a test says so. */
let quiet: TestService
let administrator: MadeUser
let web: Web
let names: NameServer
/** Answers of the name server, and the number of queries. */
let answer: (count: number) => readonly string[]
let asked = 0
const certificate = makeCertificate(NAME)
beforeAll(async () => {
  names = await startNameServer(({ type }) => {
    if (type === 'A') asked += 1
    return answer(asked)
  })
  // Stated, because with users of an identity provider on this machine the rig allows it.
  service = await startTestService({ OUTBOUND_PRIVATE: 'false' })
  quiet = await startTestService({ DNS_SERVERS: names.address }, { clock: true, listen: false })
  administrator = await makeUser(service.context.db, service.account.slug)
  web = await signInAs(service, administrator)
})
afterAll(async () => {
  await service.stop()
  await quiet.stop()
  await names.stop()
})

let inside: Receiver
beforeEach(async () => {
  inside = await startReceiver({ certificate })
  asked = 0
  answer = () => ['127.0.0.1']
})
afterEach(async () => {
  await inside.stop()
  await quiet.database.query("update webhook_endpoints set disabled_at = now(), disabled_reason = 'removed'")
})

const happen = () =>
  quiet.context.db.transaction((tx) =>
    recordEvent(tx, { kind: 'application.warned', actor: BY_COMMAND_LINE, applicationId: quiet.application.id }),
  )

const addForm = (url: string) =>
  signedFor(service, administrator, PATH, { application: service.application.id }).then((form) => ({ ...form, url }))

/** With a shorter time limit than the service; otherwise the same. */
const send = () => {
  const outbound = createOutbound({ allowPrivate: false, dnsServers: [names.address], timeoutMs: 500 })
  return sendOnce({ ...quiet.context, outbound })
}

describe('an internal address', () => {
  it.each([
    'https://127.0.0.1:6379/',
    'https://2130706433/',
    'https://0177.0.0.1/',
    'https://0x7f.1/',
    'https://[::1]/',
    'https://[::ffff:10.0.0.1]/',
    'https://[64:ff9b::10.0.0.1]/',
    'https://169.254.169.254/latest/meta-data/iam/security-credentials/',
    'https://metadata.google.internal/computeMetadata/v1/',
    'https://localhost/',
    'https://localhost./',
    'https://LOCALHOST%2e/',
    'https://db/',
    'https://service.localhost/',
  ])('AD-03: is not added, and the page says why: %s', async (url) => {
    const before = await everyRow(service)
    const page = await web.send('POST', PATH, await addForm(url))
    expect([page.status, textOf(page.text)]).toEqual([400, expect.stringContaining(t('webhooks.problem_private'))])
    expect(await everyRow(service)).toEqual(before)
  })

  it('AD-03: receives nothing even if it is in the table', async () => {
    const { id } = await makeEndpoint(quiet, `https://${NAME}/`)
    for (const url of [
      `https://127.0.0.1:${inside.port}/`,
      `http://127.0.0.1:${inside.port}/`,
      `https://localhost:${inside.port}/`,
    ]) {
      await quiet.database.query('update webhook_endpoints set url = $2 where id = $1', [id, url])
      await happen()
      await send()
    }
    expect(inside.connections.opened).toBe(0)
    expect((await deliveriesOf(quiet, id)).map(({ last_error }) => last_error)).toEqual([
      'private',
      'scheme',
      'private',
    ])
  })

  it('AD-03: receives nothing through a host name, however often it is retried', async () => {
    const { id } = await makeEndpoint(quiet, `https://${NAME}:${inside.port}/`)
    answer = () => ['127.0.0.1', '10.0.0.1', '169.254.169.254', '::1', 'fd00:ec2::254']
    await happen()
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      await send()
      await quiet.database.advance(3_600_000)
    }
    expect(await deliveriesOf(quiet, id)).toMatchObject([{ last_error: 'private_address', delivered_at: null }])
    expect(inside.connections.opened).toBe(0)
  })

  it('AD-03: receives nothing through a host name that changes between look-ups (DNS rebinding)', async () => {
    const { id } = await makeEndpoint(quiet, `https://${NAME}:${inside.port}/`)
    answer = (count) => (count <= 1 ? [NOBODY] : ['127.0.0.1'])
    await happen()
    await send()
    const [first] = await deliveriesOf(quiet, id)
    expect(['connect_timeout', 'unreachable']).toContain(first?.last_error)
    await quiet.database.advance(3_600_000)
    await send()
    expect((await deliveriesOf(quiet, id))[0]?.last_error).toBe('private_address')
    expect(inside.connections.opened).toBe(0)
  })
})

it('AD-03: does not reveal its answer: only the status is stored and shown', async () => {
  const canary = 'the-inside-of-a-metadata-service'
  const lying = await startReceiver()
  lying.answer({ to: `https://evil.example/${canary}` })
  const outbound = createOutbound({ allowPrivate: true, dnsServers: [] })
  const { id } = await makeEndpoint(quiet, `https://${NAME}/`)
  await quiet.database.query('update webhook_endpoints set url = $2 where id = $1', [id, lying.url])
  await happen()
  await sendOnce({ ...quiet.context, outbound })
  await lying.stop()
  expect(await deliveriesOf(quiet, id)).toMatchObject([{ last_status: 302, last_error: null }])
  const shown = await readWebhooks(quiet.context, quiet.account.id, quiet.application.id)
  expect(JSON.stringify(shown)).not.toContain(canary)
  const [rows] = await quiet.database.query<{ text: string }>(
    'select json_agg(d)::text as text from webhook_deliveries d',
  )
  expect(rows?.text).not.toContain(canary)
})

it('AD-01: is shown as text, never as markup', async () => {
  for (const typed of [
    '"><script>alert(1)</script>',
    'https://x.example/\'"><img src=x onerror=alert(1)>',
    'javascript:alert(1)//<b>',
  ]) {
    const form = await signedFor(service, administrator, PATH, { application: service.application.id })
    const page = await web.send('POST', PATH, { ...form, url: typed })
    expect(page.text).not.toMatch(/<script>alert|<img src=x|<b>/)
    if (page.status === 400) expect(unescapeHtml(page.text)).toContain(typed)
  }
})

it('AD-04: only the address comes from the form; id, secret and all else are generated', async () => {
  const extra = {
    id: 'whk_mine',
    endpoint: 'whk_mine',
    secret: 'whsec_bWluZQ==',
    generation: '7',
    key_id: '9',
    slow: 'false',
  }
  const more = { disabled_at: 'now', application_id: 'app_other', account_id: 'acc_other' }
  const form = await signedFor(service, administrator, PATH, { application: service.application.id })
  await web.send('POST', PATH, { ...extra, ...more, ...form, url: `https://${NAME}/plain` })
  const rows = await service.database.query('select * from webhook_endpoints where url = $1', [`https://${NAME}/plain`])
  expect(rows).toMatchObject([
    { application_id: service.application.id, generation: 1, key_id: 1, slow: true, disabled_at: null },
  ])
  expect(rows[0]?.id).not.toBe('whk_mine')
})

describe('endpoints of others', () => {
  const makeOwn = async (by: MadeUser) => {
    const made = await registerApplication(service.context, by.id, { ...makeSettings(), public: false })
    if (made.outcome !== 'registered') throw new Error(made.outcome)
    return { id: made.id, ...(await makeDelivered(service, made.id, by)) }
  }

  it('AD-05: their secrets and deliveries cannot be reached through one’s own application', async () => {
    const ours = await makeOwn(administrator)
    const account = await makeAccount(service.context.db)
    const stranger = await makeUser(service.context.db, account.slug)
    const theirs = await makeOwn(stranger)
    const visit = await signInAs(service, stranger, { account })
    const before = { ...(await everyRow(service)), applications: null }
    for (const [what, bound] of [
      ['test', { endpoint: ours.endpointId }],
      ['rotate', { endpoint: ours.endpointId }],
      ['remove', { endpoint: ours.endpointId }],
      ['resend', { delivery: ours.deliveryId }],
    ] as const) {
      const form = await signedFor(service, stranger, `${PATH}/${what}`, { application: theirs.id, ...bound })
      expect([what, (await visit.send('POST', `${PATH}/${what}`, form)).status]).toEqual([what, 404])
    }
    const secret = await visit.get(`${PATH}/secret?application=${theirs.id}&endpoint=${ours.endpointId}`)
    expect([secret.status, secret.text.includes('whsec_')]).toEqual([404, false])
    expect({ ...(await everyRow(service)), applications: null }).toEqual(before)
  })
})
