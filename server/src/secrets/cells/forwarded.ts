/** Mark of a request that one cell forwards to another. All cells have the same keys, and nobody else has. */
import type { Keyset } from '../keyset.ts'
import { type SignedText, sign, verify } from '../signed-text.ts'

/** The body is empty: the MAC covers values that the receiver knows from elsewhere (`boundOf`). */
const kind: SignedText = { prefix: '', purpose: 'cell-message', bodyBytes: 0 }

export type ForwardedRequest = {
  /** The cell that has to answer. */
  readonly to: number
  readonly requestId: string
  /** Of the client. */
  readonly address: string | null
}

export function signForwarded(keys: Keyset, request: ForwardedRequest): string {
  return sign(kind, keys.signing, Buffer.alloc(0), boundOf(request))
}

export function isForwarded(keys: Keyset, mark: string, request: ForwardedRequest): boolean {
  return verify(kind, keys, mark, boundOf(request)) !== null
}

function boundOf({ to, requestId, address }: ForwardedRequest): string {
  return ['forwarded', to, requestId, address ?? ''].join('\n')
}
