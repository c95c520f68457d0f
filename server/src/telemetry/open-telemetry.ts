/**
 * OpenTelemetry SDK: exports traces and metrics to a collector, over HTTP, as JSON. app.ts imports this file only when
 * the configuration names a collector, so that other installations do not pay for it.
 * docs/decisions/0025-telemetry-costs-little-until-it-is-asked-for.md.
 */
import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { VERSION } from '../version.ts'
import type { Family } from './family.ts'
import { createMetricProducer } from './otlp-metrics.ts'

export type Collector = {
  /** Null: no traces are exported. */
  readonly tracesUrl: string | null
  readonly metricsUrl: string | null
  /** Share of the traces started here that are sampled, from 0 to 1. */
  readonly sampledPart: number
  readonly metricsEveryMs: number
}

export type Telemetry = { stop(): Promise<void> }

/** Export delay of spans: an operator who looks for a recent request waits at most this long. */
const SPANS_EVERY_MS = 1_000

/** Time limit for exporting the last spans and metrics when the process stops. */
const SHUTDOWN_TIMEOUT_MS = 3_000

export function startTelemetry(collector: Collector, read: () => Promise<readonly Family[]>): Telemetry {
  const stops = [startTraces(collector), startMetrics(collector, read)]
  return {
    stop: async () => {
      const stopped = Promise.allSettled(stops.map((stop) => stop()))
      const late = new Promise((resolve) => setTimeout(resolve, SHUTDOWN_TIMEOUT_MS).unref())
      await Promise.race([stopped, late])
    },
  }
}

/** OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override the attributes set here. */
function createResource() {
  return defaultResource()
    .merge(
      resourceFromAttributes({
        'service.name': 'latchkey',
        'service.version': VERSION,
        // Counters of several processes are not one series.
        'process.pid': process.pid,
      }),
    )
    .merge(detectResources({ detectors: [envDetector] }))
}

function startTraces({ tracesUrl, sampledPart }: Collector): () => Promise<void> {
  if (tracesUrl === null) return async () => {}
  const provider = new TracerProvider({
    resource: createResource(),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampledPart) }),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new OTLPTraceExporter({ url: tracesUrl }),
        scheduledDelayMillis: SPANS_EVERY_MS,
      }),
    ],
  })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  trace.setGlobalTracerProvider(provider)
  return async () => {
    await provider.shutdown()
    for (const each of [trace, propagation, context]) each.disable()
  }
}

function startMetrics(
  { metricsUrl, metricsEveryMs }: Collector,
  read: () => Promise<readonly Family[]>,
): () => Promise<void> {
  if (metricsUrl === null) return async () => {}
  const provider = new MeterProvider({
    resource: createResource(),
    readers: [
      new PeriodicExportingMetricReader({
        exporter: new OTLPMetricExporter({ url: metricsUrl }),
        exportIntervalMillis: metricsEveryMs,
        exportTimeoutMillis: metricsEveryMs,
        metricProducers: [createMetricProducer(read)],
      }),
    ],
  })
  return () => provider.shutdown()
}
