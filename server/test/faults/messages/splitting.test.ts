/** The proxy of verify-messages.ts finds the ends of requests and replies, however the network cuts them. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { PostgresReplies, PostgresRequests } from '../../rig/network/postgres-messages.ts'
import { RedisValues } from '../../rig/network/redis-messages.ts'
import { resetConnection } from '../../rig/network/reset-connection.ts'

const int32 = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}
const untyped = (code: number, rest = '') => {
  return Buffer.concat([int32(8 + Buffer.byteLength(rest)), int32(code), Buffer.from(rest)])
}
const typed = (type: string, body: string | Buffer = '') => {
  return Buffer.concat([Buffer.from(type), int32(4 + Buffer.byteLength(body)), Buffer.from(body)])
}

const STARTUP = untyped(196608, 'user\0latchkey\0\0')
const QUERY = typed('Q', 'begin\0')
const EXTENDED = [typed('P', '\0select $1\0\0\0'), typed('B', '\0\0\0\0'), typed('D', 'P\0'), typed('E', '\0\0\0\0\0')]
const SYNC = typed('S')
const NAMED = [typed('B', '\0lock-grant\0\0\0'), typed('E', '\0\0\0\0\0'), SYNC]

/** The same bytes: at once, byte by byte, and in pieces of seven. */
const CUTS = [Number.POSITIVE_INFINITY, 1, 7]

function pushAll<T>(splitter: { push(chunk: Buffer): T[] }, bytes: Buffer, size: number): T[] {
  const found: T[] = []
  for (let at = 0; at < bytes.length; at += size) found.push(...splitter.push(bytes.subarray(at, at + size)))
  return found
}

describe.each(CUTS)('in pieces of %d bytes', (size) => {
  it('a request to PostgreSQL ends with Query or Sync, and has the text of its statement', () => {
    const bytes = Buffer.concat([STARTUP, QUERY, ...EXTENDED, SYNC, ...NAMED, typed('X')])
    const requests = pushAll(new PostgresRequests(), bytes, size)
    expect(requests.map(({ text }) => text)).toEqual([
      'StartupMessage',
      'begin',
      'select $1',
      'lock-grant',
      'Terminate',
    ])
    expect(requests.map(({ answered }) => answered)).toEqual([true, true, true, true, false])
    expect(Buffer.concat(requests.map((request) => request.bytes))).toEqual(bytes)
  })

  it('the start-up may ask for encryption first, whose answer is one byte', () => {
    const requests = pushAll(new PostgresRequests(), Buffer.concat([untyped(80877103), STARTUP, QUERY]), size)
    expect(requests.map(({ text }) => text)).toEqual(['SSLRequest', 'StartupMessage', 'begin'])
    const replies = new PostgresReplies()
    replies.expectByte()
    const started = Buffer.concat([typed('R', int32(0)), typed('S', 'TimeZone\0UTC\0'), typed('Z', 'I')])
    const found = pushAll(replies, Buffer.concat([Buffer.from('N'), started]), size)
    expect(found.map((reply) => reply.bytes)).toEqual([Buffer.from('N'), started])
  })

  it('a reply of PostgreSQL ends with ReadyForQuery, which says whether a transaction is open', () => {
    const first = Buffer.concat([typed('C', 'BEGIN\0'), typed('Z', 'T')])
    const second = Buffer.concat([
      typed('1'),
      typed('2'),
      typed('D', 'Z not the end'),
      typed('C', 'SELECT 1\0'),
      typed('Z', 'I'),
    ])
    const found = pushAll(new PostgresReplies(), Buffer.concat([first, second]), size)
    expect(found).toEqual([
      { bytes: first, status: 'T' },
      { bytes: second, status: 'I' },
    ])
  })

  it('a reply also ends where PostgreSQL waits for a password, and not where it accepts one', () => {
    const asks = typed('R', Buffer.concat([int32(10), Buffer.from('SCRAM-SHA-256\0\0')]))
    const goesOn = typed('R', Buffer.concat([int32(11), Buffer.from('r=…')]))
    const ends = Buffer.concat([typed('R', int32(12)), typed('R', int32(0)), typed('Z', 'I')])
    const found = pushAll(new PostgresReplies(), Buffer.concat([asks, goesOn, ends]), size)
    expect(found.map(({ status }) => status)).toEqual([null, null, 'I'])
    expect(found.at(-1)?.bytes).toEqual(ends)
  })

  it('an error before PostgreSQL ends the connection is the remainder', () => {
    const replies = new PostgresReplies()
    const fatal = typed('E', 'SFATAL\0C57P01\0\0')
    expect(pushAll(replies, fatal, size)).toEqual([])
    expect(replies.remainder()).toEqual(fatal)
  })

  it('a command of Redis is one array, whatever its strings contain', () => {
    const set = '*3\r\n$3\r\nset\r\n$1\r\nk\r\n$6\r\n*1\r\n$1\r\n'
    const publish = '*3\r\n$7\r\npublish\r\n$7\r\ndecided\r\n$2\r\nid\r\n'
    const found = pushAll(new RedisValues(), Buffer.from(set + publish), size)
    expect(found.map(({ bytes }) => bytes.toString())).toEqual([set, publish])
    expect(found.map(({ text }) => text)).toEqual(['set k', 'publish decided'])
  })

  it('a reply of Redis is a line, a string, nothing, or several of them', () => {
    const replies = [
      '+OK\r\n',
      ':2\r\n',
      '-ERR no\r\n',
      '$-1\r\n',
      '*-1\r\n',
      '*0\r\n',
      '*2\r\n:1\r\n*1\r\n$2\r\n\r\n\r\n',
    ]
    const found = pushAll(new RedisValues(), Buffer.from(replies.join('')), size)
    expect(found.map(({ bytes }) => bytes.toString())).toEqual(replies)
  })
})

it.each([false, true])('a connection is reset, also while it is being shut down (%s)', async (ending) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {})
  const [socket] = (await once(server, 'connection')) as [Socket]
  const errors: Error[] = []
  socket.on('error', (error) => errors.push(error))
  if (ending) {
    socket.end()
    // The shutdown has begun, and the event loop has not finished it.
    await new Promise((resolve) => process.nextTick(() => process.nextTick(resolve)))
    expect([socket.writableEnded, socket.writableFinished]).toEqual([true, false])
  }
  resetConnection(socket)
  await new Promise((resolve) => client.once('close', resolve))
  expect(errors).toEqual([])
  server.close()
})
