/** An OpenTelemetry collector on this machine: receives OTLP over HTTP as JSON and keeps it. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export type CollectedSpan = {
  readonly name: string
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | null
  readonly attributes: Readonly<Record<string, unknown>>
  readonly failed: boolean
}

export type Collector = {
  readonly url: string
  /** All bodies as received. */
  readonly bodies: readonly string[]
  readonly spans: readonly CollectedSpan[]
  readonly resource: Readonly<Record<string, unknown>>
  waitFor<T>(look: () => T | undefined, ms?: number): Promise<T>
  stop(): Promise<void>
}

// biome-ignore lint/suspicious/noExplicitAny: OTLP's own nesting, looked into here and nowhere else
type Json = any

export async function startCollector(): Promise<Collector> {
  const bodies: string[] = []
  const spans: CollectedSpan[] = []
  let resource: Readonly<Record<string, unknown>> = {}

  const server = createServer(async (request, response) => {
    const body = await text(request)
    bodies.push(body)
    const told: Json = JSON.parse(body)
    for (const group of told.resourceSpans ?? []) {
      resource = readAttributes(group.resource.attributes)
      for (const scope of group.scopeSpans) spans.push(...scope.spans.map(readSpan))
    }
    response.writeHead(request.url === '/v1/traces' ? 200 : 404, { 'content-type': 'application/json' }).end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    spans,
    get resource() {
      return resource
    },
    waitFor: async (look, ms = 15_000) => {
      for (const late = Date.now() + ms; ; ) {
        const found = look()
        if (found !== undefined) return found
        if (Date.now() > late) throw new Error(`it was not told: ${spans.map(({ name }) => name).join(', ')}`)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    },
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function readSpan({ name, kind, traceId, spanId, parentSpanId, attributes, status }: Json): CollectedSpan {
  const failed = status?.code === 2
  return {
    name,
    kind,
    traceId,
    spanId,
    parentSpanId: parentSpanId || null,
    attributes: readAttributes(attributes),
    failed,
  }
}

function readAttributes(attributes: Json[] = []): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? value.intValue ?? value.doubleValue ?? value.boolValue,
    ]),
  )
}
