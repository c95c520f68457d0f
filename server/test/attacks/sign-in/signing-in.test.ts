/** WB-07 to WB-10: guessing passwords, finding out who exists, exhausting the service, and manipulating mailed links. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { sendDueMails } from '../../../src/flows/send-mails.ts'
import { createLink } from '../../../src/flows/sign-in/mailed-link.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { digestAddress, signLink } from '../../../src/secrets/web-texts.ts'
import { post } from '../../rig/device.ts'
import { statementsOf, statementsUntilAnswered } from '../../rig/engines/statements.ts'
import { type MadeUser, makeUser } from '../../rig/make.ts'
import { freshNetwork } from '../../rig/network/fresh-network.ts'
import { type Mailbox, startMailbox } from '../../rig/network/mailbox.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { type Page, textOf, type Web } from '../../rig/web.ts'
import { mailsOf, mailsWritten, sessionsOf } from '../../rig/witness.ts'

const MINUTE = 60_000
const { t } = wordsFor('en')
const PASSWORD = 'a quiet green harbour'
const WRONG = 'not the right words'

let service: TestService
let mailbox: Mailbox
beforeAll(async () => {
  mailbox = await startMailbox()
  service = await startTestService({ TRUST_PROXY: '127.0.0.1', SMTP_URL: mailbox.url }, { clock: true })
})
afterAll(async () => {
  await service.stop()
  await mailbox.stop()
})

/** A browser without a sign-in, in a network of its own. */
const stranger = (network = freshNetwork(), at = service) => at.web({ 'x-forwarded-for': `${network}.7` })
const somebody = () => makeUser(service.context.db, service.account.slug, { password: PASSWORD })

async function tryPassword(web: Web, email: string, password: string): Promise<Page> {
  return web.send('POST', '/sign-in', { email, password, next: '/' })
}

async function failuresOf(email: string, at = service): Promise<number> {
  const digest = digestAddress(at.config.keys, at.account.id, email)
  const rows = await at.database.query('select from sign_in_failures where email = $1', [digest])
  return rows.length
}

const failTimes = async (web: Web, email: string, times: number) => {
  for (let time = 0; time < times; time += 1) expect((await tryPassword(web, email, WRONG)).status).toBe(400)
}

