/** Exported traces: spans, their parents and attributes, and what they never contain. docs/operations/monitoring.md, "Traces". */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Device, post } from '../rig/device.ts'
import { engineUrl } from '../rig/engines/database.ts'
import { type CollectedSpan, type Collector, startCollector } from '../rig/network/collector.ts'
import { type ServerProcess, startServerProcess } from '../rig/process/server-process.ts'
import { startTestService, type TestService } from '../rig/service.ts'

let service: TestService
let collector: Collector
let server: ServerProcess
let device: Device
beforeAll(async () => {
  const redis = { REDIS_URL: engineUrl('REDIS_URL') }
  service = await startTestService(redis, { listen: false })
  collector = await startCollector()
  server = await startServerProcess({
    ...redis,
    DATABASE_URL: service.database.url,
    OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    CODE_REQUESTS_PER_NETWORK: '1000',
    TRUST_PROXY: '127.0.0.2/32',
  })
  device = new Device(server.address, service.application)
})
afterAll(async () => {
  await server.kill('SIGTERM')
  await collector.stop()
  await service.stop()
})

/** The span of the request with this id, and all below it once they have arrived. */
async function traceOf(requestId: unknown): Promise<{ root: CollectedSpan; below(parent?: CollectedSpan): string[] }> {
  const isRoot = ({ attributes }: CollectedSpan) => attributes['latchkey.request_id'] === requestId
  const root = await collector.waitFor(() => collector.spans.find(isRoot))
  const childrenOf = (parent: CollectedSpan) =>
    collector.spans.filter(({ parentSpanId }) => parentSpanId === parent.spanId)
  const below = (parent = root): string[] =>
    childrenOf(parent).flatMap((child) => [child.name, ...below(child).map((name) => `${child.name} > ${name}`)])
  return { root, below }
}

const idOf = ({ headers }: { headers: Record<string, unknown> }) => headers['x-request-id']

describe('the spans of a device flow', () => {
  it('are one per request, named by its route, with the calls of PostgreSQL and the gate below', async () => {
    const requested = await device.request()
    const code = await traceOf(idOf(requested))
    expect(code.root).toMatchObject({
      name: 'POST /auth/oauth/device/code',
      kind: 2,
      parentSpanId: null,
      failed: false,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/auth/oauth/device/code',
        'http.response.status_code': 200,
      },
    })
    expect(Object.keys(code.root.attributes).sort()).toEqual([
      'http.request.method',
      'http.response.status_code',
      'http.route',
      'latchkey.request_id',
    ])
    expect(code.below()).toContain('gate count code request')
    expect(code.below()).toContain('transaction > insert device_codes')

    const pending = await traceOf(idOf(await device.poll(requested.body.device_code)))
    expect(pending.below()).toEqual(['gate poll', 'select device_codes'])

    expect(await service.grant(requested.body.user_code)).toBe('granted')
    const accepted = await device.poll(requested.body.device_code)
    expect(accepted.status).toBe(200)
    const poll = await traceOf(idOf(accepted))
    expect(poll.root.name).toBe('POST /auth/oauth/device/polling')
    expect(poll.below()).toEqual(
      expect.arrayContaining(['gate poll', 'transaction', 'transaction > update device_codes']),
    )
    const [gate] = collector.spans.filter(
      ({ name, parentSpanId }) => name === 'gate poll' && parentSpanId === poll.root.spanId,
    )
    expect(gate).toMatchObject({ kind: 3, traceId: poll.root.traceId, attributes: { 'db.system.name': 'redis' } })
  })

  it('have an error status for server errors only', async () => {
    await service.database.query('alter table device_codes rename to device_codes_elsewhere')
    try {
      const failed = await traceOf(idOf(await device.request()))
      expect([failed.root.failed, failed.root.attributes['http.response.status_code']]).toEqual([true, 500])
    } finally {
      await service.database.query('alter table device_codes_elsewhere rename to device_codes')
    }
    const refused = await traceOf(idOf(await post(server.address, '/auth/oauth/device/code', { form: {} })))
    expect([refused.root.failed, refused.root.attributes['http.response.status_code']]).toEqual([false, 400])
  })

  it('contain no secret, code, credential, query or client address', async () => {
    const { SVCappid, SVCsecret } = device.credentials
    const canary = 'canary-4f1c2e'
    const agent = { 'user-agent': canary, 'x-forwarded-for': '198.51.100.77', [canary]: canary }
    const requested = await post(server.address, '/auth/oauth/device/code', {
      query: { SVCappid, SVCsecret, state: canary },
      headers: agent,
    })
    const { device_code, user_code } = requested.body
    await service.grant(user_code)
    const issued = await post(server.address, '/auth/oauth/device/polling', {
      query: { SVCappid, SVCsecret, device_code },
      headers: agent,
    })
    const { access_token, refresh_token } = issued.body
    await post(server.address, '/auth/verify', { method: 'GET', headers: { authorization: `Bearer ${access_token}` } })
    await post(server.address, `/${canary}/${access_token}`, { method: 'GET' })
    const last = await post(server.address, '/auth/oauth/refresh', { form: { SVCappid, SVCsecret, refresh_token } })
    expect(last.status).toBe(200)
    await traceOf(idOf(last))
    const told = collector.bodies.join('\n')
    const hidden = [canary, SVCsecret, SVCappid, device_code, user_code, access_token, refresh_token, '198.51.100']
    expect(hidden.filter((text) => told.includes(text))).toEqual([])
    expect(told).toContain('/auth/oauth/refresh')
  })

  it('name the service, with the operator’s attributes', () => {
    expect(collector.resource).toMatchObject({
      'service.name': 'latchkey',
      'service.version': '0.1.0',
      'deployment.environment.name': 'test',
    })
  })
})

describe('a trace started elsewhere', () => {
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
  const traceparent = `00-${traceId}-00f067aa0ba902b7-01`

  it('is continued for a trusted proxy, and not for other peers', async () => {
    const asked = (localAddress: string) =>
      post(server.address, '/health/live', { method: 'GET', headers: { traceparent }, localAddress })
    const stranger = await traceOf(idOf(await asked('127.0.0.1')))
    expect([stranger.root.parentSpanId, stranger.root.traceId === traceId]).toEqual([null, false])
    const proxy = await traceOf(idOf(await asked('127.0.0.2')))
    expect(proxy.root).toMatchObject({ parentSpanId: '00f067aa0ba902b7', traceId })
  })
})

describe('the SDK', () => {
  const preload = new URL('../rig/process/tell-imports.ts', import.meta.url)
  const importedBy = async (environment: Record<string, string>) => {
    const started = await startServerProcess({ DATABASE_URL: service.database.url, ...environment }, { preload })
    await post(started.address, '/health/ready', { method: 'GET' })
    await started.kill('SIGTERM')
    const found = Array.from(started.log().matchAll(/^imported (\S+)$/gm), ([, name = '']) => name)
    expect(found).toContain('pg')
    return found.filter((name) => name.startsWith('@opentelemetry/')).sort()
  }

  it('is not loaded unless configured', async () => {
    expect(await importedBy({ METRICS_PORT: '0' })).toEqual(['@opentelemetry/api'])
    expect(await importedBy({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces` })).toContain(
      '@opentelemetry/sdk-trace',
    )
  })
})
