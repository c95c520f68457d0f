/** RL-08, RL-09, and a thief with the secret: who is charged for code requests and dialogs, and the answer over the limit. */
import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { languages, wordsFor } from '../../../src/pages/ui/words.ts'
import { expectError } from '../../conformance/standard-words.ts'
import { Device, post } from '../../rig/device.ts'
import { dialects, speak } from '../../rig/dialects.ts'
import { dialogAddress, makeDialogApplication, makePkce } from '../../rig/dialog.ts'
import { CALLBACK, type MadeApplication, makeApplication } from '../../rig/make.ts'
import { freshNetwork } from '../../rig/network/fresh-network.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { figure, sized } from '../../rig/size.ts'
import { textOf, Web } from '../../rig/web.ts'
import { countRows } from '../../rig/witness.ts'

const PER_NETWORK = 5
const LIMITS = { CODE_REQUESTS_PER_NETWORK: String(PER_NETWORK), DIALOGS_PER_NETWORK: String(PER_NETWORK) }

/** A network used by no other test. */
const somewhere = () => `${freshNetwork()}.7`

let service: TestService
beforeAll(async () => {
  service = await startTestService({ TRUST_PROXY: '127.0.0.1', ...LIMITS })
})
afterAll(() => service.stop())

function ask(headers: Record<string, string>, form: Record<string, string> = {}, at = service) {
  return post(at.address, '/auth/oauth/device/code', { form: { ...at.device().credentials, ...form }, headers })
}

async function statuses(times: number, headers: (time: number) => Record<string, string>, at = service) {
  const counted: Record<number, number> = {}
  for (let time = 0; time < times; time += 1) {
    const { status } = await ask(headers(time), {}, at)
    counted[status] = (counted[status] ?? 0) + 1
  }
  return counted
}

describe('RL-08: the network that is charged', () => {
  const forged: Record<string, (time: number) => Record<string, string>> = {
    'X-Forwarded-For': (time) => ({ 'x-forwarded-for': `198.51.${time}.1` }),
    'a chain in X-Forwarded-For': (time) => ({ 'x-forwarded-for': `198.51.${time}.1, 127.0.0.1, 10.0.0.1` }),
    Forwarded: (time) => ({ forwarded: `for=198.51.${time}.1;proto=https, for="[2001:db8:${time}::1]"` }),
    'X-Real-IP': (time) => ({ 'x-real-ip': `198.51.${time}.1` }),
    'X-Client-IP, True-Client-IP and CF-Connecting-IP': (time) => ({
      'x-client-ip': `198.51.${time}.1`,
      'true-client-ip': `198.51.${time}.2`,
      'cf-connecting-ip': `198.51.${time}.3`,
    }),
    'garbage where an address should be': (time) => ({ 'x-forwarded-for': `${'%'.repeat(50)}${time}, ,` }),
  }

  it('RL-08: without a trusted proxy, no header changes it', async () => {
    const exposed = await startTestService(LIMITS)
    try {
      expect(await statuses(PER_NETWORK, () => ({}), exposed)).toEqual({ 200: PER_NETWORK })
      for (const [name, headers] of Object.entries(forged)) {
        expect(await statuses(10, headers, exposed), name).toEqual({ 429: 10 })
      }
    } finally {
      await exposed.stop()
    }
  })

  it.each([
    ['what stands to the left of whom our proxy heard from', (at: string, time: number) => `198.51.${time}.1, ${at}`],
    [
      'a whole chain of made-up hops',
      (at: string, time: number) => `198.51.${time}.1, 127.0.0.1, 10.${time}.0.1, ${at}`,
    ],
    ['a port', (at: string, time: number) => `${at}:${4_000 + time}`],
    ['the address dressed as IPv6', (at: string) => `::ffff:${at}`],
    ['garbage to the left', (at: string, time: number) => `<${time}>, ${at}`],
  ])('RL-08: behind a trusted proxy, %s does not change it', async (_name, spell) => {
    const at = somewhere()
    const headers = (time: number) => ({
      'x-forwarded-for': spell(at, time),
      forwarded: `for=192.0.${time}.9`,
      'x-real-ip': `192.0.${time}.8`,
    })
    expect(await statuses(20, headers)).toEqual({ 200: PER_NETWORK, 429: 20 - PER_NETWORK })
    expect((await ask({ 'x-forwarded-for': somewhere() })).status, 'somebody else').toBe(200)
  })

  it('RL-08: a header without a valid address charges the proxy itself', async () => {
    const counted = await statuses(PER_NETWORK + 5, (time) => ({ 'x-forwarded-for': `unknown-${time}` }))
    expect(counted).toEqual({ 200: PER_NETWORK, 429: 5 })
  })
})