describe('guessing passwords', () => {
  it('WB-07: ten failures lock an address for unknown browsers everywhere; its owner’s browser can still sign in', async () => {
    const user = await somebody()
    const own = stranger()
    await own.signIn(user.email, PASSWORD)
    await own.submit('/sign-out')
    await failTimes(stranger(), user.email, 10)
    for (const password of [WRONG, PASSWORD, WRONG]) {
      const page = await tryPassword(stranger(), user.email, password)
      expect([page.status, textOf(page.text)]).toEqual([
        429,
        expect.stringContaining(t('sign_in.problem_locked', { minutes: 15 })),
      ])
    }
    expect([await failuresOf(user.email), await sessionsOf(service, user)]).toEqual([10, []])

    await own.signIn(user.email, PASSWORD)
    expect(await sessionsOf(service, user)).toHaveLength(1)
    expect(await failuresOf(user.email), 'which forgives nobody else').toBe(10)
    expect((await tryPassword(stranger(), user.email, PASSWORD)).status).toBe(429)
    await service.database.advance(15 * MINUTE)
    expect((await tryPassword(stranger(), user.email, PASSWORD)).status).toBe(303)
  })

  it('WB-07: a known browser has ten attempts of its own, and is unknown for every other user', async () => {
    const [user, other] = [await somebody(), await somebody()]
    const web = stranger()
    await web.signIn(other.email, PASSWORD)
    await failTimes(stranger(), user.email, 10)
    expect((await tryPassword(web, user.email, PASSWORD)).status, 'known, but to somebody else').toBe(429)

    await failTimes(web, other.email, 10)
    expect((await tryPassword(web, other.email, PASSWORD)).status).toBe(429)
    expect(await sessionsOf(service, user)).toEqual([])
  })

  it('WB-07: a hundred failures of a network leave one attempt per address that failed, and all to the others', async () => {
    const [late, honest] = [await somebody(), await somebody()]
    const network = freshNetwork()
    await service.database.query(
      `insert into sign_in_failures (at, account_id, email, network)
       select now(), $1, sha256(n::text::bytea), $2 from generate_series(1, 100) n`,
      [service.account.id, `${network}.0/24`],
    )
    await failTimes(stranger(network), late.email, 1)
    expect((await tryPassword(stranger(network), late.email, PASSWORD)).status).toBe(429)
    expect((await tryPassword(stranger(network), honest.email, PASSWORD)).status).toBe(303)
    expect([await sessionsOf(service, late), await failuresOf(late.email)]).toEqual([[], 1])
  })

  it('WB-07: of fifty passwords at once, ten are checked', async () => {
    const user = await somebody()
    const pages = await Promise.all(Array.from({ length: 50 }, () => tryPassword(stranger(), user.email, WRONG)))
    const looked = pages.filter(({ status }) => status === 400).length
    expect(looked).toBeLessThanOrEqual(10)
    expect(new Set(pages.map(({ status }) => status)).difference(new Set([200, 400, 429, 503]))).toEqual(new Set())
    const failures = () => failuresOf(user.email)
    await expect.poll(failures, { message: 'what was not looked at is no failure' }).toBeLessThanOrEqual(10)
    expect(await failures()).toBeGreaterThanOrEqual(looked)
    expect(await sessionsOf(service, user)).toEqual([])
  })

  it('WB-07: three links per hour are mailed to an address', async () => {
    const user = await somebody()
    for (let time = 0; time < 5; time += 1) {
      expect((await stranger().send('POST', '/recover', { email: user.email })).status).toBe(200)
    }
    await mailsWritten(service)
    expect(await mailsOf(service, user)).toEqual(['recovery', 'recovery', 'recovery'])
    await service.database.advance(61 * MINUTE)
    await stranger().send('POST', '/recover', { email: user.email })
    await mailsWritten(service)
    expect(await mailsOf(service, user)).toHaveLength(4)
  })

  it('WB-07: three also if many are requested at the same moment', async () => {
    const user = await somebody()
    await Promise.all(Array.from({ length: 20 }, () => stranger().send('POST', '/recover', { email: user.email })))
    await mailsWritten(service)
    expect(await mailsOf(service, user)).toEqual(['recovery', 'recovery', 'recovery'])
  })
})

describe('finding out who exists', () => {
  /** Known with a wrong password, unknown, disabled with the right password, without a password. */
  async function cast(): Promise<Record<string, { email: string; password: string }>> {
    const { db } = service.context
    const [known, disabled] = [await somebody(), await somebody()]
    const invited = await makeUser(db, service.account.slug)
    await service.database.query('update users set disabled_at = now() where id = $1', [disabled.id])
    return {
      unknown: { email: `nobody-${randomBytes(4).toString('hex')}@acme.example`, password: WRONG },
      known: { email: known.email, password: WRONG },
      disabled: { email: disabled.email, password: PASSWORD },
      invited: { email: invited.email, password: WRONG },
    }
  }
  const alike = ({ status, headers, text }: Page, email: string) => {
    const { date: _date, 'content-length': _length, 'x-request-id': _id, ...rest } = headers
    return `${status} ${JSON.stringify(rest)} ${text}`
      .replaceAll(email, 'the address')
      .replace(/nonce-[\w+/=]+|nonce="[^"]*"/g, 'nonce')
      .replace(/options="[^"]*"|challenge[^,]*,/g, 'challenge')
  }

  it('WB-08: a failed sign-in answers and does the same for every address', async () => {
    const seen = new Map<string, string>()
    const done = new Map<string, string[]>()
    for (const [kind, { email, password }] of Object.entries(await cast())) {
      const { result, statements } = await statementsOf(() => tryPassword(stranger(), email, password))
      expect([result.status, textOf(result.text)]).toEqual([400, expect.stringContaining(t('sign_in.problem_wrong'))])
      seen.set(kind, alike(result, email))
      done.set(kind, statements)
      expect(await failuresOf(email)).toBe(1)
    }
    for (const kind of seen.keys()) {
      expect([kind, seen.get(kind)]).toEqual([kind, seen.get('unknown')])
      expect([kind, done.get(kind)]).toEqual([kind, done.get('unknown')])
    }
  })

  it('WB-08: an unknown address is locked like any other', async () => {
    const { unknown } = await cast()
    await failTimes(stranger(), unknown?.email ?? '', 10)
    expect((await tryPassword(stranger(), unknown?.email ?? '', WRONG)).status).toBe(429)
  })

  it('WB-08: requesting a link answers the same for every address, and sends one to an enabled user only', async () => {
    const answers = new Set<string>()
    const people = await cast()
    for (const { email } of Object.values(people)) {
      const web = stranger()
      await web.get('/recover')
      answers.add(alike(await web.submit('/recover', { email }), email))
    }
    expect([...answers]).toHaveLength(1)
    await mailsWritten(service)
    const rows = await service.database.query<{ email: string; kind: string }>(
      `select u.email, m.kind from mails m join users u on u.id = m.user_id where u.email = any($1) order by u.email`,
      [Object.values(people).map(({ email }) => email)],
    )
    const living = [people.known?.email, people.invited?.email].sort()
    expect(rows).toEqual(living.map((email) => ({ email, kind: 'recovery' })))
  })

  it('WB-08: requesting a link does the same for every address until it is answered', async () => {
    const done = new Map<string, string[]>()
    for (const [kind, { email }] of Object.entries(await cast())) {
      done.set(kind, await statementsUntilAnswered(() => stranger().send('POST', '/recover', { email })))
    }
    expect(done.get('unknown')).not.toEqual([])
    for (const kind of done.keys()) expect([kind, done.get(kind)]).toEqual([kind, done.get('unknown')])
  })
})

