/** An HTTP proxy in front of a cell, on the way from other cells, that loses chosen questions or their answers. */
import { once } from 'node:events'
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'

/** `asked`: the question does not arrive. `answered`: it does, the answer does not. `half`: half of the answer does. */
export type Loss = 'asked' | 'answered' | 'half'

export type CellProxy = {
  readonly address: string
  /** Questions in the order of their arrival. */
  readonly asked: string[]
  /** Sets the port of the cell, which is chosen later. */
  leadTo(port: number): void
  /** Loses the next question of this name, or the answer to it. */
  loseNext(question: string, loss: Loss): void
  /** Waits at the next question of this name until `work` is done; before it is passed on, or before its answer is. */
  pauseNext(question: string, at: 'asked' | 'answered', work: () => Promise<unknown>): void
  /** Loses everything until it is healed. */
  cut(): void
  heal(): void
  stop(): Promise<void>
}

export async function startCellProxy(): Promise<CellProxy> {
  const asked: string[] = []
  const losses: { question: string; loss: Loss }[] = []
  const pauses: { question: string; at: string; work: () => Promise<unknown> }[] = []
  let port = 0
  let broken = false

  const take = <Each extends { question: string }>(list: Each[], fits: (each: Each) => boolean): Each | undefined => {
    const index = list.findIndex(fits)
    return index === -1 ? undefined : list.splice(index, 1)[0]
  }

  const server = createServer(async (request, response) => {
    const question = (request.url ?? '').split('/').at(-1) ?? ''
    asked.push(question)
    const loss = broken ? 'asked' : take(losses, (each) => each.question === question)?.loss
    if (loss === 'asked') return void request.socket.destroy()
    const pauseAt = (at: string) => take(pauses, (each) => each.question === question && each.at === at)?.work()
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    await pauseAt('asked')
    const options = { port, host: '127.0.0.1', path: request.url, method: request.method, headers: request.headers }
    const upstream = httpRequest(options, async (answer) => {
      const parts: Buffer[] = []
      for await (const part of answer) parts.push(part as Buffer)
      const body = Buffer.concat(parts)
      await pauseAt('answered')
      if (loss === 'answered' || broken) return void request.socket.destroy()
      // No connection is kept: one that breaks is tried again, which would hide a loss.
      response.writeHead(answer.statusCode ?? 502, {
        ...answer.headers,
        'content-length': body.length,
        connection: 'close',
      })
      if (loss === undefined) return void response.end(body)
      response.write(body.subarray(0, body.length / 2), () => request.socket.destroy())
    })
    upstream.on('error', () => request.socket.destroy())
    upstream.end(Buffer.concat(chunks))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    leadTo: (to) => {
      port = to
    },
    loseNext: (question, loss) => losses.push({ question, loss }),
    pauseNext: (question, at, work) => pauses.push({ question, at, work }),
    cut: () => {
      broken = true
    },
    heal: () => {
      broken = false
    },
    stop: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
