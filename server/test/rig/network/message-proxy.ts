/**
 * A proxy between a service and its PostgreSQL or Redis that splits connections into requests and replies, and loses or
 * delays one of them, or resets its connection. TCP delivers nothing after a gap: after a lost message the connection
 * is silent in that direction, until the link recovers and the connection is reset.
 */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { PostgresReplies, PostgresRequests } from './postgres-messages.ts'
import { RedisValues } from './redis-messages.ts'
import { resetConnection } from './reset-connection.ts'

export type Engine = 'postgresql' | 'redis'

export type LinkFault =
  | 'request lost'
  | 'reply lost'
  | 'delayed'
  /** The engine does not get the request. */
  | 'reset before'
  /** The engine gets the request, and its reply finds no connection. */
  | 'reset after'

export type Message = {
  readonly engine: Engine
  /** Number of the connection. */
  readonly connection: number
  readonly text: string
  /** Whether the connection is in a transaction of PostgreSQL. */
  readonly inTransaction: boolean
}

export type MessageProxy = {
  readonly port: number
  /** Resets the connections that a fault has made silent. */
  recover(): void
  stop(): Promise<void>
}

type Settings = {
  readonly engine: Engine
  readonly port: number
  /** How long a delayed request is on the way: longer than the service waits for its reply. */
  readonly delayMs: number
  /** Called with each request, and with each message that Redis sends unasked; null: it passes. */
  readonly onMessage: (message: Message) => LinkFault | null
}

export async function startMessageProxy(settings: Settings): Promise<MessageProxy> {
  const connections = new Set<Connection>()
  let count = 0
  const server = createServer((client) => {
    count += 1
    const connection = new Connection(settings, count, client)
    connections.add(connection)
    connection.onClosed(() => connections.delete(connection))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    recover: () => {
      for (const connection of connections) if (connection.silent) connection.reset()
    },
    stop: async () => {
      for (const connection of connections) connection.reset()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

type Request = { readonly bytes: Buffer; readonly text: string; readonly answered: boolean }
type Reply = { readonly bytes: Buffer; readonly text: string; readonly inTransaction: boolean }

class Connection {
  readonly #settings: Settings
  readonly #number: number
  readonly #client: Socket
  readonly #upstream: Socket
  readonly #protocol: Protocol
  /** Requests whose reply is outstanding, with what happens to it. */
  readonly #waiting: (LinkFault | null)[] = []
  readonly #silent = { toEngine: false, toClient: false }
  /** Requests held back by a delay. */
  #held: Buffer[] | null = null
  #inTransaction = false
  #clientEnded = false

  constructor(settings: Settings, number: number, client: Socket) {
    this.#settings = settings
    this.#number = number
    this.#client = client
    this.#upstream = connect(settings.port, '127.0.0.1')
    this.#protocol = settings.engine === 'redis' ? createRedisProtocol() : createPostgresProtocol()
    for (const socket of [client, this.#upstream]) {
      socket.setNoDelay(true)
      socket.on('error', () => {})
    }
    client.on('data', (chunk) => {
      for (const request of this.#protocol.requests(chunk)) this.#passRequest(request)
    })
    this.#upstream.on('data', (chunk) => {
      for (const reply of this.#protocol.replies(chunk)) this.#passReply(reply)
    })
    client.on('close', () => {
      this.#clientEnded = true
      // A delayed request still arrives, although nobody waits for its reply.
      if (this.#held === null) this.#upstream.destroy()
    })
    this.#upstream.on('close', () => {
      if (this.#client.destroyed) return
      if (!this.silent) this.#client.write(this.#protocol.remainder())
      this.#client.destroySoon()
    })
  }

  get silent(): boolean {
    return this.#silent.toEngine || this.#silent.toClient
  }

  onClosed(closed: () => void): void {
    this.#client.on('close', closed)
  }

  reset(): void {
    resetConnection(this.#client)
    this.#upstream.destroy()
  }

  #passRequest({ bytes, text, answered }: Request): void {
    if (this.#silent.toEngine) return
    const fault = answered ? this.#faultFor(text) : null
    if (fault === 'request lost') {
      this.#silent.toEngine = true
      return
    }
    if (fault === 'reset before') {
      this.reset()
      return
    }
    if (answered) this.#waiting.push(fault)
    if (fault === 'delayed') this.#hold()
    if (this.#held) this.#held.push(bytes)
    else this.#upstream.write(bytes)
  }

  #hold(): void {
    this.#held ??= []
    setTimeout(() => {
      const held = this.#held ?? []
      this.#held = null
      for (const bytes of held) this.#upstream.write(bytes)
      if (this.#clientEnded) this.#upstream.end()
    }, this.#settings.delayMs)
  }

  #passReply({ bytes, text, inTransaction }: Reply): void {
    this.#inTransaction = inTransaction
    const asked = this.#waiting.length > 0
    const fault = asked ? this.#waiting.shift() : this.#faultFor(text)
    if (fault === 'reset after' || (!asked && fault === 'reset before')) {
      this.reset()
      return
    }
    if (fault === 'reply lost' || (!asked && fault === 'request lost')) this.#silent.toClient = true
    if (this.#silent.toClient) return
    if (!asked && fault === 'delayed') setTimeout(() => this.#client.write(bytes), this.#settings.delayMs)
    else this.#client.write(bytes)
  }

  #faultFor(text: string): LinkFault | null {
    const { engine, onMessage } = this.#settings
    return onMessage({ engine, connection: this.#number, text, inTransaction: this.#inTransaction })
  }
}

type Protocol = {
  requests(chunk: Buffer): readonly Request[]
  replies(chunk: Buffer): readonly Reply[]
  remainder(): Buffer
}

function createPostgresProtocol(): Protocol {
  const [requests, replies] = [new PostgresRequests(), new PostgresReplies()]
  return {
    requests: (chunk) => {
      const found = requests.push(chunk)
      if (found.some(({ text }) => text === 'SSLRequest' || text === 'GSSENCRequest')) replies.expectByte()
      return found
    },
    replies: (chunk) =>
      replies
        .push(chunk)
        .map(({ bytes, status }) => ({ bytes, text: '', inTransaction: status === 'T' || status === 'E' })),
    remainder: () => replies.remainder(),
  }
}

function createRedisProtocol(): Protocol {
  const [commands, values] = [new RedisValues(), new RedisValues()]
  return {
    requests: (chunk) => commands.push(chunk).map((command) => ({ ...command, answered: true })),
    replies: (chunk) => values.push(chunk).map((value) => ({ ...value, inTransaction: false })),
    remainder: () => Buffer.alloc(0),
  }
}
