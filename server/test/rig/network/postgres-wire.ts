/**
 * A proxy between a process and PostgreSQL that stops a connection at a chosen statement: before PostgreSQL receives
 * it, or after PostgreSQL has executed it and before the process receives the reply.
 */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { PostgresRequests } from './postgres-messages.ts'

export type Moment = {
  readonly when: 'before' | 'after'
  readonly statement: RegExp
  /** A statement that came earlier in the same transaction: it tells one commit from another. */
  readonly within?: RegExp
  /** How many such moments are left to pass. */
  readonly skip?: number
}

/** The connection stands still. `pass` lets it go on; if its process has ended by then, nothing more is passed. */
export type Stopped = { pass(): void }

export type PostgresWire = {
  readonly url: string
  /** Resolves when the moment has come. */
  stopAt(moment: Moment): Promise<Stopped>
  /** Statements so far, of all connections. */
  statements(): readonly string[]
  stop(): Promise<void>
}

type Awaited = Moment & { left: number; reach(stopped: Stopped): void }

export async function startPostgresWire(databaseUrl: string): Promise<PostgresWire> {
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  const awaited = new Set<Awaited>()
  const statements: string[] = []

  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    const requests = new PostgresRequests()
    let transaction: string[] = []
    /** Bytes of either direction that wait for `pass`; null: nothing waits. */
    let held: { toServer: Buffer[]; toClient: Buffer[] } | null = null
    let stopsAtReply: Awaited | null = null

    const stop = (moment: Awaited) => {
      awaited.delete(moment)
      const waiting = { toServer: [] as Buffer[], toClient: [] as Buffer[] }
      held = waiting
      moment.reach({
        pass: () => {
          held = null
          for (const bytes of waiting.toServer) upstream.write(bytes)
          for (const bytes of waiting.toClient) client.write(bytes)
        },
      })
    }
    const momentOf = (statement: string): Awaited | undefined =>
      [...awaited].find((moment) => {
        const { within } = moment
        if (!moment.statement.test(statement) || (within && !transaction.some((each) => within.test(each))))
          return false
        moment.left -= 1
        return moment.left < 0
      })

    client.on('data', (chunk) => {
      for (const { bytes, text } of requests.push(chunk)) {
        statements.push(text)
        const moment = momentOf(text)
        if (moment?.when === 'before') stop(moment)
        if (moment?.when === 'after') stopsAtReply = moment
        transaction = /^begin\b/.test(text) ? [] : [...transaction, text]
        if (held) held.toServer.push(bytes)
        else upstream.write(bytes)
      }
    })
    upstream.on('data', (bytes) => {
      if (stopsAtReply) stop(stopsAtReply)
      stopsAtReply = null
      if (held) held.toClient.push(bytes)
      else client.write(bytes)
    })
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        other.destroy()
        sockets.delete(one)
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const own = new URL(databaseUrl)
  own.port = String((server.address() as AddressInfo).port)
  return {
    url: own.toString(),
    stopAt: (moment) =>
      new Promise((reach) => {
        awaited.add({ ...moment, left: moment.skip ?? 0, reach })
      }),
    statements: () => statements,
    stop: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
