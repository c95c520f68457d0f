/** A name server on this machine: UDP, address records only (RFC 1035), with a different answer for every query if needed. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIP } from 'node:net'

const TYPES: Readonly<Record<number, 'A' | 'AAAA'>> = { 1: 'A', 28: 'AAAA' }

export type Question = { readonly name: string; readonly type: 'A' | 'AAAA' }

export type NameServer = {
  /** As DNS_SERVERS takes it. */
  readonly address: string
  stop(): Promise<void>
}

/** `answer` returns the addresses of a name; those of the other family are left out. Null: no answer is sent. */
export async function startNameServer(
  answer: (question: Question) => readonly string[] | null,
  at: { readonly address: string; readonly port: number } = { address: '127.0.0.1', port: 0 },
): Promise<NameServer> {
  const socket = createSocket('udp4')
  socket.on('message', (message, from) => {
    const { question, end } = readQuestion(message)
    const addresses = answer(question)
    if (addresses !== null) socket.send(writeAnswer(message.subarray(0, end), question, addresses), from.port)
  })
  socket.bind(at.port, at.address)
  await once(socket, 'listening')
  return {
    address: `${at.address}:${socket.address().port}`,
    stop: () => new Promise((resolve) => socket.close(() => resolve())),
  }
}

const HEADER_BYTES = 12

function readQuestion(message: Buffer): { question: Question; end: number } {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let length = message.readUInt8(at); length > 0; length = message.readUInt8(at)) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  const type = TYPES[message.readUInt16BE(at + 1)] ?? 'A'
  return { question: { name: labels.join('.').toLowerCase(), type }, end: at + 5 }
}

function writeAnswer(asked: Buffer, { type }: Question, every: readonly string[]): Buffer {
  const addresses = every.filter((address) => isIP(address) === (type === 'A' ? 4 : 6))
  const header = Buffer.from(asked)
  // An answer, recursion available, no error; one question, so many answers, nothing else.
  header.writeUInt16BE(0x81_80, 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(addresses.length, 6)
  header.writeUInt32BE(0, 8)
  return Buffer.concat([header, ...addresses.map(writeRecord)])
}

/** The name is a pointer to byte 12; class IN; TTL 0. */
function writeRecord(address: string): Buffer {
  const bytes = addressBytes(address)
  const head = Buffer.from([0xc0, HEADER_BYTES, 0, bytes.length === 4 ? 1 : 28, 0, 1, 0, 0, 0, 0, 0, bytes.length])
  return Buffer.concat([head, bytes])
}

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number))
  // As URL normalises it, with hexadecimal groups only.
  const [front = '', back] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const groups = (text: string) => text.split(':').filter((group) => group !== '')
  const left = groups(front)
  const right = groups(back ?? '')
  const middle = back === undefined ? [] : new Array(8 - left.length - right.length).fill('0')
  return Buffer.from([...left, ...middle, ...right].map((group) => group.padStart(4, '0')).join(''), 'hex')
}
