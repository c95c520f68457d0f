/**
 * Metrics server: /metrics for Prometheus, on a second port, never on the first.
 * docs/operations/monitoring.md, "Metrics".
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Config } from '../config.ts'
import type { Events } from '../events.ts'
import type { MetricsReader } from '../flows/operator/metrics.ts'
import { CONTENT_TYPE, writeExposition } from '../telemetry/exposition.ts'
import { PLAIN_HEADERS } from './security-headers.ts'

export type MetricsServer = { readonly address: string; close(): Promise<void> }

/** Null if no metrics port is configured. */
export async function startMetricsServer(
  { config, events }: { readonly config: Pick<Config, 'metricsHost' | 'metricsPort'>; readonly events: Events },
  read: MetricsReader,
): Promise<MetricsServer | null> {
  const { metricsHost, metricsPort } = config
  if (metricsPort === null) return null
  const server = createServer(async (request, response) => {
    const path = request.url?.split('?', 1)[0]
    if (path !== '/metrics' || (request.method !== 'GET' && request.method !== 'HEAD')) {
      return void response.writeHead(path === '/metrics' ? 405 : 404, { ...PLAIN_HEADERS, 'content-length': 0 }).end()
    }
    try {
      const text = writeExposition(await read())
      const length = Buffer.byteLength(text)
      response.writeHead(200, { ...PLAIN_HEADERS, 'content-type': CONTENT_TYPE, 'content-length': length }).end(text)
    } catch (error) {
      events.unexpected('metrics', error)
      response.writeHead(500, { ...PLAIN_HEADERS, 'content-length': 0 }).end()
    }
  })
  server.listen(metricsPort, metricsHost)
  await once(server, 'listening')
  const { address, family, port } = server.address() as AddressInfo
  return {
    address: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    close: async () => {
      server.closeAllConnections()
      const closed = once(server, 'close')
      server.close()
      await closed
    },
  }
}