describe('exhausting the service', () => {
  it('WB-09: of two hundred sign-ins at once most must be confirmed by mail, and none answers 503', async () => {
    const user = await somebody()
    const says = (page: Page, text: string) => textOf(page.text).includes(text)
    const flood = Array.from({ length: 199 }, (_, index) =>
      tryPassword(stranger(), `mailed-${index}@acme.example`, WRONG),
    )
    // A sign-in is confirmed by mail only once the queue is full: wait for the first page that asks for it.
    await Promise.any(flood.map(async (page) => expect(says(await page, t('check_mail.why'))).toBe(true)))
    const pages = await Promise.all([...flood, tryPassword(stranger(), user.email, PASSWORD)])
    const saying = (text: string) => pages.filter((page) => says(page, text))
    expect(saying(t('check_mail.why')).length).toBeGreaterThan(50)
    expect(saying(t('sign_in.problem_busy'))).toEqual([])
    // Checked behind 150 others: on a busy machine a minute later.
    await expect.poll(() => mailsOf(service, user), { timeout: 100_000 }).toEqual(['sign_in'])
    expect(await sessionsOf(service, user)).toEqual([])
  })

  it('F42: WB-09: without a mail server, of two hundred sign-ins at once some answer 503, and polls continue as usual', async () => {
    const plain = await startTestService({ TRUST_PROXY: '127.0.0.1' })
    onTestFinished(() => plain.stop())
    const device = plain.device()
    const { device_code } = await device.code()
    const emails = Array.from({ length: 200 }, (_, index) => `flood-${index}@acme.example`)
    let checked = 0
    const signIn = async (email: string) => {
      const page = await tryPassword(stranger(undefined, plain), email, WRONG)
      if (page.status === 400) checked += 1
      return page
    }
    const flood = Promise.all(emails.map(signIn))
    let over = false
    const polls: { checkedMeanwhile: number; error: string }[] = []
    const polling = (async () => {
      while (!over) {
        const before = checked
        const { body } = await device.poll(device_code)
        polls.push({ checkedMeanwhile: checked - before, error: body.error })
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
    })()
    const pages = await flood
    over = true
    await polling

    const looked = pages.filter(({ status }) => status === 400).length
    const later = pages.filter(({ status }) => status === 503)
    expect(looked + later.length).toBe(200)
    expect(looked).toBeGreaterThan(0)
    expect(later.length).toBeGreaterThan(50)
    for (const page of later) expect(page.headers['retry-after']).toBe('2')
    const busy = later.filter(({ text }) => textOf(text).includes(t('sign_in.problem_busy')))
    const failures = await Promise.all(emails.map((email) => failuresOf(email, plain)))
    const counted = failures.reduce((sum, each) => sum + each, 0)
    expect(counted, 'what was not looked at is not held against anybody').toBeLessThanOrEqual(200 - busy.length)
    expect(counted).toBeGreaterThanOrEqual(looked)

    expect(polls.length).toBeGreaterThan(5)
    expect(new Set(polls.map(({ error }) => error)).difference(new Set(['auth_pending', 'slow_down']))).toEqual(
      new Set(),
    )
    // The first poll arrives together with two hundred requests; none waits for their passwords.
    const waits = polls.map(({ checkedMeanwhile }) => checkedMeanwhile).sort((a, b) => a - b)
    expect(waits[Math.floor(waits.length / 2)], 'passwords checked while a poll waits').toBeLessThan(looked / 4)
  })

  it('WB-09: setting a password by a link in that moment answers 503, and the link stays valid', async () => {
    const user = await somebody()
    const { context, account } = service
    const id = await context.db.transaction((tx) => createLink(tx, 'recovery', { id: user.id, accountId: account.id }))
    const link = signLink(service.config.keys, id, account.slug)
    const words = { link, password: 'another green harbour', again: 'another green harbour' }
    let over = false
    const another = async (_: unknown, index: number) => {
      const passwords = context.passwords.known({ accountId: `account ${index}`, network: `network ${index}` })
      while (!over) await passwords.digest('somebody else’s password').catch(() => sleep(1))
    }
    const others = Promise.all(Array.from({ length: 80 }, another))
    const page = await stranger().send('POST', '/link', words)
    over = true
    expect(page.status).toBe(503)
    expect(await service.database.query('select from links where id = $1 and used_at is null', [id])).toHaveLength(1)
    await others
    expect((await stranger().send('POST', '/link', words)).status).toBe(303)
  })
})

describe('links in mails', () => {
  const mailTo = async (user: MadeUser) => {
    await sendDueMails(service.context)
    return mailbox.waitFor(({ to }) => to === user.email)
  }
  const linkIn = (text: string) => /https?:\/\/\S+\/link\?token=[\w-]+/.exec(text)?.[0] ?? ''
  const askedFor = (user: MadeUser, headers: Record<string, string>) =>
    post(service.address, '/recover', {
      form: { email: user.email },
      headers: { host: stranger().host, origin: stranger().origin, 'sec-fetch-site': 'same-origin', ...headers },
    })

  it.each([
    { 'x-forwarded-host': 'evil.example' },
    { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https', 'x-forwarded-port': '443' },
    { forwarded: 'host=evil.example;proto=https' },
    { 'x-original-host': 'evil.example', 'x-host': 'evil.example', 'x-forwarded-server': 'evil.example' },
    { referer: 'https://evil.example/recover' },
  ])('WB-10: %j does not change the host of a mailed link', async (headers) => {
    const user = await somebody()
    expect((await askedFor(user, headers)).status).toBe(200)
    const mail = await mailTo(user)
    const url = new URL(linkIn(mail.text))
    expect(url.origin).toBe(`http://${service.account.slug}.${new URL(service.config.publicUrl).host}`)
    for (const part of [mail.text, mail.html, mail.raw]) expect(part).not.toContain('evil.example')
    expect((await service.web().get(`${url.pathname}${url.search}`)).status).toBe(200)
    expect(mail.html).toContain(url.href.replaceAll('&', '&amp;'))
  })

  it.each(['evil.example', 'evil.example:443', 'localhost', 'acme.evil.example'])(
    'WB-10: a request for the host %s sends no mail at all',
    async (host) => {
      const user = await somebody()
      const sent = () => service.database.query('select id::text from mails union all select id::text from links')
      const before = await sent()
      expect((await askedFor(user, { host, origin: `http://${host}` })).status).toBe(421)
      expect(await sent()).toEqual(before)
    },
  )

  it('WB-10: neither the outbox nor the table of links contains the token of a link', async () => {
    const user = await somebody()
    await askedFor(user, {})
    const mail = await mailTo(user)
    const token = linkIn(mail.text).split('token=')[1] ?? ''
    expect(token).toMatch(/^lkl_/)
    const rows = await service.database.query<{ text: string }>(
      'select m::text as text from mails m union all select l::text from links l union all select e::text from audit_events e',
    )
    for (const { text } of rows) expect(text).not.toContain(token)
  })
})
