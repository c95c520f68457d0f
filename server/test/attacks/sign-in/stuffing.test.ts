/** WB-07 and WB-09: credential stuffing is throttled before any hashing; users of known browsers sign in as before. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startService } from '../../../src/app.ts'
import { networkOf } from '../../../src/core/network.ts'
import { sendDueMails } from '../../../src/flows/send-mails.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { engineUrl } from '../../rig/engines/database.ts'
import { makeAuthenticator } from '../../rig/factors/second-factor.ts'
import { createSoftPasskey, type SoftPasskey } from '../../rig/factors/soft-passkey.ts'
import { type MadeUser, makeAccount, makeConfig, makeUser } from '../../rig/make.ts'
import { freshNetwork } from '../../rig/network/fresh-network.ts'
import { type Mailbox, startMailbox } from '../../rig/network/mailbox.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { type Page, textOf, unescapeHtml, Web } from '../../rig/web.ts'
import { mailsOf, sessionsOf } from '../../rig/witness.ts'

const { t } = wordsFor('en')
const PASSWORD = 'a quiet green harbour'
const WRONG = 'not the right words'

/** Small budgets: what counts is what happens when they are spent. */
const SMALL = { TRUST_PROXY: '127.0.0.1', SIGN_IN_ADDRESSES_PER_NETWORK: '3' }

let service: TestService
let mailbox: Mailbox
beforeAll(async () => {
  mailbox = await startMailbox()
  service = await startTestService({ ...SMALL, SMTP_URL: mailbox.url })
})
afterAll(async () => {
  await service.stop()
  await mailbox.stop()
})

const somewhere = () => `${freshNetwork()}.7`
const somebody = (at = service, slug = at.account.slug) => makeUser(at.context.db, slug, { password: PASSWORD })
const from = (address = somewhere(), at = service, slug?: string) => at.web({ 'x-forwarded-for': address }, slug)
const signIn = (web: Web, email: string, password: string) =>
  web.send('POST', '/sign-in', { email, password, next: '/' })
const madeUp = () => `nobody-${randomBytes(6).toString('hex')}@acme.example`

/** So many leaked pairs, each tried once, from as few networks as the budget of each allows. */
type From = { readonly at?: TestService; readonly slug?: string; readonly address?: string }

async function stuff(
  count: number,
  { at = service, slug = at.account.slug, address = '' }: From = {},
): Promise<Page[]> {
  const pages: Page[] = []
  let own = somewhere()
  for (let pair = 0; pair < count; pair += 1) {
    if (pair % 3 === 0) own = somewhere()
    pages.push(await signIn(from(address || own, at, slug), madeUp(), WRONG))
  }
  return pages
}

