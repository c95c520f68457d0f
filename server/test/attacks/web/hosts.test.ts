/** TN-01, TN-06, TN-08: how a request selects its account, and which slugs are allowed. */
import { connect as connectTo, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SESSION } from '../../../src/http/web/cookies.ts'
import { createAccount } from '../../rig/create.ts'
import { makeAccount } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { makeSignedInUser, type SignedInUser } from '../../rig/signed-in.ts'
import type { Web } from '../../rig/web.ts'
import { countRows, everyRow } from '../../rig/witness.ts'

type Side = SignedInUser & { readonly slug: string }

let service: TestService
let ours: Side
let theirs: Side
beforeAll(async () => {
  service = await startTestService()
  ours = await makeSide()
  theirs = await makeSide()
})
afterAll(() => service.stop())

async function makeSide(): Promise<Side> {
  const account = await makeAccount(service.context.db)
  return { ...(await makeSignedInUser(service, { account })), slug: account.slug }
}

const emailOn = (text: string) => /<bdi class="email">([^<]*)</.exec(text)?.[1] ?? null
const cookieOf = (web: Web) => `${SESSION}=${web.cookies.get(SESSION)}`

type RawAnswer = { readonly status: number; readonly text: string }

/** A request written byte for byte. Reads its answer by its length, or until the connection closes. */
function exchange(socket: Socket, lines: readonly string[]): Promise<RawAnswer> {
  return new Promise((resolve) => {
    let text = ''
    const done = () => {
      socket.removeAllListeners('data').removeAllListeners('close')
      resolve({ status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]), text })
    }
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      const length = /\r\ncontent-length: (\d+)\r\n/i.exec(text)?.[1]
      const end = text.indexOf('\r\n\r\n')
      if (end !== -1 && length !== undefined && text.length >= end + 4 + Number(length)) done()
    })
    socket.on('close', done)
    socket.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  })
}

async function raw(lines: readonly string[]): Promise<RawAnswer> {
  const socket = connectTo(Number(new URL(service.address).port), '127.0.0.1')
  try {
    return await exchange(socket, lines)
  } finally {
    socket.destroy()
  }
}

/** A page of every account, wherever its users sign in. */
const PAGE = '/sign-in?notice=signed_out'