describe('RL-09: many addresses of one network', () => {
  const ADDRESSES = sized(10_000, 1_000)

  it(`RL-09: ${figure(ADDRESSES)} addresses of one /64 are one bucket`, async () => {
    const prefix = `2001:db8:${randomInt(0x10000).toString(16)}:${randomInt(0x10000).toString(16)}`
    const counted: Record<number, number> = {}
    const hop = async () => {
      const address = Array.from({ length: 4 }, () => randomInt(0x10000).toString(16)).join(':')
      const { status } = await ask({ 'x-forwarded-for': `${prefix}:${address}` })
      counted[status] = (counted[status] ?? 0) + 1
    }
    const hopping = async () => {
      for (let time = 0; time < ADDRESSES / 50; time += 1) await hop()
    }
    await Promise.all(Array.from({ length: 50 }, hopping))
    expect(counted).toEqual({ 200: PER_NETWORK, 429: ADDRESSES - PER_NETWORK })
  })

  it('RL-09: the addresses of one /24 are one bucket, and the next /24 is another', async () => {
    const [one, next] = [freshNetwork(), freshNetwork()]
    const counted = await statuses(50, (time) => ({ 'x-forwarded-for': `${one}.${time + 1}` }))
    expect(counted).toEqual({ 200: PER_NETWORK, 429: 50 - PER_NETWORK })
    expect((await ask({ 'x-forwarded-for': `${next}.1` })).status).toBe(200)
  })
})

describe('who is charged', () => {
  it('a network is charged for wrong secrets and unknown applications, too', async () => {
    const headers = { 'x-forwarded-for': somewhere() }
    expect((await ask(headers, { SVCsecret: 'lks_wrong' })).status).toBe(401)
    expect((await ask(headers, { SVCappid: 'app_none' })).status).toBe(401)
    expect((await ask(headers, { scope: 'nonsense' })).status).toBe(400)
    expect([(await ask(headers)).status, (await ask(headers)).status]).toEqual([200, 200])
    expect((await ask(headers)).status).toBe(429)
    expect((await ask(headers, { SVCsecret: 'lks_wrong' })).status).toBe(429)
  })

  it('nobody is charged for polls, refreshes, revocations and checks', async () => {
    const headers = { 'x-forwarded-for': somewhere() }
    const { body: code } = await ask(headers)
    while ((await ask(headers)).status !== 429);
    expect(await service.grant(code.user_code)).toBe('granted')
    const { credentials } = service.device()
    const poll = (device_code: string) =>
      post(service.address, '/auth/oauth/device/polling', { form: { ...credentials, device_code }, headers })
    const issued = await poll(code.device_code)
    expect(issued.status).toBe(200)
    for (let time = 0; time < 50; time += 1) expect((await poll(code.device_code)).body.error).toBe('invalid')
    const bearer = { ...headers, authorization: `Bearer ${issued.body.access_token}` }
    for (let time = 0; time < 50; time += 1) {
      expect((await post(service.address, '/auth/verify', { method: 'GET', headers: bearer })).status).toBe(200)
    }
    const form = { ...credentials, refresh_token: issued.body.refresh_token }
    const renewed = await post(service.address, '/auth/oauth/refresh', { form, headers })
    expect(renewed.status).toBe(200)
    const revoking = { ...credentials, token: renewed.body.refresh_token }
    expect((await post(service.address, '/auth/oauth/revoke', { form: revoking, headers })).status).toBe(200)
  })
})

