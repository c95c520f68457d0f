/**
 * Spans: wraps a piece of work in an OpenTelemetry span. Depends on the OpenTelemetry API only; without the SDK
 * (app.ts) nothing here is called.
 *
 * A span carries only names from this code base: no values, codes, addresses or queries, and of an error only its
 * class.
 */
import { type Attributes, type Context, context, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'

const tracer = trace.getTracer('latchkey')

export type Spanned = {
  readonly name: string
  /** `client`: a call to another system. */
  readonly kind: 'server' | 'client' | 'internal'
  readonly attributes?: Attributes
  /** Absent: the active span. */
  readonly parent?: Context
}

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL }

export function inSpan<T>(
  { name, kind, attributes = {}, parent = context.active() }: Spanned,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  return tracer.startActiveSpan(name, { kind: KINDS[kind], attributes }, parent, async (span) => {
    try {
      return await work(span)
    } catch (error) {
      span.setAttribute('error.type', error instanceof Error ? error.name : 'unknown')
      span.setStatus({ code: SpanStatusCode.ERROR })
      throw error
    } finally {
      span.end()
    }
  })
}
