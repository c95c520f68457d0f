/**
 * A bad network between an application and the service: a proxy over raw sockets that loses, delays, cuts and repeats
 * bytes, as `choose` says for every exchange. It invents no answers but a proxy's own error page.
 */
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export type Fault =
  | 'none'
  /** The connection breaks before the service has received the request. */
  | 'question_lost'
  /** The service has answered, and the connection breaks before the first byte of it. */
  | 'answer_lost'
  /** It breaks within the headers, or within the body. */
  | 'head_cut'
  | 'body_cut'
  /** The service has answered, and the answer is never forwarded; the connection stays open. */
  | 'answer_withheld'
  | 'question_delayed'
  | 'answer_delayed'
  /** The same bytes twice, at once or a moment later. */
  | 'answer_doubled'
  | 'answer_doubled_later'
  /** The proxy sends the request twice, and forwards the first answer. */
  | 'question_doubled'
  /** The service has answered, and the proxy answers with its own error. */
  | 'bad_gateway'

export type Exchange = { readonly path: string; readonly body: string; readonly answer: string; readonly fault: Fault }

export type FaultProxy = {
  readonly address: string
  /** Requests and answers of the service, forwarded or not. */
  readonly exchanges: Exchange[]
  close(): Promise<void>
}

export type Choice = { readonly fault: Fault; readonly delayMs?: number }

export async function startFaultProxy(upstream: string, choose: (path: string) => Choice): Promise<FaultProxy> {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 })
  const exchanges: Exchange[] = []
  const sockets = new Set<Socket>()

  const answerOne = async (socket: Socket, question: Question): Promise<void> => {
    const { fault, delayMs = 0 } = choose(question.path)
    if (fault === 'question_lost') return void socket.destroy()
    if (fault === 'question_delayed') await sleep(delayMs)
    // A client that disconnected meanwhile is skipped.
    if (socket.destroyed) return
    const answer = await forward(upstream, agent, question)
    exchanges.push({ path: question.path, body: question.body, answer, fault })
    if (fault === 'question_doubled') await forward(upstream, agent, question)
    if (fault === 'answer_delayed') await sleep(delayMs)
    const bodyAt = answer.indexOf('\r\n\r\n') + 4
    switch (fault) {
      case 'answer_lost':
        return void socket.destroy()
      case 'head_cut':
      case 'body_cut':
        // After what was written, not before it.
        return void socket.end(answer.slice(0, fault === 'head_cut' ? bodyAt / 2 : (bodyAt + answer.length) / 2))
      case 'answer_withheld':
        return
      case 'bad_gateway':
        return void socket.write(BAD_GATEWAY)
      case 'answer_doubled':
        return void socket.write(answer + answer)
      case 'answer_doubled_later':
        socket.write(answer)
        await sleep(delayMs)
        // Within another exchange it could not be attributed.
        if (!busy.has(socket)) socket.write(answer)
        return
      default:
        socket.write(answer)
    }
  }

  const busy = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    let heard = ''
    socket.setEncoding('latin1').on('data', (chunk) => {
      heard += chunk
      for (let question = readQuestion(heard); question; question = readQuestion(heard)) {
        heard = heard.slice(question.length)
        busy.add(socket)
        answerOne(socket, question)
          .catch(() => socket.destroy())
          .finally(() => busy.delete(socket))
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    exchanges,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      agent.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

const PAGE = '<h1>502 Bad Gateway</h1>'
const BAD_GATEWAY = `HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/html\r\ncontent-length: ${PAGE.length}\r\n\r\n${PAGE}`

type Question = {
  readonly method: string
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: string
  /** Length of the whole message in bytes. */
  readonly length: number
}

/** The first complete request in the text, if any. Clients under test send a length and no chunks. */
function readQuestion(text: string): Question | null {
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd < 0) return null
  const [first = '', ...lines] = text.slice(0, headEnd).split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  const length = headEnd + 4 + Number(headers['content-length'] ?? 0)
  if (text.length < length) return null
  const [method = '', path = ''] = first.split(' ')
  return { method, path, headers, body: text.slice(headEnd + 4, length), length }
}

/** Sends the request to the service, and returns its answer as bytes. */
function forward(upstream: string, agent: Agent, { method, path, headers, body }: Question): Promise<string> {
  return new Promise((resolve, reject) => {
    const outgoing = request(`${upstream}${path}`, { method, headers, agent }, (response) => {
      let text = ''
      response.setEncoding('latin1').on('data', (chunk) => {
        text += chunk
      })
      response.on('error', reject).on('end', () => {
        const lines = [`HTTP/1.1 ${response.statusCode} ${response.statusMessage}`]
        for (let each = 0; each < response.rawHeaders.length; each += 2) {
          lines.push(`${response.rawHeaders[each]}: ${response.rawHeaders[each + 1]}`)
        }
        resolve(`${lines.join('\r\n')}\r\n\r\n${text}`)
      })
    })
    outgoing.on('error', reject)
    outgoing.end(body, 'latin1')
  })
}
