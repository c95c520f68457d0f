/** Every setting has an effect: shown here, or in the test that the table names. docs/configuration.md. */
import { existsSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { options } from '../../src/config.ts'
import { sweep } from '../../src/flows/sweep.ts'
import { askMe, connect } from '../rig/connect.ts'
import { postNative } from '../rig/credentials.ts'
import { allow, exchange, makeDialogApplication, refresh } from '../rig/dialog.ts'
import { makeAccount, makeUser } from '../rig/make.ts'
import { startCollector } from '../rig/network/collector.ts'
import { startMailbox } from '../rig/network/mailbox.ts'
import { startServerProcess } from '../rig/process/server-process.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { signInAs } from '../rig/signed-in.ts'

const PAGES = {
  HELP_URL: 'https://help.service.example/devices',
  PRIVACY_URL: 'https://service.example/privacy',
  TERMS_URL: 'https://service.example/terms',
}

let service: TestService
let operators: { id: string; slug: string }
beforeAll(async () => {
  service = await startTestService(
    {
      ...PAGES,
      GRANT_LIFETIME: '7200',
      ACCESS_KEY_OVERLAP: '60',
      DIALOG_CODE_LIFETIME: '120',
      GRANT_RETENTION_DAYS: '60',
      ADDRESS_RETENTION_DAYS: '30',
      SESSION_LIFETIME: '3600',
      SESSION_IDLE: '1200',
      OPERATOR_SESSION_IDLE: '600',
      SESSION_FRESH: '120',
      OPERATOR_ACCOUNT: 'operators',
      OPERATOR_NETWORKS: '192.0.2.0/24',
      TRUST_PROXY: '127.0.0.1/32',
    },
    { clock: true },
  )
  operators = await makeAccount(service.context.db, { slug: 'operators' })
})
afterAll(() => service.stop())

const SECOND = 1_000
const DAY = 24 * 3_600 * SECOND

/** Moves the clock, and lets this process pull it. */
async function pass(ms: number): Promise<void> {
  await service.database.advance(ms)
  await service.context.applications.refresh()
  await service.context.grantCache.pull()
}

const isSignedIn = async (web: ReturnType<TestService['web']>) =>
  (await web.send('GET', '/applications')).status === 200

/** By the name of the setting: what it does. */
const effects = {
  HELP_URL: pageLinksTo('HELP_URL'),
  PRIVACY_URL: pageLinksTo('PRIVACY_URL'),
  TERMS_URL: pageLinksTo('TERMS_URL'),
  GRANT_LIFETIME: async () => {
    const { refreshToken } = await connect(service)
    await pass(7_190 * SECOND)
    const second = await refresh(service, service.application, refreshToken)
    expect(second.status).toBe(200)
    await pass(20 * SECOND)
    expect((await refresh(service, service.application, second.body.refresh_token ?? '')).body.error).toBe(
      'invalid_grant',
    )
  },
  ACCESS_KEY_OVERLAP: async () => {
    const { credential } = await connect(service, { variant: 'key' })
    const form = { access_key: credential }
    const { body } = await postNative(service, service.application, '/auth/key/rotate', form)
    await pass(50 * SECOND)
    expect((await askMe(service, credential)).status).toBe(200)
    await pass(20 * SECOND)
    expect([(await askMe(service, credential)).status, (await askMe(service, body.access_key ?? '')).status]).toEqual([
      401, 200,
    ])
  },
  DIALOG_CODE_LIFETIME: async () => {
    const application = await makeDialogApplication(service)
    const [early, late] = [await allow(service, { application }), await allow(service, { application })]
    await pass(110 * SECOND)
    expect((await exchange(service, application, early)).status).toBe(200)
    await pass(20 * SECOND)
    expect((await exchange(service, application, late)).body.error).toBe('invalid_grant')
  },
  GRANT_RETENTION_DAYS: async () => {
    const { grantId } = await connect(service, { variant: 'key' })
    await service.database.query(
      "update grants set revoked_at = test_clock.now(), revocation_reason = 'removed_by_user' where id = $1",
      [grantId],
    )
    const isThere = async () =>
      (await service.database.query('select from grants where id = $1', [grantId])).length === 1
    await pass(59 * DAY)
    await sweep(service.context.db, service.config)
    expect(await isThere()).toBe(true)
    await pass(2 * DAY)
    await sweep(service.context.db, service.config)
    expect(await isThere()).toBe(false)
  },
  ADDRESS_RETENTION_DAYS: async () => {
    const { grantId } = await connect(service, { variant: 'key' })
    const addresses = () =>
      service.database.query('select from grants where id = $1 and requested_from is not null', [grantId])
    await pass(29 * DAY)
    await sweep(service.context.db, service.config)
    expect(await addresses()).toHaveLength(1)
    await pass(2 * DAY)
    await sweep(service.context.db, service.config)
    expect(await addresses()).toHaveLength(0)
  },
  SESSION_LIFETIME: async () => {
    const user = await makeUser(service.context.db, service.account.slug, {
      holds: ['orders:read'],
      password: 'correct horse battery',
    })
    const web = service.web()
    await web.signIn(user.email, 'correct horse battery')
    for (let minutes = 0; minutes < 50; minutes += 10) {
      expect(await isSignedIn(web)).toBe(true)
      await pass(600 * SECOND)
    }
    expect(await isSignedIn(web)).toBe(true)
    await pass(601 * SECOND)
    expect(await isSignedIn(web)).toBe(false)
  },
  SESSION_IDLE: async () => {
    const web = await signInAs(service, service.user)
    await pass(1_190 * SECOND)
    expect(await isSignedIn(web)).toBe(true)
    await pass(1_600 * SECOND)
    expect(await isSignedIn(web)).toBe(false)
  },
  OPERATOR_SESSION_IDLE: async () => {
    const account = operators
    const user = await makeUser(service.context.db, account.slug)
    const web = await signInAs(service, user, { account })
    await pass(590 * SECOND)
    expect(await isSignedIn(web)).toBe(true)
    await pass(1_000 * SECOND)
    expect(await isSignedIn(web)).toBe(false)
  },
  SESSION_FRESH: async () => {
    const web = await signInAs(service, service.user)
    expect((await web.send('GET', '/account/policy')).location).toBeNull()
    await pass(130 * SECOND)
    expect((await web.send('GET', '/account/policy')).location).toContain('/confirm')
  },
  OPERATOR_NETWORKS: async () => {
    const user = await makeUser(service.context.db, operators.slug)
    const from = async (address: string) => {
      const web = await signInAs(service, user, { account: operators, headers: { 'x-forwarded-for': address } })
      return (await web.send('GET', '/operator')).status
    }
    expect([await from('192.0.2.7'), await from('198.51.100.7')]).toEqual([200, 403])
  },
}

/** By the name of the setting: what it does at the start of a service of its own. */
const startEffects = {
  DEVICE_CODE_LIFETIME: async () => {
    const own = await startTestService({ DEVICE_CODE_LIFETIME: '90' })
    expect((await own.device().code()).expires_in).toBe(90)
    await own.stop()
  },
  METRICS_HOST: async () => {
    const own = await startTestService({ METRICS_PORT: '0', METRICS_HOST: '127.0.0.2' })
    expect(new URL(own.metricsAddress ?? '').hostname).toBe('127.0.0.2')
    await own.stop()
  },
  MAIL_FROM: async () => {
    const mailbox = await startMailbox()
    const own = await startTestService({ SMTP_URL: mailbox.url, MAIL_FROM: 'Acme <no-reply@service.example>' })
    const web = own.web()
    await web.get('/recover')
    await web.submit('/recover', { email: own.user.email })
    const { raw } = await mailbox.waitFor(({ to }) => to === own.user.email)
    expect(raw).toMatch(/^From: Acme <no-reply@service\.example>/m)
    await own.stop()
    await mailbox.stop()
  },
  OTEL_TRACES_SAMPLER_ARG: async () => {
    const collector = await startCollector()
    const server = await startServerProcess({
      DATABASE_URL: service.database.url,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_TRACES_SAMPLER_ARG: '0',
      TRUST_PROXY: '127.0.0.1/32',
    })
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
    const sampled = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` }
    for (let request = 0; request < 20; request += 1) await fetch(`${server.address}/auth/verify`)
    await fetch(`${server.address}/auth/verify`, { headers: sampled })
    await server.kill('SIGTERM')
    // What is not exported yet is exported at the end: the trace that the proxy decided to sample, and no other.
    expect([...new Set(collector.spans.map((span) => span.traceId))]).toEqual([traceId])
    await collector.stop()
  },
}

function pageLinksTo(name: keyof typeof PAGES) {
  return async () => expect((await service.web().get('/sign-in')).text).toContain(`href="${PAGES[name]}"`)
}

/** The test that shows the effect of each other setting. */
const shownIn: Readonly<Record<string, string>> = {
  DATABASE_URL: 'cli/commands.test.ts',
  REDIS_URL: 'gate/decision-bus.test.ts',
  PUBLIC_URL: 'interop/same-host.test.ts',
  SERVICE_NAME: 'http/web/own-branding.test.ts',
  SERVICE_LOGO: 'http/web/own-branding.test.ts',
  MESSAGES_DIR: 'http/web/own-branding.test.ts',
  SECURITY_CONTACT: 'http/web/well-known.test.ts',
  SECURITY_POLICY_URL: 'http/web/well-known.test.ts',
  HOST: 'faults/network/packet-loss.test.ts',
  PORT: 'faults/process/processes.test.ts',
  LATCHKEY_KEYS: 'faults/process/keys.test.ts',
  POLL_INTERVAL: 'conformance/limits.test.ts',
  CODE_ENTRY_LIMIT: 'flows/device/installers.test.ts',
  CODE_GRANT_LIMIT: 'flows/device/installers.test.ts',
  ACCESS_TOKEN_LIFETIME: 'conformance/limits.test.ts',
  REFRESH_TOKEN_LIFETIME: 'flows/grants/connected-applications.test.ts',
  SIGN_IN_URL: 'flows/sign-in/hand-over.test.ts',
  SIGN_IN_KEYS: 'host-service.test.ts',
  SIGN_IN_CREATES: 'flows/sign-in/hand-over.test.ts',
  SIGN_IN_SUBJECTS: 'attacks/device/same-person.test.ts',
  SECOND_FACTOR_ELSEWHERE: 'attacks/sign-in/word-of-the-host.test.ts',
  SMTP_URL: 'browser/sign-in.test.ts',
  TRUST_PROXY: 'http/client-address.test.ts',
  OPERATOR_ACCOUNT: 'http/operators.test.ts',
  GEOIP_CITY_FILE: 'geoip.test.ts',
  GEOIP_ASN_FILE: 'geoip.test.ts',
  OUTBOUND_PRIVATE: 'http/webhook-pages.test.ts',
  DNS_SERVERS: 'flows/applications/publisher.test.ts',
  DATABASE_CONNECTIONS: 'attacks/limits/overload.test.ts',
  SIGN_IN_ADDRESSES_PER_NETWORK: 'attacks/sign-in/stuffing.test.ts',
  SIGN_IN_FAILURES: 'attacks/sign-in/stuffing.test.ts',
  CODE_REQUESTS_PER_NETWORK: 'attacks/limits/limits.test.ts',
  CODE_REQUESTS_PER_APPLICATION: 'attacks/limits/limits.test.ts',
  DIALOGS_PER_NETWORK: 'attacks/limits/limits.test.ts',
  OVERLOAD_DELAY: 'attacks/limits/overload.test.ts',
  REVOCATION_JOURNAL: 'faults/restore/restore.test.ts',
  METRICS_PORT: 'http/metrics.test.ts',
  OTEL_EXPORTER_OTLP_ENDPOINT: 'http/traces.test.ts',
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http/traces.test.ts',
  DRAIN_SECONDS: 'faults/process/drain.test.ts',
  SUSPENSION_ACCOUNT_AGE_DAYS: 'flows/reviews/thresholds.test.ts',
  SUSPENSION_REINSTATE_HOURS: 'flows/reviews/judge.test.ts',
  SUSPENSION_REPORTS: 'flows/reviews/thresholds.test.ts',
  SUSPENSION_SECOND_OPERATOR_GRANTS: 'flows/reviews/thresholds.test.ts',
  SUSPENSION_SHARE: 'flows/reviews/thresholds.test.ts',
  SUSPENSION_WINDOW_MINUTES: 'flows/reviews/thresholds.test.ts',
  SUSPENSION_ACCOUNTS: 'conformance/limits.test.ts',
  SUSPENSION_EARLY_POLLS: 'conformance/limits.test.ts',
  SUSPENSION_NETWORKS: 'conformance/limits.test.ts',
  SUSPENSION_WARNING_HOURS: 'conformance/limits.test.ts',
  SUSPENSION_WINDOWS: 'conformance/limits.test.ts',
  LOG_LEVEL: 'http/request-id.test.ts',
}

describe('a setting changes what the service does', () => {
  it.each(Object.entries({ ...effects, ...startEffects }))('%s', (_, effect) => effect())

  it.each(Object.entries(shownIn))('%s: in %s', (name, file) => {
    const path = new URL(`../${file}`, import.meta.url)
    expect(existsSync(path)).toBe(true)
    expect(readFileSync(path, 'utf8')).toContain(name)
  })

  it('each, and none that does not exist', () => {
    const settings = Object.values(options).map(({ env }) => env)
    expect([effects, startEffects, shownIn].flatMap(Object.keys).toSorted()).toEqual(settings.toSorted())
  })
})
