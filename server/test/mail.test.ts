/** Mail, sent to a real mail server on this machine. */

import type { AddressInfo } from 'node:net'
import { createServer, type Server, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createMailer, type Mail, type Mailer, MailNotSent } from '../src/mail.ts'
import { type Mailbox, startMailbox } from './rig/network/mailbox.ts'

let mailbox: Mailbox
beforeAll(async () => {
  mailbox = await startMailbox()
})
afterAll(() => mailbox.stop())

const mailers: Mailer[] = []
afterEach(() => {
  for (const mailer of mailers.splice(0)) mailer.close()
})

function makeMailer(given: { url?: string; from?: string; times?: Parameters<typeof createMailer>[2] } = {}): Mailer {
  const { url = mailbox.url, from = 'Acme <no-reply@service.example>', times } = given
  const mailer = createMailer(url, from, times) as Mailer
  mailers.push(mailer)
  return mailer
}

let count = 0

function makeMail(given: Partial<Mail> = {}): Mail {
  count += 1
  const text = 'Open https://acme.service.example/link?token=lkl_abc=3D now.\n\nGrüße'
  return {
    to: 'ann@acme.example',
    subject: `mail ${count}`,
    text,
    html: '<p>Grüße & mehr</p>',
    messageId: `<mail-${count}@service.example>`,
    ...given,
  }
}

/** Received mails, identified by number. */
const arrived = ({ messageId }: Mail) => mailbox.waitFor(({ raw }) => raw.includes(`Message-ID: ${messageId}\r\n`))

/** Names of headers of the mail itself, not of its parts. */
const headersOf = (raw: string) => raw.slice(0, raw.indexOf('\r\n\r\n')).split(/\r\n(?![ \t])/)
const headerOf = (raw: string, name: string) =>
  headersOf(raw)
    .find((line) => line.startsWith(`${name}: `))
    ?.slice(name.length + 2)

test('without a mail server there is no mailer', () => {
  expect(createMailer(null, 'a@b.example')).toBeNull()
})

describe('a mail', () => {
  test('arrives with its two texts, unchanged', async () => {
    const mail = makeMail({ subject: `Grüße aus Übersee 👋 ${'und mehr '.repeat(20)}` })
    await makeMailer().send(mail)
    const { to, subject, text, html } = await arrived(mail)
    expect({ to, subject, text: text.replaceAll('\r\n', '\n'), html }).toEqual({
      to: mail.to,
      subject: mail.subject,
      text: mail.text,
      html: mail.html,
    })
  })

  test('is marked as automatic, without naming the host', async () => {
    const mail = makeMail()
    await makeMailer().send(mail)
    const { raw } = await arrived(mail)
    expect(headerOf(raw, 'Auto-Submitted')).toBe('auto-generated')
    expect(raw).not.toMatch(/nodemailer/i)
  })

  test.each([
    ['no-reply@service.example', 'no-reply@service.example'],
    ['Acme <no-reply@service.example>', 'Acme <no-reply@service.example>'],
    ['Acme, Inc. <no-reply@service.example>', '"Acme, Inc." <no-reply@service.example>'],
    ['Acme: Tools <no-reply@service.example>', '"Acme: Tools" <no-reply@service.example>'],
    ['"Acme: Tools" <no-reply@service.example>', '"Acme: Tools" <no-reply@service.example>'],
  ])('from %s has that one sender', async (from, shown) => {
    const mail = makeMail()
    await makeMailer({ from }).send(mail)
    expect(headerOf((await arrived(mail)).raw, 'From')).toBe(shown)
  })
})

describe('headers cannot be added', () => {
  test.each([
    ['Hello\r\nBcc: eve@evil.example\r\n\r\nhi', 'Hello Bcc: eve@evil.example hi'],
    ['Hello\nBcc: eve@evil.example', 'Hello Bcc: eve@evil.example'],
    ['Hello\rBcc: eve@evil.example', 'Hello Bcc: eve@evil.example'],
    ['Hello\u0000\u2028\u0085x', 'Hello x'],
  ])('by the subject %j', async (subject, read) => {
    const [plain, mail] = [makeMail(), makeMail({ subject })]
    await makeMailer().send(plain)
    await makeMailer().send(mail)
    const received = await arrived(mail)
    const names = (raw: string) => headersOf(raw).map((line) => line.split(':')[0])
    expect(names(received.raw)).toEqual(names((await arrived(plain)).raw))
    expect(received).toMatchObject({ to: 'ann@acme.example', subject: read })
  })

  test.each([
    'ann@acme.example, eve@evil.example',
    'ann@acme.example\r\nBcc: eve@evil.example',
    'ann@acme.example>\r\nRCPT TO:<eve@evil.example',
    'Ann <ann@acme.example>',
    'team: ann@acme.example, eve@evil.example;',
    'a<eve@evil.example>@acme.example',
    '"ann"@acme.example',
    'ann@acme.example\u0000',
    `${'a'.repeat(242)}@acme.example`,
    'ann',
    '',
  ])('by the recipient %j, which is refused', async (to) => {
    const before = mailbox.mails.length
    await expect(makeMailer().send(makeMail({ to }))).rejects.toMatchObject({ name: 'MailNotSent', permanent: true })
    expect(mailbox.mails.length).toBe(before)
  })
})

describe('a mail that is refused', () => {
  test('temporarily is reported as such, without the server’s text; the next attempt arrives', async () => {
    const mailer = makeMailer()
    const mail = makeMail()
    mailbox.failNext(1)
    const error = await mailer.send(mail).catch((thrown) => thrown)
    expect(error).toBeInstanceOf(MailNotSent)
    expect(error).toMatchObject({ permanent: false, message: 'the mail was not taken: EMESSAGE 451' })
    expect(JSON.stringify([error, error.stack, error.cause])).not.toContain('ann@acme.example')
    await mailer.send(mail)
    await arrived(mail)
  })

  test('permanently is reported as such', async () => {
    mailbox.failNext(1, 550)
    await expect(makeMailer().send(makeMail())).rejects.toMatchObject({ permanent: true })
  })

  test('because the server is unreachable is reported at once', async () => {
    const other = await startMailbox()
    await other.stop()
    const before = performance.now()
    await expect(makeMailer({ url: other.url }).send(makeMail())).rejects.toMatchObject({ permanent: false })
    expect(performance.now() - before).toBeLessThan(1_000)
  })

  test('because a password would be sent unencrypted', async () => {
    const before = mailbox.mails.length
    const url = mailbox.url.replace('smtp://', 'smtp://latchkey:a%20password@')
    await expect(makeMailer({ url }).send(makeMail())).rejects.toMatchObject({ name: 'MailNotSent', permanent: false })
    expect(mailbox.mails.length).toBe(before)
  })
})

describe('a server that hangs', () => {
  const sockets = new Set<Socket>()
  let server: Server

  /** Accepts a connection, sends `greeting`, and nothing more. */
  async function startSilence(greeting: string): Promise<string> {
    server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => undefined).write(greeting)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  afterEach(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })

  test.each([
    ['at all', '', { connectMs: 200, silenceMs: 60_000 }],
    ['more', '220 hello\r\n', { connectMs: 60_000, silenceMs: 200 }],
  ])('%s is given up', async (_name, greeting, times) => {
    const mailer = makeMailer({ url: await startSilence(greeting), times })
    const before = performance.now()
    await expect(mailer.send(makeMail())).rejects.toMatchObject({ permanent: false })
    expect(performance.now() - before).toBeLessThan(2_000)
  })
})
