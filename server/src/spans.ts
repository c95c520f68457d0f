/**
 * One span around a piece of work, for whoever follows a request through the engines. Only the API of OpenTelemetry is known here:
 * where no SDK was loaded (app.ts), nothing of this is called.
 *
 * A span has words of ours and nothing else: no value, no code, no address, no query, and of an error only its kind.
 */
import { type Attributes, type Context, context, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'

const tracer = trace.getTracer('latchkey')

export type Spanned = {
  readonly name: string
  /** `client`: somebody else does it, and we wait. */
  readonly kind: 'server' | 'client' | 'internal'
  readonly attributes?: Attributes
  /** Absent: what is being done at this moment. */
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
