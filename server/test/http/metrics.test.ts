/** The metrics server: its values during requests, and its own port. docs/operations/monitoring.md, "Metrics". */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { freePort } from '../../../tools/free-port.ts'
import { startService } from '../../src/app.ts'
import { restoreApplication, suspendApplication } from '../../src/flows/applications/manage.ts'
import { createMetricsReader } from '../../src/flows/operator/metrics.ts'
import { writeExposition } from '../../src/telemetry/exposition.ts'
import { post } from '../rig/device.ts'
import { engineUrl } from '../rig/engines/database.ts'
import { makeConfig } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { makeSignedInUser } from '../rig/signed-in.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')

let service: TestService
beforeAll(async () => {
  service = await startTestService({ METRICS_PORT: '0', REDIS_URL: engineUrl('REDIS_URL') })
})
afterAll(() => service.stop())

type Scrape = { readonly text: string; value(sample: string): number }

async function scrape(): Promise<Scrape> {
  const answer = await fetch(`${service.metricsAddress}/metrics`)
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
  const text = await answer.text()
  const samples = new Map(
    text.split('\n').flatMap((line) => {
      const [, sample, value] = /^([^#\s]\S*(?:\{.*\})?) (\S+)$/.exec(line) ?? []
      return sample === undefined ? [] : [[sample, Number(value)] as const]
    }),
  )
  return {
    text,
    value: (sample) => {
      const value = samples.get(sample)
      if (value === undefined) throw new Error(`there is no ${sample}`)
      return value
    },
  }
}

describe('the metrics', () => {
  it('count the answers to devices', async () => {
    const before = await scrape()
    const [first, second] = [service.device(), service.device('key')]
    const code = await first.code()
    await first.poll(code.device_code)
    await first.poll(code.device_code)
    await first.poll('nonsense')
    await service.grant(code.user_code)
    const { body } = await first.poll(code.device_code)
    const other = await second.code()
    await service.reject(other.user_code)
    await second.poll(other.device_code)
    const twice = 'SVCappid=a&SVCappid=b'
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    await post(service.address, '/auth/oauth/device/polling', { raw: twice, headers })
    await post(service.address, '/auth/oauth/device/code', { form: { SVCappid: 'app_x', SVCsecret: 'y' } })
    const refresh = { ...first.credentials, refresh_token: body.refresh_token }
    expect((await post(service.address, '/auth/oauth/refresh', { form: refresh })).status).toBe(200)
    const after = await scrape()

    const grew = (sample: string) => after.value(sample) - before.value(sample)
    expect({
      pending: grew('latchkey_polls_total{outcome="auth_pending"}'),
      early: grew('latchkey_polls_total{outcome="slow_down"}'),
      invalid: grew('latchkey_polls_total{outcome="invalid"}'),
      accepted: grew('latchkey_polls_total{outcome="accepted"}'),
      rejected: grew('latchkey_polls_total{outcome="auth_rejected"}'),
      requested: grew('latchkey_code_requests_total{outcome="requested"}'),
      unknown: grew('latchkey_code_requests_total{outcome="invalid_application"}'),
      yes: grew('latchkey_decisions_total{decision="granted"}'),
      no: grew('latchkey_decisions_total{decision="rejected"}'),
      issued: grew('latchkey_credentials_issued_total{variant="token_set",issue="first"}'),
      renewed: grew('latchkey_credentials_issued_total{variant="token_set",issue="renewed"}'),
      polled: grew('latchkey_http_requests_total{route="/auth/oauth/device/polling",status="4xx"}'),
      handed: grew('latchkey_http_requests_total{route="/auth/oauth/device/polling",status="2xx"}'),
    }).toEqual({
      pending: 1,
      early: 1,
      invalid: 2,
      accepted: 1,
      rejected: 1,
      requested: 2,
      unknown: 1,
      yes: 1,
      no: 1,
      issued: 1,
      renewed: 1,
      polled: 4,
      handed: 1,
    })
    expect(after.value('latchkey_http_request_duration_seconds_count{route="/auth/oauth/device/polling"}')).toBe(5)
    expect(
      after.value('latchkey_http_request_duration_seconds_bucket{route="/auth/oauth/device/polling",le="+Inf"}'),
    ).toBe(5)
    expect(after.value('latchkey_http_requests_in_flight')).toBe(0)
  })

  it('count the grants that a report revoked', async () => {
    const device = service.device()
    const code = await device.code()
    await service.grant(code.user_code)
    const { body } = await device.poll(code.device_code)
    const before = await scrape()
    for (let time = 1; time <= 2; time += 1)
      await post(service.address, '/auth/report', { form: { credential: body.access_token } })
    const sample = 'latchkey_grants_revoked_total{reason="credential_reported"}'
    expect((await scrape()).value(sample) - before.value(sample)).toBe(1)
  })

  it('count pages by route, and all unknown paths as one', async () => {
    const before = await scrape()
    const { web } = await makeSignedInUser(service)
    await web.send('GET', '/connect/code?next=/somewhere')
    await web.send('GET', '/nowhere/at/all')
    await post(service.address, `/neither/${service.application.id}`, { method: 'GET' })
    const after = await scrape()
    const grew = (sample: string) => after.value(sample) - before.value(sample)
    expect(grew('latchkey_http_requests_total{route="/connect/code",status="2xx"}')).toBe(1)
    expect(grew('latchkey_http_requests_total{route="none",status="4xx"}')).toBe(2)
    expect(after.text).not.toContain(service.application.id)
    expect(after.text).not.toContain(service.account.slug)
  })

  it('show the state of the process', async () => {
    await service.context.liveCodes.recount()
    const { value } = await scrape()
    expect(value('latchkey_postgres_up')).toBe(1)
    expect([value('latchkey_gate_shared'), value('latchkey_gate_up')]).toEqual([1, 1])
    expect(value('latchkey_postgres_connections_max{pool="decisions"}')).toBe(service.config.databaseConnections)
    expect(value('latchkey_waiting_devices')).toBe(service.context.liveCodes.count())
    expect(value('latchkey_task_overdue{task="sweeping"}')).toBe(0)
    expect(value('latchkey_partitions_ahead_seconds')).toBeGreaterThan(2 * 3600)
    expect(value('latchkey_audit_seal_lag_seconds')).toBeLessThan(10)
    const [ages] = await service.database.query<{ ids: number }>(
      'select max(age(datfrozenxid)) as ids from pg_database',
    )
    expect(Math.abs(value('latchkey_postgres_transaction_id_age') - (ages?.ids ?? 0))).toBeLessThan(100_000)
    expect(value('process_resident_memory_bytes')).toBeGreaterThan(10_000_000)
    expect(value(`latchkey_build_info{version="0.1.0",node_version="${process.version}"}`)).toBe(1)
  })

  it('include queued mails, webhooks and unsealed events, with their age', async () => {
    const { context, database } = service
    await database.query(
      `insert into mails (kind, account_id, user_id, language, detail, created_at, due_at)
       values ('grants_created', $1, $2, 'en', '{"count":1,"applications":[]}', now() - interval '1 hour', now() + interval '1 hour')`,
      [service.account.id, service.user.id],
    )
    const text = writeExposition(await createMetricsReader(context)())
    expect(text).toMatch(/^latchkey_mails_waiting [1-9]/m)
    expect(Number(/^latchkey_mails_oldest_age_seconds (\S+)$/m.exec(text)?.[1])).toBeGreaterThanOrEqual(3600)
  })
})

it('the metrics tell how long the oldest transaction has been open', async () => {
  const client = new pg.Client({ connectionString: service.database.url })
  await client.connect()
  await client.query('begin; select')
  await sleep(1_500)
  const text = writeExposition(await createMetricsReader(service.context)())
  await client.end()
  expect(Number(/^latchkey_postgres_oldest_transaction_seconds (\S+)$/m.exec(text)?.[1])).toBeGreaterThan(1)
})

describe('suspensions that wait for a review', () => {
  const figures = async () => {
    const text = writeExposition(await createMetricsReader(service.context)())
    const value = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
    return [value('latchkey_suspensions_waiting'), value('latchkey_suspension_wait_seconds')] as const
  }

  it('are counted, with the waiting time of the oldest', async () => {
    expect(await figures()).toEqual([0, 0])
    const { context, database, application } = service
    const { id } = application
    await suspendApplication(context.db, id, 'polls too fast')
    expect(await figures(), 'a suspension that no review is open for was decided by a person').toEqual([0, 0])
    await database.query(
      `insert into reviews (id, application_id, opened_at, reason, verdict, harm, evidence, thresholds, judged_at, last_escalated_at)
       values ($1, $2, now() - interval '3 hours', 'polling', 'suspend', 0, '{}', '{}', now(), now())`,
      [id.replace('app_', 'rev_'), id],
    )
    await database.query("update applications set suspended_at = now() - interval '2 hours' where id = $1", [id])
    const [count, age] = await figures()
    expect(count).toBe(1)
    expect(Math.abs(age - 7_200)).toBeLessThan(60)
    await restoreApplication(context.db, id, 'reviewed')
    expect(await figures()).toEqual([0, 0])
  })
})

describe('the second port', () => {
  it('serves only /metrics, which the first port does not serve', async () => {
    const at = async (address: string | null, path: string, method = 'GET') =>
      (await fetch(`${address}${path}`, { method })).status
    expect(await at(service.metricsAddress, '/metrics?x=1')).toBe(200)
    expect(await at(service.metricsAddress, '/metrics', 'HEAD')).toBe(200)
    expect(await at(service.metricsAddress, '/metrics', 'POST')).toBe(405)
    for (const path of ['/', '/health/live', '/metrics/', '/auth/verify']) {
      expect([path, await at(service.metricsAddress, path)]).toEqual([path, 404])
    }
    expect(await at(service.address, '/metrics')).toBe(404)
    expect((await service.web().send('GET', '/metrics')).status).toBe(404)
  })

  it('listens on localhost only, and only if configured', async () => {
    expect(service.metricsAddress).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    const without = await startService(makeConfig({ DATABASE_URL: service.database.url }))
    expect(without.metricsAddress).toBeNull()
    await without.stop()
  })

  it('is closed again if the service cannot listen on the first', async () => {
    const metricsPort = await freePort()
    const config = makeConfig({
      DATABASE_URL: service.database.url,
      PORT: new URL(service.address).port,
      METRICS_PORT: String(metricsPort),
    })
    await expect(startService(config)).rejects.toThrow('EADDRINUSE')
    await expect(fetch(`http://127.0.0.1:${metricsPort}/`)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } })
  })

  it('answers while PostgreSQL is down, and reports that', async () => {
    const running = await startService(makeConfig({ DATABASE_URL: service.database.url, METRICS_PORT: '0' }))
    try {
      await running.context.db.close()
      const text = await (await fetch(`${running.metricsAddress}/metrics`)).text()
      expect(text).toContain('\nlatchkey_postgres_up 0\n')
      expect(text).not.toContain('latchkey_mails_waiting')
      expect(text).toContain('\nlatchkey_polls_total{outcome="accepted"} 0\n')
    } finally {
      await running.stop().catch(() => {})
    }
  })
})

