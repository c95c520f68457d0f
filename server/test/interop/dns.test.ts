/** TXT records of a real name server, and name servers that do not answer or answer with errors. */
import { createSocket, type Socket } from 'node:dgram'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createDns } from '../../src/dns.ts'
import { type DnsServer, startDnsServer } from '../rig/network/dns-server.ts'

const LONG = 'latchkey-publisher='.padEnd(700, 'x')
const MANY = Array.from({ length: 120 }, (_, index) => `${index}-`.padEnd(250, 'y'))

let server: DnsServer
beforeAll(async () => {
  server = await startDnsServer({
    texts: {
      '_latchkey.one.example': ['latchkey-publisher=abc'],
      '_latchkey.several.example': ['v=spf1 -all', 'latchkey-publisher=abc', 'a "quoted" one, with a comma'],
      '_latchkey.split.example': [[LONG.slice(0, 255), LONG.slice(255, 510), LONG.slice(510)]],
      '_latchkey.xn--bcher-kva.example': ['latchkey-publisher=idn'],
      '_latchkey.many.example': MANY,
      'proof.elsewhere.example': ['latchkey-publisher=by another name'],
      '_latchkey.empty.example': [''],
    },
    aliases: { '_latchkey.alias.example': 'proof.elsewhere.example' },
  })
})
afterAll(() => server.stop())

const ask = (name: string) => createDns([server.address]).resolveTxt(name)

describe('a name server that answers', () => {
  it.each([
    ['one text', '_latchkey.one.example', ['latchkey-publisher=abc']],
    ['a text that is longer than one string can be, put together', '_latchkey.split.example', [LONG]],
    ['a text behind another name', '_latchkey.alias.example', ['latchkey-publisher=by another name']],
    ['a text of a domain in other letters', '_latchkey.xn--bcher-kva.example', ['latchkey-publisher=idn']],
    ['a text that is empty', '_latchkey.empty.example', ['']],
    ['in capitals, the same', '_LATCHKEY.ONE.EXAMPLE', ['latchkey-publisher=abc']],
  ])('is understood: %s', async (_what, name, texts) => {
    expect(await ask(name)).toEqual({ outcome: 'found', texts })
  })

  it('is understood: several texts, in any order', async () => {
    const answer = await ask('_latchkey.several.example')
    expect(answer.outcome === 'found' && answer.texts.toSorted()).toEqual([
      'a "quoted" one, with a comma',
      'latchkey-publisher=abc',
      'v=spf1 -all',
    ])
  })

  it('is understood: more than fits into a datagram, thirty kilobytes of it', async () => {
    const answer = await ask('_latchkey.many.example')
    expect(answer.outcome === 'found' && answer.texts.toSorted()).toEqual(MANY.toSorted())
  })

  it('without such a name, or without texts, gives an empty result', async () => {
    expect(await ask('_latchkey.none.example')).toEqual({ outcome: 'none' })
    expect(await ask('alias.example')).toEqual({ outcome: 'none' })
    await server.know({ aliases: { '_latchkey.loose.example': 'nowhere.example' } })
    expect(await ask('_latchkey.loose.example')).toEqual({ outcome: 'none' })
  })
})

describe('name servers that fail', () => {
  const sockets: Socket[] = []
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.close()
  })

  /** `answer`: the response to a query, if any. */
  async function listen(answer: (question: Buffer) => Buffer | null): Promise<{ address: string; asked(): number }> {
    let asked = 0
    const socket = createSocket('udp4')
    sockets.push(socket)
    socket.on('message', (question, from) => {
      asked += 1
      const bytes = answer(question)
      if (bytes) socket.send(bytes, from.port, from.address)
    })
    await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
    return { address: `127.0.0.1:${(socket.address() as AddressInfo).port}`, asked: () => asked }
  }

  const took = async (work: () => Promise<unknown>) => {
    const start = performance.now()
    await work()
    return performance.now() - start
  }

  it('are given up after a bounded time and number of queries', async () => {
    const silent = await listen(() => null)
    const names = createDns([silent.address], { tryMs: 100, tries: 2, wholeMs: 2_000 })
    const ms = await took(async () =>
      expect(await names.resolveTxt('_latchkey.one.example')).toEqual({ outcome: 'silent' }),
    )
    expect(ms).toBeLessThan(2_000)
    expect(silent.asked()).toBeLessThanOrEqual(4)
  })

  it('are given up after a total time, whatever the limit of each', async () => {
    const silent = await listen(() => null)
    const names = createDns([silent.address], { tryMs: 60_000, tries: 5, wholeMs: 300 })
    const ms = await took(async () =>
      expect(await names.resolveTxt('_latchkey.one.example')).toEqual({ outcome: 'silent' }),
    )
    expect(ms).toBeGreaterThan(250)
    expect(ms).toBeLessThan(3_000)
  })

  it('have a default time limit short enough for a page', async () => {
    const silent = await listen(() => null)
    const ms = await took(() => createDns([silent.address]).resolveTxt('_latchkey.one.example'))
    expect(ms).toBeLessThan(7_000)
  })

  /** Returns the query as a response with this code (RFC 1035, section 4.1.1). */
  const withCode = (code: number) => (question: Buffer) => {
    const answer = Buffer.from(question)
    answer.writeUInt16BE(0x8180 | code, 2)
    return answer
  }

  it.each([
    ['fail', withCode(2)],
    ['refuse', withCode(5)],
    ['do not know what that is', withCode(4)],
    ['send rubbish', () => Buffer.from('rubbish')],
    ['send nothing but zeros', () => Buffer.alloc(512)],
  ])('count as unanswered when they %s', async (_what, answer) => {
    const { address } = await listen(answer)
    const names = createDns([address], { tryMs: 100, tries: 2, wholeMs: 1_000 })
    expect(await names.resolveTxt('_latchkey.one.example')).toEqual({ outcome: 'silent' })
  })

  it('count as unanswered when unreachable', async () => {
    const gone = await listen(() => null)
    sockets.splice(0).forEach((socket) => void socket.close())
    const names = createDns([gone.address], { tryMs: 100, tries: 2, wholeMs: 1_000 })
    expect(await names.resolveTxt('_latchkey.one.example')).toEqual({ outcome: 'silent' })
  })

  it('do not prevent queries to others', async () => {
    const silent = await listen(() => null)
    await server.know({ texts: { '_latchkey.one.example': ['latchkey-publisher=abc'] } })
    const names = createDns([silent.address, server.address], { tryMs: 100, tries: 2, wholeMs: 3_000 })
    expect(await names.resolveTxt('_latchkey.one.example')).toEqual({
      outcome: 'found',
      texts: ['latchkey-publisher=abc'],
    })
  })
})