describe('hosts', () => {
  const port = () => new URL(service.config.publicUrl).port

  it('TN-01: the Host header selects the account, whatever other headers say', async () => {
    for (const headers of [
      ['X-Forwarded-Host: THEIRS'],
      ['X-Host: THEIRS', 'X-Original-Host: THEIRS', 'X-Forwarded-Server: THEIRS'],
      ['Forwarded: host=THEIRS'],
      ['X-Original-URL: http://THEIRS/', 'X-Rewrite-URL: http://THEIRS/'],
      ['Origin: http://THEIRS', 'Referer: http://THEIRS/'],
    ]) {
      const claims = headers.map((each) => each.replaceAll('THEIRS', theirs.web.host))
      const page = await raw([`GET ${PAGE} HTTP/1.1`, `Host: ${ours.web.host}`, ...claims])
      expect(page.status).toBe(200)
      expect(page.text).toContain(`Account ${ours.slug}`)
      expect(page.text).not.toContain(theirs.slug)
    }
  })

  it('TN-01: two Host headers, or another host in the request line, are refused', async () => {
    const [one, two] = [ours.web.host, theirs.web.host]
    const requests = [
      ['GET /sign-in HTTP/1.1', `Host: ${one}`, `Host: ${two}`],
      ['GET /sign-in HTTP/1.1', `Host: ${two}`, `Host: ${one}`],
      ['GET /sign-in HTTP/1.1', `Host: ${one}`, `Host: ${one}`],
      [`GET http://${two}/sign-in HTTP/1.1`, `Host: ${one}`],
      [`GET https://${two}/sign-in HTTP/1.1`, `Host: ${one}`],
      [`GET http://user@${one}/sign-in HTTP/1.1`, `Host: ${one}`],
      [`GET http://localhost:${port()}/sign-in HTTP/1.1`, `Host: ${one}`],
      [`GET http://evil.example/sign-in HTTP/1.1`, `Host: ${one}`],
      ['GET /sign-in HTTP/1.1'],
      ['GET /sign-in HTTP/1.1', `Host: ${one}, ${two}`],
      ['GET /sign-in HTTP/1.1', `Host : ${one}`],
    ]
    for (const request of requests) {
      const answer = await raw(request)
      expect([request, answer.status >= 400 && answer.status < 500]).toEqual([request, true])
      expect(answer.text).not.toContain('action="/sign-in"')
    }
    const absolute = await raw([`GET http://${one}${PAGE} HTTP/1.1`, `Host: ${one}`])
    expect(absolute.status, 'the same host twice is no disagreement').toBe(200)
  })

  it('TN-01: a Host that is not spelled exactly selects no account', async () => {
    const { slug } = ours
    const hosts = [
      `${slug}.localhost`,
      `${slug}.localhost:1`,
      `${slug}.localhost:0${port()}`,
      `${slug}.localhost.:${port()}`,
      `${slug}.localhost:${port()}.`,
      `${slug}.localhost:${port()}@evil.example`,
      `${slug}.evil.example`,
      `evil.example#.localhost:${port()}`,
      `${slug}..localhost:${port()}`,
      `.localhost:${port()}`,
      `a.${slug}.localhost:${port()}`,
      `${slug}%2elocalhost:${port()}`,
      `${slug}%00.localhost:${port()}`,
      `xn--${slug}.localhost:${port()}`,
      `${Buffer.from('аcme').toString('latin1')}.localhost:${port()}`,
      `${slug}\u00ad.localhost:${port()}`,
      `127.0.0.1:${port()}`,
    ]
    const before = await everyRow(service)
    for (const host of hosts) {
      const signIn = await raw(['GET /sign-in HTTP/1.1', `Host: ${host}`, `Cookie: ${cookieOf(ours.web)}`])
      expect([host, [400, 404, 421].includes(signIn.status)]).toEqual([host, true])
      expect(signIn.text).not.toContain(ours.user.email)
    }
    expect(await everyRow(service)).toEqual(before)
    const capitals = await raw([`GET ${PAGE} HTTP/1.1`, `Host: ${ours.web.host.toUpperCase()}`])
    expect(capitals.status, 'capital letters are the same host').toBe(200)
  })

  it('TN-08: on one connection each request has its own Host and session', async () => {
    const socket = connectTo(Number(new URL(service.address).port), '127.0.0.1')
    const cookies = `Cookie: ${cookieOf(ours.web)}`
    try {
      const seen: (string | null)[] = []
      for (const host of [
        ours.web.host,
        theirs.web.host,
        ours.web.host,
        new URL(service.config.publicUrl).host,
        theirs.web.host,
      ]) {
        const { status, text } = await exchange(socket, ['GET /security HTTP/1.1', `Host: ${host}`, cookies])
        seen.push(status === 200 ? emailOn(text) : String(status))
      }
      const { email } = ours.user
      expect(seen).toEqual([email, '303', email, '421', '303'])
    } finally {
      socket.destroy()
    }
  })

  it.each([
    ...['www', 'api', 'auth', 'mail', 'admin', 'static', 'status', 'localhost'],
    ...[
      'xn--acme',
      'xn--80ak6aa92e',
      '-a',
      'a-',
      'a.b',
      'A',
      'acme ',
      '',
      'a_b',
      'аcme',
      'ａcme',
      'acme\u200d',
      'a/b',
      'a:1',
      '*',
    ],
    'a'.repeat(64),
  ])('TN-06: no account has the slug %j', async (slug) => {
    const before = await countRows(service, 'accounts', 'roles', 'audit_events')
    const result = await createAccount(service.context.db, { slug, name: 'Account' })
    expect(result.outcome).toBe('refused')
    expect(await countRows(service, 'accounts', 'roles', 'audit_events')).toEqual(before)
  })

  it('TN-06: no slug is used twice, and constraints in PostgreSQL refuse the worst', async () => {
    expect((await createAccount(service.context.db, { slug: ours.slug, name: 'Again' })).outcome).toBe('refused')
    for (const slug of ['xn--acme', '-a', 'A', 'a.b', 'a'.repeat(64)]) {
      const insert = service.database.query(
        `insert into accounts (id, slug, name, created_at) values ('acc_000000000000', $1, 'x', now())`,
        [slug],
      )
      await expect(insert).rejects.toThrow(/check constraint/)
    }
  })
})
