/** WB-11, WB-17, WB-18: headers of every answer, content of pages, and uploaded pictures. */
import { crc32, deflateSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pageRoutes } from '../../../src/http/web/account-routes.ts'
import { script, stylesheet } from '../../../src/pages/ui/assets.ts'
import { connect } from '../../rig/connect.ts'
import { post, type WireAnswer } from '../../rig/device.ts'
import { type MadeUser, makeAccount, makeUser } from '../../rig/make.ts'
import { tagsOf } from '../../rig/pages/tags.ts'
import { ask } from '../../rig/scenes/asked.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { makeSignedInUser, signedFor, signInAs } from '../../rig/signed-in.ts'
import type { Page, Web } from '../../rig/web.ts'
import { everyRow } from '../../rig/witness.ts'

let service: TestService
let secure: TestService
beforeAll(async () => {
  service = await startTestService()
  secure = await startTestService({ PUBLIC_URL: 'https://service.example' })
})
afterAll(async () => {
  await service.stop()
  await secure.stop()
})

const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; script-src 'nonce-…'; style-src 'nonce-…'; img-src 'self'; form-action 'self'; " +
    "frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** Pages in a popup must keep the reference to the page that opened it. */
function expectedOf<Headers extends object>(name: string, headers: Headers): Headers {
  return / \/dialog(\/|,|$)/.test(name) ? { ...headers, 'cross-origin-opener-policy': 'unsafe-none' } : headers
}

/** Headers of an answer, without the nonce. */
function told({ headers }: WireAnswer): Record<string, unknown> {
  const names = [...Object.keys(HEADERS), 'strict-transport-security']
  const pairs = names.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]] as const]))
  return Object.fromEntries(pairs.map(([name, value]) => [name, String(value).replace(/nonce-[\w+/=]+/g, 'nonce-…')]))
}

async function administrator(of: TestService, account = of.account): Promise<{ user: MadeUser; web: Web }> {
  const user = await makeUser(of.context.db, account.slug)
  const { protocol } = new URL(of.config.publicUrl)
  const origin = `${protocol}//${of.web({}, account.slug).host}`
  return { user, web: await signInAs(of, user, { account, headers: { origin } }) }
}

/** Every route, signed in and not, with and without a valid form; and paths without a route. */
async function everyAnswer(of: TestService): Promise<Map<string, Page>> {
  const answers = new Map<string, Page>()
  const account = await makeAccount(of.context.db)
  for (const route of pageRoutes) {
    const name = `${route.method} ${route.path}`
    const bound = Object.fromEntries((route.bound ?? []).map((each) => [each, '']))
    const { user, web } = await administrator(of, account)
    const form = route.method === 'POST' ? await signedFor(of, user, route.path, bound) : undefined
    answers.set(`${name}, by nobody`, await of.web(web.headers, account.slug).send(route.method, route.path, form))
    if (form) answers.set(`${name}, not signed`, await web.send(route.method, route.path, bound))
    answers.set(name, await web.send(route.method, route.path, form))
  }
  const { web } = await administrator(of, account)
  answers.set('no such page', await web.send('GET', '/nowhere'))
  answers.set('no such method', await web.send('POST', '/security', {}))
  answers.set('a name given twice', await web.send('GET', '/sign-in?next=/&next=/'))
  answers.set('not UTF-8', await web.send('GET', '/sign-in?next=%ff'))
  answers.set('too much', await web.send('POST', '/sign-in', { email: 'x'.repeat(70_000) }))
  answers.set('no such account', await of.web(web.headers, 'nobody-here').send('GET', '/'))
  answers.set('from elsewhere', await web.send('POST', '/sign-in', {}, { origin: 'https://evil.example' }))
  return answers
}