describe('the names', () => {
  it('follow Prometheus’ conventions: a base unit, _total for counters, a help and a type for each', async () => {
    const { text } = await scrape()
    const types = Array.from(text.matchAll(/^# TYPE (\S+) (\S+)$/gm), ([, name = '', type = '']) => ({ name, type }))
    const odd = types.filter(({ name, type }) => name.endsWith('_total') !== (type === 'counter'))
    expect(odd).toEqual([])
    expect(types.filter(({ name }) => !/^(latchkey|process|nodejs)_[a-z_]+$/.test(name))).toEqual([])
    expect(new Set(types.map(({ name }) => name)).size).toBe(types.length)
    expect(Array.from(text.matchAll(/^# HELP (\S+) \S/gm), ([, name]) => name)).toEqual(types.map(({ name }) => name))
  })

  it('have few labels of few values', async () => {
    const { text } = await scrape()
    const labels = new Set(Array.from(text.matchAll(/[{,]([a-z_]+)="/g), ([, label]) => label))
    const known = [
      'route',
      'status',
      'le',
      'outcome',
      'decision',
      'variant',
      'issue',
      'reason',
      'then',
      'task',
      'where',
    ]
    expect([...labels].sort()).toEqual([...known, 'what', 'pool', 'state', 'version', 'node_version'].sort())
    expect(text.split('\n').length).toBeLessThan(2_500)
  })

  /** Only with `serve --processes`: server/test/faults/process/processes.test.ts. */
  const OF_THE_SUPERVISOR = ['latchkey_processes', 'latchkey_process_deaths_total']

  it('used in alerts, dashboard and documentation exist', async () => {
    const { text } = await scrape()
    const there = new Set(
      Array.from(text.matchAll(/^# TYPE (\S+) (\S+)$/gm)).flatMap(([, name = '', type]) => namesOf(name, type)),
    )
    const named = (source: string) =>
      new Set(Array.from(source.matchAll(/\b(?:latchkey|process|nodejs)_[a-z_]+\b/g), ([name]) => name))
    const alerts = rules()
      .map(({ expr }) => expr)
      .join('\n')
    const dashboard = queries(JSON.parse(read('deploy/grafana/latchkey.json'))).join('\n')
    for (const source of [alerts, dashboard]) {
      expect(named(source).size).toBeGreaterThan(10)
      expect([...named(source)].filter((name) => !there.has(name))).toEqual([])
    }
    const [, metrics = ''] = /^## Metrics\n(.*?)^## /ms.exec(read('docs/operations/monitoring.md')) ?? []
    const documented = new Set(Array.from(metrics.matchAll(/^\| `([a-z_]+)/gm), ([, name = '']) => name))
    const served = Array.from(text.matchAll(/^# TYPE (\S+)/gm), ([, name]) => name)
    expect([...documented].sort()).toEqual([...served, ...OF_THE_SUPERVISOR].sort())
  })

  it('of alerts have a paragraph each in the operations guide', () => {
    const operations = `${read('docs/operations/monitoring.md')}\n#`
    const described = Array.from(operations.matchAll(/^#### (Latchkey\w+)$/gm), ([, name]) => name)
    expect(described).toEqual(rules().map(({ alert }) => alert))
    for (const { alert, annotations, labels } of rules()) {
      expect(annotations.runbook).toBe(`docs/operations/monitoring.md#${alert.toLowerCase()}`)
      expect(['page', 'ticket']).toContain(labels.severity)
      const [, paragraph = ''] = new RegExp(`^#### ${alert}\\n(.*?)^#`, 'ms').exec(operations) ?? []
      for (const part of ['**Means:**', '**Look at:**', '**Do:**'])
        expect([alert, paragraph]).toEqual([alert, expect.stringContaining(part)])
    }
  })
})

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

type Rule = {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly runbook: string }
}

function rules(): readonly Rule[] {
  const { groups } = parse(read('deploy/prometheus/alerts.yaml')) as { groups: { rules: Rule[] }[] }
  return groups.flatMap((group) => group.rules)
}

/** Every PromQL expression in a file. */
function queries(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(queries)
  if (typeof node !== 'object' || node === null) return []
  return Object.entries(node).flatMap(([key, value]) =>
    (key === 'expr' || key === 'definition') && typeof value === 'string' ? [value] : queries(value),
  )
}

function namesOf(name: string, type: string | undefined): string[] {
  return type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => `${name}${end}`) : [name]
}
