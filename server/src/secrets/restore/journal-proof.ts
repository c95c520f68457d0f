/**
 * Proof of a line of the revocation journal: a MAC over its text, the process that wrote it, its number there and the
 * proof of the line before it, so that no line can be made, altered, removed or moved without a key of the service.
 * docs/decisions/0058-what-was-ended-stays-ended-after-a-restore.md
 */
import { hash } from 'node:crypto'
import type { Keyset, SigningKey } from '../keyset.ts'
import { equalSecrets, mac } from '../mac.ts'
import { randomText } from '../random.ts'

const MAC_BYTES = 16

/** Predecessor of the first line of a process. */
export const NO_LINE = Buffer.alloc(MAC_BYTES).toString('base64url')

const PROOF = /^(\{.*),"proof":"(\d{1,3})\.([0-9a-z]{12})\.(\d{1,12})\.([\w-]{22})\.([\w-]{22})"\}$/

/** Returns a function that adds the proofs to the lines of this process, in the order in which they will be written. */
export function createJournalChain({ signing }: Pick<Keyset, 'signing'>): (line: string) => string {
  const writer = randomText(12)
  let number = 0
  let previous = NO_LINE
  return (line) => {
    number += 1
    const text = `${line.slice(0, -1)},"proof":"${signing.id}.${writer}.${number}.${previous}`
    previous = proofOf(signing, text)
    return `${text}.${previous}"}`
  }
}

export type ProvenLine = {
  /** The line without its proof. */
  readonly text: string
  readonly keyId: number
  /** The process. */
  readonly writer: string
  /** 1 for its first line. */
  readonly number: number
  readonly previous: string
  readonly proof: string
}

/** Null without a valid proof: also if `LATCHKEY_KEYS` does not have its key, or the key was retired. */
export function verifyJournalLine(keys: Pick<Keyset, 'byId'>, line: string): ProvenLine | null {
  const [, start = '', id, writer = '', number, previous = '', proof = ''] = PROOF.exec(line) ?? []
  const key = keys.byId.get(Number(id))
  if (!key) return null
  const expected = proofOf(key, line.slice(0, -`.${proof}"}`.length))
  if (!equalSecrets(Buffer.from(expected), Buffer.from(proof))) return null
  return { text: `${start}}`, keyId: key.id, writer, number: Number(number), previous, proof }
}

function proofOf(key: SigningKey, text: string): string {
  const proof = mac(key.for['revocation-journal'], hash('sha256', text, 'buffer'))
  return proof.toString('base64url', 0, MAC_BYTES)
}
