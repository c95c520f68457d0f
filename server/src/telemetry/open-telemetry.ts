/**
 * OpenTelemetry SDK: exports traces to a collector, over HTTP, as JSON. app.ts imports this file only when the
 * configuration names a collector, so that other installations do not pay for it.
 * docs/history.md#0025.
 */
import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { VERSION } from '../version.ts'

/** Export delay of spans: an operator who looks for a recent request waits at most this long. */
const SPANS_EVERY_MS = 1_000

/** Time limit for exporting the last spans when the process stops. */
const SHUTDOWN_TIMEOUT_MS = 3_000

export type Tracing = { stop(): Promise<void> }

/** `sampledPart`: share of the traces started here that are sampled, from 0 to 1. */
export function startTracing(url: string, sampledPart: number): Tracing {
  const provider = new TracerProvider({
    resource: createResource(),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampledPart) }),
    spanProcessors: [
      new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url }), scheduledDelayMillis: SPANS_EVERY_MS }),
    ],
  })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  trace.setGlobalTracerProvider(provider)
  return {
    stop: async () => {
      const stopped = provider.shutdown().catch(() => {})
      const late = new Promise((resolve) => setTimeout(resolve, SHUTDOWN_TIMEOUT_MS).unref())
      await Promise.race([stopped, late])
      for (const each of [trace, propagation, context]) each.disable()
    },
  }
}

/** OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override the attributes set here. */
function createResource() {
  return defaultResource()
    .merge(
      resourceFromAttributes({ 'service.name': 'latchkey', 'service.version': VERSION, 'process.pid': process.pid }),
    )
    .merge(detectResources({ detectors: [envDetector] }))
}
