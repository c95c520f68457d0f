/** Tracing decorators of the gate and the limiter. Spans do not reveal the code or network. */
import { inSpan } from '../spans.ts'
import type { Gate } from './gate.ts'
import type { Limiter } from './limiter.ts'

type Where = 'redis' | 'in process'

export function traceGate(gate: Gate, where: Where): Gate {
  return {
    get answers() {
      return gate.answers
    },
    get failures() {
      return gate.failures
    },
    poll: (id, paceMs) => inSpan(spanOf('poll', where), () => gate.poll(id, paceMs)),
    hint: gate.hint,
    drop: (id) => inSpan(spanOf('drop', where), () => gate.drop(id)),
    forgetHints: gate.forgetHints,
    close: gate.close,
  }
}

export function traceLimiter(limiter: Limiter, where: Where): Limiter {
  return {
    codeRequest: (network) => inSpan(spanOf('count code request', where), () => limiter.codeRequest(network)),
    dialog: (network) => inSpan(spanOf('count dialog', where), () => limiter.dialog(network)),
    codes: {
      take: (key) => inSpan(spanOf('count code', where), () => limiter.codes.take(key)),
      refund: limiter.codes.refund,
    },
  }
}

function spanOf(operation: string, where: Where) {
  return {
    name: `gate ${operation}`,
    kind: where === 'redis' ? ('client' as const) : ('internal' as const),
    attributes: { 'latchkey.gate': where, ...(where === 'redis' ? { 'db.system.name': 'redis' } : {}) },
  }
}