describe('clients over the limit', () => {
  it.each(dialects)('get 429 with Retry-After: $format by $by', async (dialect) => {
    const own = await startTestService({ CODE_REQUESTS_PER_NETWORK: '1' })
    try {
      const { credentials } = own.device()
      await own.device().request()
      for (const variant of ['oauth', 'key'] as const) {
        const refused = await speak(own.address, dialect, variant, 'code', credentials)
        expect([refused.status, refused.fields.error]).toEqual([429, 'too_many_requests'])
        expect(Object.keys(refused.fields)).toEqual(['error', 'message'])
        expect(Number(refused.headers['retry-after'])).toBeGreaterThan(50)
        expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60)
      }
    } finally {
      await own.stop()
    }
  })

  it('get the errors of the standard dialect: a code and a pushed request', async () => {
    const headers = { 'x-forwarded-for': somewhere() }
    const { id: client_id, secret: client_secret } = service.application
    const authorize = () =>
      post(service.address, '/oauth/device_authorization', { form: { client_id, client_secret }, headers })
    for (let time = 0; time < PER_NETWORK; time += 1) expect((await authorize()).status).toBe(200)
    const refused = await authorize()
    expectError(refused, 429, 'temporarily_unavailable')
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(50)

    const application = await makeDialogApplication(service)
    const push = () => {
      const { challenge } = makePkce()
      const by = { client_id: application.id, client_secret: application.secret }
      const asked = { response_type: 'code', redirect_uri: CALLBACK, code_challenge: challenge }
      const form = { ...by, ...asked, code_challenge_method: 'S256' }
      return post(service.address, '/oauth/par', { form, headers })
    }
    for (let time = 0; time < PER_NETWORK; time += 1) expect((await push()).status).toBe(201)
    const before = await countRows(service, 'dialogs')
    const none = await push()
    expectError(none, 429, 'temporarily_unavailable')
    expect(Number(none.headers['retry-after'])).toBeGreaterThan(50)
    expect(await countRows(service, 'dialogs')).toEqual(before)
  })

  it.each(languages)('see a page in their own language instead of a dialog: $name', async ({ code }) => {
    const { t } = wordsFor(code)
    const application = await makeDialogApplication(service)
    const { host } = new URL(service.config.publicUrl)
    const window = new Web(service.address, host, { 'x-forwarded-for': somewhere(), 'accept-language': code })
    const { challenge } = makePkce()
    const parameters = { code_challenge: challenge, code_challenge_method: 'S256' }
    const { pathname, search } = new URL(dialogAddress(service, { application, parameters }))
    for (let time = 0; time < PER_NETWORK; time += 1) {
      expect((await window.send('GET', pathname + search)).status).toBe(303)
    }
    const before = await countRows(service, 'dialogs')
    const form = Object.fromEntries(new URLSearchParams(search))
    for (const page of [await window.send('GET', pathname + search), await window.send('POST', pathname, form)]) {
      expect([page.status, page.location]).toEqual([429, null])
      expect(Number(page.headers['retry-after'])).toBeGreaterThan(50)
      expect(textOf(page.text)).toContain(t('dialog_problem.too_many'))
      expect(textOf(page.text)).toContain(t('dialog_problem.too_many_what'))
    }
    expect(await countRows(service, 'dialogs')).toEqual(before)
  })
})

describe('a thief with the secret of an application', () => {
  /** For two seconds. */
  const BURST = 40
  let limited: TestService
  let application: MadeApplication
  beforeAll(async () => {
    limited = await startTestService({ TRUST_PROXY: '127.0.0.1', CODE_REQUESTS_PER_APPLICATION: String(30 * BURST) })
    application = limited.application
  })
  afterAll(() => limited.stop())

  const from = (address: string, by = application, secret = by.secret) =>
    post(limited.address, '/auth/oauth/device/code', {
      form: { SVCappid: by.id, SVCsecret: secret },
      headers: { 'x-forwarded-for': address },
    })

  it('does not use up the budget of devices in other networks or of other applications', async () => {
    for (let refusals = 0; refusals < 100; ) {
      const stolen = await Promise.all(Array.from({ length: 10 }, (_, network) => from(`10.1.${network}.1`)))
      refusals += stolen.filter(({ status }) => status === 429).length
    }
    for (let home = 0; home < 8; home += 1) expect((await from(`10.2.${home}.1`)).status, 'a home').toBe(200)
    // The budget refills continuously; ten at once do not all fit.
    const asked = await Promise.all(Array.from({ length: 10 }, (_, network) => from(`10.1.${network}.1`)))
    const refused = asked.find(({ status }) => status === 429)
    expect(refused?.body.error).toBe('too_many_requests')
    expect(Number(refused?.headers['retry-after'])).toBeGreaterThan(0)

    const other = await makeApplication(limited.context.db, limited.config, limited.account.slug)
    await limited.context.applications.refresh()
    expect((await from('10.1.0.1', other)).status, 'another application, from the same place').toBe(200)
  })

  it('is not charged without the secret, and a code request that is refused is not charged either', async () => {
    const other = await makeApplication(limited.context.db, limited.config, limited.account.slug)
    await limited.context.applications.refresh()
    for (let time = 0; time < 3 * BURST; time += 1) {
      expect((await from('10.3.0.1', other, 'lks_guessed')).status).toBe(401)
    }
    const device = new Device(limited.address, other)
    for (let time = 0; time < 3 * BURST; time += 1) {
      expect((await device.request({ scope: 'nonsense' })).status).toBe(400)
    }
    for (let time = 0; time < BURST; time += 1) expect((await from('10.4.0.1', other)).status).toBe(200)
  })
})