const failures = async (at = service) => (await at.database.query('select from sign_in_failures')).length
const passkeyAnswer = async (web: Web, passkey: SoftPasskey) => {
  const { text } = await web.get('/sign-in')
  return passkey.get(JSON.parse(unescapeHtml(/ options="([^"]*)"/.exec(text)?.[1] ?? '')), web.origin)
}

/** The link by which a user confirms a browser. */
async function confirmation(user: MadeUser): Promise<string> {
  await expect.poll(() => mailsOf(service, user), { timeout: 20_000 }).toEqual(['sign_in'])
  await sendDueMails(service.context)
  const { text } = await mailbox.waitFor(({ to }) => to === user.email)
  const { pathname, search } = new URL(/https?:\/\/\S+\/link\?token=[\w-]+/.exec(text)?.[0] ?? '')
  return `${pathname}${search}`
}

async function withPasskey(user: MadeUser): Promise<SoftPasskey> {
  const web = from()
  await web.signIn(user.email, PASSWORD)
  const { text } = await web.get('/security')
  const passkey = createSoftPasskey()
  const options = JSON.parse(unescapeHtml(/ options="([^"]*)"/.exec(text)?.[1] ?? ''))
  await web.submit('/security/passkeys', { answer: passkey.create(options, web.origin), name: 'Phone' })
  return passkey
}

describe('a network from which many addresses failed', () => {
  it('WB-07: shuts nobody out: its strangers confirm by mail, in that account only; known browsers and passkeys do not', async () => {
    const [user, other] = [await somebody(), await somebody()]
    const address = somewhere()
    const known = from(address)
    await known.signIn(user.email, PASSWORD)
    await known.submit('/sign-out')
    const passkey = await withPasskey(await somebody())
    expect((await stuff(3, { address })).map(({ status }) => status)).toEqual([400, 400, 400])

    const pages = [
      await signIn(from(address), other.email, PASSWORD),
      await signIn(from(address), other.email, WRONG),
      await signIn(from(address), madeUp(), WRONG),
    ]
    expect(pages.map(({ status }) => status)).toEqual([200, 200, 200])
    const link = await confirmation(other)
    expect(await sessionsOf(service, other)).toEqual([])
    const web = from(address)
    await web.get(link)
    await web.submit('/link/sign-in')
    expect(await sessionsOf(service, other)).toHaveLength(1)

    await known.signIn(user.email, PASSWORD)
    expect(await sessionsOf(service, user)).toHaveLength(1)
    const stranger = from(address)
    const page = await stranger.send('POST', '/sign-in/passkey', {
      answer: await passkeyAnswer(stranger, passkey),
      next: '/',
    })
    expect([page.status, page.location]).toEqual([303, '/'])
    expect((await signIn(from(), (await somebody()).email, PASSWORD)).status, 'from elsewhere').toBe(303)
    const { slug } = await makeAccount(service.context.db)
    const neighbour = await somebody(service, slug)
    expect((await signIn(from(address, service, slug), neighbour.email, PASSWORD)).status, 'another account').toBe(303)
    await service.context.refusals.save()
    const events = await service.database.query("select detail from audit_events where kind = 'session.slowed'")
    expect(events).toContainEqual({ detail: { reason: 'network', network: `${address.replace(/\.7$/, '.0')}/24` } })
  })

  it('WB-07: that goes on in many accounts confirms in every account, and waits only after very many', async () => {
    const address = somewhere()
    const slugs = await Promise.all(Array.from({ length: 8 }, async () => (await makeAccount(service.context.db)).slug))
    for (const slug of slugs.slice(0, 7)) await stuff(2, { address, slug })
    const [last = ''] = slugs.slice(-1)
    const user = await somebody(service, last)
    const tryIt = () => signIn(from(address, service, last), user.email, PASSWORD)
    expect(
      (await stuff(1, { address, slug: last })).map(({ status }) => status),
      'the fifteenth',
    ).toEqual([400])
    expect((await tryIt()).status).toBe(200)
    const source = { network: networkOf(address) ?? '', accountId: service.account.id }
    const failed = async () => (await service.context.signInFailures.read(source)).inAllAccounts
    // Each is checked after its answer.
    for (let left = 75 - (await failed()); left > 0; left = 75 - (await failed()))
      await stuff(left, { address, slug: last })
    const before = await failures()
    const page = await tryIt()
    expect([page.status, Number(page.headers['retry-after']) > 600]).toEqual([429, true])
    expect(await failures(), 'no password was looked at').toBe(before)
  })

  it('WB-07: without a mail server is delayed, and waits after many', async () => {
    const own = await startTestService(SMALL)
    onTestFinished(() => own.stop())
    const user = await somebody(own)
    const address = somewhere()
    await stuff(3, { at: own, address })
    const started = performance.now()
    expect((await signIn(from(address, own), user.email, PASSWORD)).status).toBe(303)
    expect(performance.now() - started).toBeGreaterThan(4_900)
    const { slug } = await makeAccount(own.context.db)
    for (let time = 0; time < 4; time += 1) {
      const { slug: other } = await makeAccount(own.context.db)
      await stuff(3, { at: own, address, slug: other })
    }
    expect((await signIn(from(address, own, slug), madeUp(), WRONG)).status).toBe(429)
  })

  it('WB-07: is not judged by how often one address fails, which has a budget of its own', async () => {
    const address = somewhere()
    const email = madeUp()
    for (let time = 0; time < 5; time += 1) expect((await signIn(from(address), email, WRONG)).status).toBe(400)
    expect((await signIn(from(address), (await somebody()).email, PASSWORD)).status).toBe(303)
  })

  it('WB-07: takes no place from anybody: forty guesses at once from it, and a stranger of another account gets in', async () => {
    const plain = await startTestService({ TRUST_PROXY: '127.0.0.1', SIGN_IN_ADDRESSES_PER_NETWORK: '1000' })
    onTestFinished(() => plain.stop())
    const { slug } = await makeAccount(plain.context.db)
    const honest = await somebody(plain, slug)
    const address = somewhere()
    const guesses = Array.from({ length: 40 }, () => signIn(from(address, plain), madeUp(), WRONG))
    const page = await signIn(from(somewhere(), plain, slug), honest.email, PASSWORD)
    expect(page.status).toBe(303)
    await Promise.all(guesses)
  })
})

describe('guesses from one network that come at once', () => {
  /** How many of a dozen at each address are checked before the answer. */
  const guess = async (own: TestService, addresses: readonly string[]): Promise<number> => {
    const headers = { 'x-forwarded-for': somewhere() }
    const webs = addresses.flatMap((address) =>
      Array.from({ length: 12 }, () => new Web(address, own.web().host, headers)),
    )
    const pages = await Promise.all(webs.map((web) => signIn(web, madeUp(), WRONG)))
    return pages.filter(({ status }) => status === 400).length
  }

  it('WB-07: are judged and counted one by one, and spend the budget of the network exactly', async () => {
    expect(await guess(service, [service.address])).toBe(3)
  })

  it('WB-07: at two processes pass it by one at most', async () => {
    const budgets = { ...SMALL, SIGN_IN_FAILURES: '1000000', SMTP_URL: mailbox.url, REDIS_URL: engineUrl('REDIS_URL') }
    const own = await startTestService(budgets)
    onTestFinished(() => own.stop())
    const [DATABASE_URL, PUBLIC_URL] = [own.database.url, own.config.publicUrl]
    const other = await startService(makeConfig({ ...budgets, DATABASE_URL, PUBLIC_URL }))
    onTestFinished(() => other.stop())
    const [one, two] = [own.context, other.context]
    const source = { network: networkOf(somewhere()) ?? '', accountId: own.account.id }
    const shared = async () => {
      await one.signInFailures.count(source, Buffer.from('address'))
      return (await two.signInFailures.read(source)).addresses
    }
    await expect.poll(shared).toBe(1)

    const failures = () => one.gate.failures + two.gate.failures
    let [before, checked] = [Number.NaN, 0]
    // While Redis is away, as it seems to a machine that stands still, each process counts on its own.
    while (before !== failures()) {
      before = failures()
      checked = await guess(own, [own.address, other.address])
    }
    expect([3, 4]).toContain(checked)
  })
})

describe('when an account’s budget is spent', () => {
  it('WB-07: a stranger is asked to confirm by mail, right or wrong alike; the link signs in, once, and the browser is known', async () => {
    const { slug } = await makeAccount(service.context.db)
    const [user, next] = [await somebody(service, slug), await somebody(service, slug)]
    const known = from(undefined, service, slug)
    await known.signIn(next.email, PASSWORD)
    await known.submit('/sign-out')
    await stuff(100, { slug })

    const web = from(undefined, service, slug)
    const [right, wrong] = [
      await signIn(web, user.email, PASSWORD),
      await signIn(from(undefined, service, slug), user.email, WRONG),
    ]
    expect([right.status, textOf(right.text)]).toEqual([200, expect.stringContaining(t('check_mail.why'))])
    const bare = ({ status, text }: Page) => [status, text.replace(/nonce(-|=")[\w+/=]+/g, 'nonce')]
    expect(bare(right), 'no telling whether the password was right').toEqual(bare(wrong))
    expect(await sessionsOf(service, user)).toEqual([])

    const link = await confirmation(user)
    await web.get(link)
    expect(await sessionsOf(service, user), 'looking at it changes nothing').toEqual([])
    await web.submit('/link/sign-in')
    expect(await sessionsOf(service, user)).toHaveLength(1)
    await web.submit('/sign-out')
    expect((await signIn(web, user.email, PASSWORD)).status, 'known from now on').toBe(303)
    expect((await from(undefined, service, slug).get(link)).status).toBe(404)

    await known.signIn(next.email, PASSWORD)
    expect(await sessionsOf(service, next)).toHaveLength(1)
    expect((await signIn(from(), (await somebody()).email, PASSWORD)).status, 'other accounts do not notice').toBe(303)
  })

  it('WB-07: a link that signs in sets no password', async () => {
    const { slug } = await makeAccount(service.context.db)
    const user = await somebody(service, slug)
    await stuff(100, { slug })
    await signIn(from(undefined, service, slug), user.email, PASSWORD)
    const link = /token=([\w-]+)/.exec(await confirmation(user))?.[1] ?? ''
    const words = { link, password: 'another green harbour', again: 'another green harbour' }
    expect((await from(undefined, service, slug).send('POST', '/link', words)).status).toBe(404)
  })
})

describe('when the service’s budget is spent', () => {
  it('WB-07: no stranger of any account gets in without a mail, known browsers and passkeys do; it is recorded once', async () => {
    const own = await startTestService({ ...SMALL, SMTP_URL: mailbox.url, SIGN_IN_FAILURES: '5' })
    onTestFinished(() => own.stop())
    const [user, other] = [await somebody(own), await somebody(own)]
    const known = from(undefined, own)
    await known.signIn(user.email, PASSWORD)
    await known.submit('/sign-out')
    const { slug } = await makeAccount(own.context.db)
    await stuff(5, { at: own, slug })
    expect((await signIn(from(undefined, own), other.email, PASSWORD)).status).toBe(200)
    expect(await sessionsOf(own, other)).toEqual([])
    await known.signIn(user.email, PASSWORD)
    expect(await sessionsOf(own, user)).toHaveLength(1)
    await signIn(from(undefined, own), other.email, PASSWORD)
    await own.context.refusals.save()
    const events = await own.database.query("select account_id, detail from audit_events where kind = 'session.slowed'")
    expect(events).toEqual([{ account_id: null, detail: { reason: 'service' } }])
  })

  it('WB-07: without a mail server strangers wait, and known browsers do not', async () => {
    const own = await startTestService({ ...SMALL, SIGN_IN_FAILURES: '5' })
    onTestFinished(() => own.stop())
    const user = await somebody(own)
    const known = from(undefined, own)
    await known.signIn(user.email, PASSWORD)
    await known.submit('/sign-out')
    await stuff(5, { at: own })
    expect((await signIn(from(undefined, own), user.email, PASSWORD)).status).toBe(429)
    await known.signIn(user.email, PASSWORD)
    expect(await sessionsOf(own, user)).toHaveLength(1)
  })
})

describe('other ways in', () => {
  it('WB-07: nothing that is typed as an address spends the tries of a second step', async () => {
    const user = await somebody()
    const authenticator = await makeAuthenticator(service, user)
    for (let time = 0; time < 10; time += 1) await signIn(from(), `second step\n${user.id}`, WRONG)
    const web = from()
    await web.signIn(user.email, PASSWORD)
    await web.submit('/sign-in/code', { code: await authenticator.code() })
    expect(await sessionsOf(service, user)).toHaveLength(1)
  })

  it('WB-07: made-up passkeys are refused by network after thirty; a passkey that exists works on, also from there', async () => {
    const user = await somebody()
    const passkey = await withPasskey(user)
    const address = somewhere()
    const send = async (each: SoftPasskey) => {
      const web = from(address)
      return (await web.send('POST', '/sign-in/passkey', { answer: await passkeyAnswer(web, each), next: '/' })).status
    }
    for (let time = 0; time < 30; time += 1) expect(await send(createSoftPasskey())).toBe(400)
    expect(await send(createSoftPasskey())).toBe(429)
    expect(await send(passkey)).toBe(303)
  })
})
