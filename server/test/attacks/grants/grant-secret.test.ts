/**
 * A grant's secret is in its row and inside its credentials, and nowhere else; its id is everywhere else, and in no credential.
 * Runs every flow with credentials on a server of its own, then searches all of its output. docs/interface/credentials.md.
 */
import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { grantSecret, postNative, postStandard } from '../../rig/credentials.ts'
import { Device, post } from '../../rig/device.ts'
import { allow, exchange, makeDialogApplication } from '../../rig/dialog.ts'
import { type MadeApplication, makeEnvironment } from '../../rig/make.ts'
import { type Collector, startCollector } from '../../rig/network/collector.ts'
import { type Mailbox, startMailbox } from '../../rig/network/mailbox.ts'
import { type Receiver, startReceiver } from '../../rig/network/receiver.ts'
import { type RecordingProxy, startRecordingProxy } from '../../rig/network/recording-proxy.ts'
import { EXECUTABLE } from '../../rig/process/command.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { signInAs } from '../../rig/signed-in.ts'
import { Web } from '../../rig/web.ts'
import { makeEndpoint } from '../../rig/webhooks.ts'

let own: TestService
let server: ServerProcess
let proxy: RecordingProxy
let collector: Collector
let receiver: Receiver
let mailbox: Mailbox
/** The service in the server process: its pages and endpoints, behind the proxy. */
let service: TestService
let web: Web

type Passed = { readonly id: string; readonly secret: string; readonly credentials: readonly string[] }
const passed: Passed[] = []
/** Everything that left the server: rows, logs, answers, mails and webhooks. */
let evidence: Readonly<Record<string, string>>

beforeAll(async () => {
  ;[collector, receiver, mailbox] = [await startCollector(), await startReceiver(), await startMailbox()]
  own = await startTestService({ OUTBOUND_PRIVATE: 'true' }, { listen: false })
  server = await startServerProcess({
    DATABASE_URL: own.database.url,
    PUBLIC_URL: own.config.publicUrl,
    LOG_LEVEL: 'debug',
    OUTBOUND_PRIVATE: 'true',
    SMTP_URL: mailbox.url,
    MAIL_FROM: 'latchkey@service.example',
    OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
    METRICS_PORT: '0',
  })
  proxy = await startRecordingProxy(server.address)
  service = {
    ...own,
    address: proxy.address,
    device: (variant = 'oauth', by = own.application) => new Device(proxy.address, by, variant),
    web: (headers = {}, slug = own.account.slug) =>
      new Web(proxy.address, `${slug}.${new URL(own.config.publicUrl).host}`, headers),
  }
  await makeEndpoint(own, receiver.url)
  web = await signInAs(service, own.user)
  await passTokenSet()
  await passAccessKey()
  await passDialog()
  evidence = await gather()
})
afterAll(async () => {
  await server.kill('SIGTERM')
  await Promise.all([proxy.stop(), collector.stop(), receiver.stop(), mailbox.stop()])
  await own.stop()
})

/** On the account's pages, as a user does. */
async function collect(variant: 'oauth' | 'key') {
  const device = service.device(variant)
  const code = await device.code({ scope: 'orders:read' })
  await web.enterCode(code.user_code)
  await web.submit('/connect/decision', { decision: 'allow' })
  const { status, body } = await device.poll(code.device_code)
  expect(status).toBe(200)
  return { body, deviceCode: code.device_code }
}

/** All requests about a credential. */
async function ask(credential: string, application: MadeApplication): Promise<void> {
  const headers = { authorization: `Bearer ${credential}` }
  for (const path of ['/1/me', '/me.xml', '/auth/verify']) {
    expect((await post(service.address, path, { method: 'GET', headers })).status).toBe(200)
  }
  const forged = { authorization: `Bearer ${credential.slice(0, -2)}xx` }
  await post(service.address, '/1/me', { method: 'GET', headers: forged })
  const told = await postStandard(service, application, '/oauth/introspect', { token: credential })
  expect(told.body).toMatchObject({ active: true, grant: expect.stringMatching(/^grt_/) })
}

async function note(credentials: readonly string[]): Promise<void> {
  const [row] = await own.database.query<{ id: string }>('select id from grants order by created_at desc limit 1')
  const id = row?.id ?? ''
  passed.push({ id, secret: await grantSecret(own, id), credentials })
}

/** Refreshed twice; then the first refresh token is reused, which revokes the grant and is logged. */
async function passTokenSet(): Promise<void> {
  const { application } = own
  const { body, deviceCode } = await collect('oauth')
  await ask(body.access_token, application)
  const renew = (refresh_token: string) => postNative(service, application, '/auth/oauth/refresh', { refresh_token })
  const second = (await renew(body.refresh_token)).body
  const third = (await renew(second.refresh_token)).body
  expect((await renew(body.refresh_token)).body.error).toBe('invalid_grant')
  const sets = [body, second, third].flatMap((set) => [set.access_token, set.refresh_token])
  await note([deviceCode, ...sets])
}

/** Rotated, listed, and removed by its user. */
async function passAccessKey(): Promise<void> {
  const { application } = own
  const { body, deviceCode } = await collect('key')
  await ask(body.access_key, application)
  const rotated = await postNative(service, application, '/auth/key/rotate', { access_key: body.access_key })
  await note([deviceCode, body.access_key, rotated.body.access_key])
  const { id } = passed.at(-1) ?? { id: '' }
  for (const path of ['/applications', '/account/applications', '/home']) await web.get(path)
  expect((await web.get(`/applications/remove?grant=${id}`)).status).toBe(200)
  expect((await web.submit('/applications/remove', { report: 'on' })).status).toBe(200)
}

