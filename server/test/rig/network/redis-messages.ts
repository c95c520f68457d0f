/** Splits one direction of a connection to Redis into values of RESP 2 and 3: commands, replies, and pushed messages. */

export type RedisValue = {
  readonly bytes: Buffer
  /** The first two strings of an array or push: a command and its first argument, or `message` and its channel. */
  readonly text: string
}

const CRLF = Buffer.from('\r\n')

/** Types whose line gives the length of a string. */
const STRINGS = ['$', '!', '=']

/** Types whose line gives a number of elements, and how many values each of them has. */
const AGGREGATES: ReadonlyMap<string, number> = new Map([
  ['*', 1],
  ['>', 1],
  ['~', 1],
  ['%', 2],
])

export class RedisValues {
  #rest: Buffer = Buffer.alloc(0)

  push(chunk: Buffer): RedisValue[] {
    this.#rest = Buffer.concat([this.#rest, chunk])
    const values: RedisValue[] = []
    for (let end = endOf(this.#rest, 0); end !== null; end = endOf(this.#rest, 0)) {
      const bytes = this.#rest.subarray(0, end)
      values.push({ bytes, text: textOf(bytes) })
      this.#rest = this.#rest.subarray(end)
    }
    return values
  }
}

/** The offset after the value that begins at this one; null: it is not complete. */
function endOf(bytes: Buffer, from: number): number | null {
  const lineEnd = bytes.indexOf(CRLF, from)
  if (lineEnd === -1) return null
  const type = String.fromCharCode(bytes[from] ?? 0)
  const afterLine = lineEnd + CRLF.length
  const size = Number(bytes.toString('latin1', from + 1, lineEnd))
  if (STRINGS.includes(type)) {
    // A missing string has the length -1 and nothing after its line.
    const end = size < 0 ? afterLine : afterLine + size + CRLF.length
    return end <= bytes.length ? end : null
  }
  const values = size * (AGGREGATES.get(type) ?? 0)
  let end: number | null = afterLine
  for (let value = 0; value < values && end !== null; value += 1) end = endOf(bytes, end)
  return end
}

function textOf(bytes: Buffer): string {
  const [head = '', ...lines] = bytes.toString('latin1').split('\r\n')
  return AGGREGATES.has(head.charAt(0)) ? [lines[1], lines[3]].filter((line) => line !== undefined).join(' ') : head
}
