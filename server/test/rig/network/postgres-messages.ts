/**
 * Splits a connection to PostgreSQL into requests and replies (frontend/backend protocol 3.0, without COPY). A request ends
 * where the client waits: with Query, Sync, a password, or a message of the start-up. Its reply ends with ReadyForQuery, or
 * where the server waits for a password.
 */

export type PostgresRequest = {
  readonly bytes: Buffer
  /** The statement, also of one that was prepared before, or the name of the protocol's message. */
  readonly text: string
  /** Terminate and CancelRequest have no reply. */
  readonly answered: boolean
}

export type PostgresReply = {
  readonly bytes: Buffer
  /** Status of the transaction in ReadyForQuery: idle, in a transaction, in a failed one. Null: not ready yet. */
  readonly status: 'I' | 'T' | 'E' | null
}

const SSL_REQUEST = 80877103
const GSSENC_REQUEST = 80877104
const CANCEL_REQUEST = 80877102

const UNTYPED: ReadonlyMap<number, string> = new Map([
  [SSL_REQUEST, 'SSLRequest'],
  [GSSENC_REQUEST, 'GSSENCRequest'],
  [CANCEL_REQUEST, 'CancelRequest'],
])

/** Type byte of the frontend's messages that end a request. */
const ENDS: ReadonlyMap<string, string> = new Map([
  ['Q', 'Query'],
  ['S', 'Sync'],
  ['p', 'PasswordMessage'],
  ['X', 'Terminate'],
])

export class PostgresRequests {
  #rest: Buffer = Buffer.alloc(0)
  #started = false
  #parts: Buffer[] = []
  #text = ''
  /** A named statement is sent once, and afterwards only its name. */
  readonly #named = new Map<string, string>()

  push(chunk: Buffer): PostgresRequest[] {
    this.#rest = Buffer.concat([this.#rest, chunk])
    const requests: PostgresRequest[] = []
    for (let request = this.#next(); request !== null; request = this.#next()) {
      if (request !== 'part') requests.push(request)
    }
    return requests
  }

  #next(): PostgresRequest | 'part' | null {
    return this.#started ? this.#typed() : this.#untyped()
  }

  /** Before StartupMessage was sent, messages have no type byte. */
  #untyped(): PostgresRequest | null {
    const bytes = this.#take(0)
    if (bytes === null) return null
    const code = bytes.readInt32BE(4)
    this.#started = !UNTYPED.has(code)
    return { bytes, text: UNTYPED.get(code) ?? 'StartupMessage', answered: code !== CANCEL_REQUEST }
  }

  #typed(): PostgresRequest | 'part' | null {
    const bytes = this.#take(1)
    if (bytes === null) return null
    const type = String.fromCharCode(bytes[0] ?? 0)
    this.#parts.push(bytes)
    this.#text ||= this.#textOf(type, bytes.subarray(5))
    const name = ENDS.get(type)
    if (name === undefined) return 'part'
    const request = { bytes: Buffer.concat(this.#parts), text: this.#text || name, answered: type !== 'X' }
    this.#parts = []
    this.#text = ''
    return request
  }

  /** Query: the statements. Parse: name and statement. Bind: portal and name of a statement that was parsed before. */
  #textOf(type: string, body: Buffer): string {
    const [first = '', second = ''] = body.toString('utf8').split('\0', 2)
    if (type === 'Q') return first
    if (type === 'P') this.#named.set(first, second)
    if (type === 'B') return this.#named.get(second) ?? second
    return type === 'P' ? second : ''
  }

  /** A whole message, whose length follows after so many bytes. */
  #take(before: number): Buffer | null {
    const bytes = wholeMessage(this.#rest, before)
    if (bytes !== null) this.#rest = this.#rest.subarray(bytes.length)
    return bytes
  }
}

function wholeMessage(bytes: Buffer, before: number): Buffer | null {
  if (bytes.length < before + 4) return null
  const length = before + bytes.readInt32BE(before)
  return bytes.length < length ? null : bytes.subarray(0, length)
}

/** Authentication requests after which the server goes on by itself: AuthenticationOk and AuthenticationSASLFinal. */
const GOES_ON = [0, 12]

export class PostgresReplies {
  #rest: Buffer = Buffer.alloc(0)
  #parts: Buffer[] = []
  #oneByte = false

  /** The answer to SSLRequest and GSSENCRequest is a single byte. */
  expectByte(): void {
    this.#oneByte = true
  }

  push(chunk: Buffer): PostgresReply[] {
    this.#rest = Buffer.concat([this.#rest, chunk])
    const replies: PostgresReply[] = []
    if (this.#oneByte && this.#rest.length > 0) {
      this.#oneByte = false
      replies.push({ bytes: this.#rest.subarray(0, 1), status: null })
      this.#rest = this.#rest.subarray(1)
    }
    for (let bytes = wholeMessage(this.#rest, 1); bytes !== null; bytes = wholeMessage(this.#rest, 1)) {
      this.#rest = this.#rest.subarray(bytes.length)
      this.#parts.push(bytes)
      const status = endOf(bytes)
      if (status === undefined) continue
      replies.push({ bytes: Buffer.concat(this.#parts), status })
      this.#parts = []
    }
    return replies
  }

  /** What came since the last whole reply: an error without ReadyForQuery, before the server ends the connection. */
  remainder(): Buffer {
    return Buffer.concat([...this.#parts, this.#rest])
  }
}

/** Undefined: the reply goes on. */
function endOf(message: Buffer): PostgresReply['status'] | undefined {
  const type = String.fromCharCode(message[0] ?? 0)
  if (type === 'Z') return String.fromCharCode(message[5] ?? 0) as PostgresReply['status']
  return type === 'R' && !GOES_ON.includes(message.readInt32BE(5)) ? null : undefined
}