/** Granted in the dialog, then reported. */
async function passDialog(): Promise<void> {
  const application = await makeDialogApplication(service)
  await makeEndpoint(own, receiver.url, { application })
  // The server process pulls the application within a second.
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  const allowed = await allow(service, { application })
  const { status, body } = await exchange(service, application, allowed)
  expect(status).toBe(200)
  await ask(body.access_token, application)
  const reported = await post(service.address, '/auth/report', { form: { credential: body.refresh_token } })
  expect(reported.body).toEqual({ revoked: true })
  await note([allowed.code, body.access_token, body.refresh_token])
}

async function gather(): Promise<Record<string, string>> {
  const isTold = (kind: string) => (text: string) => text.includes(`"type":"${kind}"`)
  await until(() => receiver.received.filter(({ body }) => isTold('grant.revoked')(body)).length === passed.length)
  await until(() => mailbox.mails.length >= passed.length)
  await until(() => collector.spans.some(({ name }) => name.includes('/auth/report')))
  await web.get('/account/audit')
  for (const format of ['csv', 'ndjson']) {
    await web.get('/account/audit')
    await web.submit('/account/audit/export', { format })
  }
  await web.get(`/developer/application/webhooks?application=${own.application.id}`)
  await web.get(`/developer/application?application=${own.application.id}`)
  const env = { PATH: process.env.PATH, ...makeEnvironment({ DATABASE_URL: own.database.url }) }
  const exported = spawnSync(process.execPath, [EXECUTABLE, 'audit', 'export'], { env, encoding: 'utf8' })
  expect(exported.status).toBe(0)
  const metricsAddress = /"event":"metrics_listening","address":"([^"]+)"/.exec(server.log())?.[1]
  return {
    'an answer or a page': proxy.answered(),
    'the log': server.log(),
    'a span': collector.bodies.join('\n'),
    'a metric': await (await fetch(`${metricsAddress}/metrics`)).text(),
    'a webhook': receiver.received.map(({ headers, body }) => JSON.stringify(headers) + body).join('\n'),
    'a mail': mailbox.mails.map(({ raw, text, html }) => raw + text + html).join('\n'),
    'the export of the audit log': exported.stdout + exported.stderr,
    'another column of the database': await everyOtherColumn(),
  }
}

async function until(happened: () => boolean): Promise<void> {
  for (const late = Date.now() + 20_000; !happened(); ) {
    if (Date.now() > late) throw new Error(`it did not happen: ${happened}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

async function everyOtherColumn(): Promise<string> {
  const tables = await own.database.query<{ name: string }>(
    "select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')",
  )
  const dumps = tables.map(({ name }) => {
    const row = name === 'grants' ? "to_jsonb(t) - 'secret'" : 'to_jsonb(t)'
    return own.database.query(`select (${row})::text as row from public.${name} t`)
  })
  return JSON.stringify(await Promise.all(dumps))
}

/** As a uuid, in hexadecimal, as a number, and in both alphabets of base64 at each of the three offsets. */
function formsOf(secret: string): string[] {
  const hex = secret.replaceAll('-', '')
  const bytes = Buffer.from(hex, 'hex')
  const inBase64 = [0, 1, 2].flatMap((before) => {
    const shifted = Buffer.concat([Buffer.alloc(before), bytes])
    // Characters that also encode neighbouring bytes are left out.
    const inner = [Math.ceil((before * 8) / 6), Math.floor((shifted.length * 8) / 6)] as const
    return (['base64url', 'base64'] as const).map((alphabet) => shifted.toString(alphabet).slice(...inner))
  })
  const forms = [secret, hex, BigInt(`0x${hex}`).toString(), BigInt(`0x${hex}`).toString(36), ...inBase64]
  return [...new Set([...forms, ...[secret, hex].map((form) => form.toUpperCase())])]
}

const credentialsOf = () => passed.flatMap(({ credentials }) => credentials)

describe('the secret of a grant', () => {
  it('is found in its credentials, so the search below works', () => {
    expect(passed).toHaveLength(3)
    for (const { secret, credentials } of passed) {
      const carrying = credentials.filter((text) => formsOf(secret).some((form) => text.includes(form)))
      expect(carrying).toEqual(credentials.filter((text) => /^lk[ark]_/.test(text)))
    }
    const answered = evidence['an answer or a page'] ?? ''
    for (const { secret } of passed) expect(formsOf(secret).some((form) => answered.includes(form))).toBe(true)
  })

  it('is in no other output of the server, in any encoding, apart from the credentials themselves', () => {
    for (const [place, text] of Object.entries(evidence)) {
      const rest = credentialsOf().reduce((left, credential) => left.replaceAll(credential, ''), text)
      const seen = passed.flatMap(({ secret }) => formsOf(secret).filter((form) => rest.includes(form)))
      expect([place, seen]).toEqual([place, []])
    }
  })
})

describe('the id of a grant', () => {
  it('is how all of these name it', () => {
    const named = Object.keys(evidence).filter((place) => !['a span', 'a metric', 'a mail'].includes(place))
    for (const place of named) {
      const unnamed = passed.filter(({ id }) => !evidence[place]?.includes(id))

      expect([place, unnamed]).toEqual([place, []])
    }
  })

  it('is in no credential: neither as text nor in the encoded bytes', () => {
    for (const { id } of passed) {
      const digits = id.slice('grt_'.length)
      for (const text of credentialsOf()) {
        const bytes = Buffer.from(text.slice('lka_0000'.length), 'base64url')
        const hex = bytes.toString('hex')
        const seen = [text.includes(digits), bytes.includes(digits), hex.includes(Buffer.from(digits).toString('hex'))]
        expect(seen).toEqual([false, false, false])
      }
    }
  })
})
