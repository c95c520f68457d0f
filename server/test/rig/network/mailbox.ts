/** A mail server on this machine that keeps received mails for tests. */
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'

export type ReceivedMail = {
  /** Envelope recipients; the headers may differ. */
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
  readonly raw: string
}

export type Mailbox = {
  readonly url: string
  readonly mails: readonly ReceivedMail[]
  /** Waits for the first matching mail. */
  waitFor(fits: (mail: ReceivedMail) => boolean, ms?: number): Promise<ReceivedMail>
  /** Answers the next messages with this code; 451 is "try again later". */
  failNext(messages: number, code?: number): void
  stop(): Promise<void>
}

export async function startMailbox(): Promise<Mailbox> {
  const mails: ReceivedMail[] = []
  const waiting = new Set<() => void>()
  let failing = { messages: 0, code: 451 }

  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    closeTimeout: 100,
    onData: (stream, { envelope }, answer) => {
      buffer(stream).then((bytes) => {
        if (failing.messages > 0) {
          failing.messages -= 1
          const words = `not now, ${envelope.rcptTo.map(({ address }) => address)}`
          return answer(Object.assign(new Error(words), { responseCode: failing.code }))
        }
        mails.push(readMail(envelope.rcptTo.map(({ address }) => address).join(', '), bytes.toString()))
        for (const look of waiting) look()
        answer()
      }, answer)
    },
  })
  server.on('error', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  return {
    url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    mails,
    waitFor: (fits, ms = 5_000) =>
      new Promise((resolve, reject) => {
        const late = setTimeout(() => {
          waiting.delete(look)
          reject(
            new Error(`no such mail; there are: ${mails.map(({ to, subject }) => `${to}: ${subject}`).join('; ')}`),
          )
        }, ms)
        const look = () => {
          const mail = mails.find(fits)
          if (!mail) return
          clearTimeout(late)
          waiting.delete(look)
          resolve(mail)
        }
        waiting.add(look)
        look()
      }),
    failNext: (messages, code = 451) => {
      failing = { messages, code }
    },
    stop: () => new Promise((resolve) => server.close(resolve)),
  }
}

type Part = { readonly headers: ReadonlyMap<string, string>; readonly body: string }

function readMail(to: string, raw: string): ReceivedMail {
  const { headers, body } = readPart(raw)
  const boundary = /boundary="([^"]+)"/.exec(headers.get('content-type') ?? '')?.[1] ?? ''
  const parts = body
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => readPart(part.replace(/^\r\n|\r\n$/g, '')))
  const of = (type: string) => {
    const part = parts.find(({ headers: own }) => own.get('content-type')?.startsWith(type))
    return part ? decode(part.body, part.headers.get('content-transfer-encoding') ?? '').toString() : ''
  }
  return { to, subject: readWords(headers.get('subject') ?? ''), text: of('text/plain'), html: of('text/html'), raw }
}

/** Headers in small letters, unfolded; then the body. */
function readPart(raw: string): Part {
  const end = raw.indexOf('\r\n\r\n')
  const lines = raw
    .slice(0, end)
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n')
  const headers = lines.map(
    (line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()] as const,
  )
  return { headers: new Map(headers), body: raw.slice(end + 4) }
}

function decode(text: string, encoding: string): Buffer {
  if (encoding === 'base64') return Buffer.from(text, 'base64')
  if (encoding !== 'quoted-printable') return Buffer.from(text)
  return Buffer.from(unquoted(text.replace(/=\r\n/g, '')), 'latin1')
}

function unquoted(text: string): string {
  return text.replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
}

/** RFC 2047: `=?UTF-8?Q?…?=`; white space between two encoded words is removed. */
function readWords(text: string): string {
  const bytes = text
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?UTF-8\?([QB])\?([^?]*)\?=/gi, (_, kind, word) =>
      kind === 'B' ? Buffer.from(word, 'base64').toString('latin1') : unquoted(word.replaceAll('_', ' ')),
    )
  return Buffer.from(bytes, 'latin1').toString()
}