describe('headers', () => {
  it('WB-11: every answer of an account’s host has the same strict headers, errors and redirects included', async () => {
    const answers = await everyAnswer(service)
    for (const [name, answer] of answers) expect([name, told(answer)]).toEqual([name, expectedOf(name, HEADERS)])
    const statuses = new Set(Array.from(answers.values(), ({ status }) => status))
    expect([...statuses].sort(), 'all kinds were there').toEqual([200, 303, 400, 403, 404, 405, 413])
  })

  it('SC-10: no page is compressed, whatever a browser offers', async () => {
    const { web } = await administrator(service)
    const offers = { 'accept-encoding': 'gzip, br, zstd, deflate' }
    const paths = pageRoutes.filter(({ method }) => method === 'GET').map(({ path }) => path)
    const pages = await Promise.all([...paths, '/nowhere'].map((path) => web.send('GET', path, undefined, offers)))
    expect(
      pages.filter(({ headers }) => String(headers['content-type']).startsWith('text/html')).length,
    ).toBeGreaterThan(10)
    expect(pages.filter(({ headers }) => headers['content-encoding'] !== undefined)).toEqual([])
    const asset = await post(service.address, stylesheet.path, { method: 'GET', headers: offers })
    expect(asset.headers['content-encoding'], 'the same for everybody').toBe('br')
  })

  it('WB-11: with https, each also has Strict-Transport-Security', async () => {
    const expected = { ...HEADERS, 'strict-transport-security': 'max-age=63072000; includeSubDomains' }
    for (const [name, answer] of await everyAnswer(secure)) {
      expect([name, told(answer)]).toEqual([name, expectedOf(name, expected)])
    }
  })

  it('WB-11: a nonce has 128 random bits, is new in every answer, and is only on our own script and style', async () => {
    const { web } = await administrator(service)
    const nonces = new Set<string>()
    for (let time = 0; time < 20; time += 1) {
      const page = await web.get('/security')
      const [nonce = '', ...others] = new Set(Array.from(csp(page).matchAll(/'nonce-([^']*)'/g), (match) => match[1]))
      expect([Buffer.from(nonce, 'base64').length, others]).toEqual([16, []])
      nonces.add(nonce)
      const inside = Array.from(page.text.matchAll(/<(\w+)[^>]* nonce="([^"]*)"/g), ([, tag, value]) => [tag, value])
      expect(inside).toEqual([
        ['link', nonce],
        ['script', nonce],
      ])
    }
    expect(nonces.size).toBe(20)
  })

  it('TN-09: answers that depend on the account are never cached; cacheable ones are the same for all', async () => {
    for (const path of [stylesheet.path, script.path]) {
      const [ours, theirs] = [
        await service.web().send('GET', path),
        await service.web({}, 'nobody-here').send('GET', path),
      ]
      expect(ours.headers['cache-control']).toBe('public, max-age=31536000, immutable')
      expect([ours.headers['x-content-type-options'], ours.headers['set-cookie']]).toEqual(['nosniff', undefined])
      expect(ours.text).toBe(theirs.text)
    }
    for (const [name, { headers }] of await everyAnswer(service)) {
      expect([name, headers['cache-control'], headers.etag, headers.expires]).toEqual([
        name,
        'no-store',
        undefined,
        undefined,
      ])
    }
  })

  it('TN-09: answers to applications are not cached either', async () => {
    const { credential } = await connect(service)
    const answers = [
      await service.device().request(),
      await service.device().poll('x'),
      await post(service.address, '/1/me', { method: 'GET', headers: { authorization: `Bearer ${credential}` } }),
      await post(service.address, '/nowhere', {}),
      await post(service.address, '/sign-in', { method: 'GET' }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 400, 200, 404, 421])
    for (const { headers } of answers) expect(headers['cache-control']).toBe('no-store')
  })
})

const csp = ({ headers }: WireAnswer) => String(headers['content-security-policy'])

describe('pages', () => {
  /** Checks every tag of a page: no handler, no style, no inline script, no javascript: address. */
  function expectHarmless(name: string, { text }: Page): void {
    expect([
      name,
      tagsOf(text).match(/<script(?! type="" src="" nonce="")|<style(?! nonce)|<base|<object|<embed|<iframe/g),
    ]).toEqual([name, null])
    expect([name, tagsOf(text).match(/\s(on\w+|style|srcdoc|formaction)=/g)]).toEqual([name, null])
    // The one page of our own that is on another host, and the operator's own sign-in page.
    const own = text
      .replace(` href="${service.config.publicUrl}/activate?another"`, '')
      .replace(` href="${service.config.signInUrl}?account=`, ' href="/')
    expect([name, own.match(/(?:href|src|action)="(?!\/(?!\/)|#|otpauth:)[^"]*"/g)]).toEqual([name, null])
  }

  it('WB-17: no page contains a script but our own', async () => {
    for (const [name, page] of await everyAnswer(service)) expectHarmless(name, page)
    const { web, path } = await ask(service)
    const { user, web: own } = await makeSignedInUser(service)
    const { grantId } = await connect(service, { user })
    expectHarmless('the question', await web.get(path))
    expectHarmless('removing', await own.get(`/applications/remove?grant=${grantId}`))
    expectHarmless('the list', await own.get('/applications'))
  })

  it.each([
    '"><script>alert(1)</script>',
    '\'"><img src=x onerror=alert(1)>',
    '</title><base href=//evil.example>',
    '{{7*7}}#{7*7}',
  ])('WB-17: %s is shown as text by every field', async (hostile) => {
    const { user, web } = await administrator(service)
    const send = async (path: string, values: Record<string, string>, bound: Record<string, string> = {}) =>
      web.send('POST', path, { ...(await signedFor(service, user, path, bound)), ...values })
    const stranger = service.web()
    const pages = {
      'sign-in': await stranger.send('POST', '/sign-in', { email: hostile, password: hostile, next: hostile }),
      'sign-in, by address': await stranger.send(
        'GET',
        `/sign-in?${new URLSearchParams({ next: hostile, email: hostile })}`,
      ),
      'second step': await stranger.send('GET', `/sign-in/code?${new URLSearchParams({ next: hostile })}`),
      recover: await stranger.send('POST', '/recover', { email: hostile }),
      link: await stranger.send('GET', `/link?${new URLSearchParams({ token: hostile })}`),
      code: await send('/connect/code', { code: hostile }),
      decision: await web.send('GET', `/connect/decision?${new URLSearchParams({ ref: hostile })}`),
      confirm: await web.send('GET', `/confirm?${new URLSearchParams({ next: hostile })}`),
      security: await web.send('GET', `/security?${new URLSearchParams({ notice: hostile })}`),
      applications: await web.send('GET', `/applications?${new URLSearchParams({ removed: hostile, after: hostile })}`),
      invite: await send('/account/people/invite', { email: hostile }),
      people: await web.send('GET', `/account/people?${new URLSearchParams({ notice: 'saved', user: hostile })}`),
      role: await send('/account/role', { name: `${hostile}\u202e` }, { role: '' }),
      looks: await send('/account/branding', { name: `${hostile}\u202e`, colour: hostile }),
      nowhere: await web.send('GET', `/nowhere?${new URLSearchParams({ q: hostile })}`),
    }
    for (const [name, page] of Object.entries(pages)) {
      expectHarmless(name, page)
      expect([name, page.text.includes(hostile) && hostile.includes('<')]).toEqual([name, false])
    }
    expect(pages.code.text, 'what was typed is there, to be fixed').toContain(escapeHtml(hostile))
  })
})

const escapeHtml = (text: string) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')

describe('pictures', () => {
  const chunk = (type: string, data: Buffer) => {
    const content = Buffer.concat([Buffer.from(type, 'latin1'), data])
    const [length, crc] = [Buffer.alloc(4), Buffer.alloc(4)]
    length.writeUInt32BE(data.length)
    crc.writeUInt32BE(crc32(content))
    return Buffer.concat([length, content, crc])
  }
  const SCRIPT = Buffer.from('<html><script>alert(document.domain)</script></html>')
  /** Two grey pixels, with extra data between header and pixels, and after the end. */
  const png = (between: readonly Buffer[] = [], behind = Buffer.alloc(0)) =>
    Buffer.concat([
      Buffer.from('89504e470d0a1a0a', 'hex'),
      chunk('IHDR', Buffer.from('00000002000000010800000000', 'hex')),
      ...between,
      chunk('IDAT', deflateSync(Buffer.of(0, 1, 2))),
      chunk('IEND', Buffer.alloc(0)),
      behind,
    ])

  const multipart = (
    fields: Record<string, string>,
    files: readonly { name: string; type: string; bytes: Buffer; file?: string }[],
  ) => {
    const edge = '----edge'
    const text = Object.entries(fields).map(
      ([name, value]) => `--${edge}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
    )
    const parts = files.map(({ name, type, bytes, file = 'logo.png' }) =>
      Buffer.concat([
        Buffer.from(
          `--${edge}\r\ncontent-disposition: form-data; name="${name}"; filename="${file}"\r\ncontent-type: ${type}\r\n\r\n`,
        ),
        bytes,
        Buffer.from('\r\n'),
      ]),
    )
    return {
      raw: Buffer.concat([Buffer.from(text.join('')), ...parts, Buffer.from(`--${edge}--\r\n`)]),
      type: `multipart/form-data; boundary=${edge}`,
    }
  }
  async function upload(
    bytes: Buffer,
    { type = 'image/png', name = 'logo', file = 'logo.png', path = '/account/branding' } = {},
  ) {
    const { user, web } = await administrator(service)
    const fields = await signedFor(service, user, path, {})
    const { raw, type: kind } = multipart({ ...fields, name: 'Acme', colour: '#123456' }, [{ name, type, bytes, file }])
    const cookie = Array.from(web.cookies, ([each, value]) => `${each}=${value}`).join('; ')
    return post(service.address, path, {
      raw,
      headers: { host: web.host, cookie, origin: web.origin, 'sec-fetch-site': 'same-origin', 'content-type': kind },
    })
  }
  const stored = async () => {
    const [row] = await service.database.query<{ logo: Buffer | null }>('select logo from accounts where id = $1', [
      service.account.id,
    ])
    return row?.logo ?? null
  }

  it.each([
    ['SVG', Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg">${SCRIPT}</svg>`), 'image/svg+xml'],
    ['HTML that calls itself a PNG', SCRIPT, 'image/png'],
    ['GIF and script in one', Buffer.from('GIF89a/*<svg/onload=alert(1)>*/=alert(1);'), 'image/gif'],
    ['a PNG with a page behind its end', png([], SCRIPT), 'image/png'],
    ['a PNG in the middle of a page', Buffer.concat([SCRIPT, png()]), 'image/png'],
    ['a PNG with a chunk that nobody knows', png([chunk('EVIL', SCRIPT)]), 'image/png'],
    ['nothing but the beginning', png().subarray(0, 20), 'image/png'],
  ])('WB-18: %s is not a logo: the page says so, and nothing is stored', async (_what, bytes, type) => {
    const before = await everyRow(service)
    const answer = await upload(bytes, { type })
    expect(answer.status).toBe(400)
    const {
      sessions: _sessions,
      users: _users,
      user_roles: _roles,
      audit_events: _events,
      ...after
    } = await everyRow(service)
    expect(before).toMatchObject(after)
    expect(await stored()).toBeNull()
  })

  it('WB-18: only the pixels of a PNG are stored, and served as a picture', async () => {
    const words = ['tEXt', 'iTXt', 'zTXt', 'iCCP', 'eXIf'].map((type) => chunk(type, SCRIPT))
    expect((await upload(png(words), { file: '../../evil.html', type: 'text/html' })).status).toBe(303)
    const logo = await stored()
    expect(logo?.subarray(0, 8).toString('hex')).toBe('89504e470d0a1a0a')
    expect(logo?.includes('script')).toBe(false)

    const served = await service.web().send('GET', '/logo?version=1')
    expect(served.headers['content-type']).toBe('image/png')
    expect(told(served)).toEqual(HEADERS)
    expect(served.text).not.toContain('script')
    const [event] = await service.database.query(
      `select detail from audit_events where account_id = $1 and kind = 'account.branding_changed'`,
      [service.account.id],
    )
    expect(event?.detail.changed).toContain('logo')
  })

  it('WB-18: a file under another name, one too many, one too large or one at another route is refused', async () => {
    const kept = await stored()
    expect((await upload(png(), { name: 'picture' })).status).toBe(400)
    expect((await upload(png(), { path: '/account/policy' })).status).toBe(400)
    expect((await upload(png(), { path: '/connect/code' })).status).toBe(400)
    const large = await upload(Buffer.alloc(600 * 1024)).catch((error: NodeJS.ErrnoException) => error.code)
    expect([413, 'ECONNRESET', 'EPIPE']).toContain(typeof large === 'object' ? large.status : large)
    expect(await stored()).toEqual(kept)
  })
})
