/** UC-01, UC-03, UC-04, UC-19, UC-21: one user guesses codes, and what the answers reveal. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readTypedCode } from '../../../src/core/device/user-code.ts'
import { savePolicy } from '../../../src/flows/accounts/policy.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { statementsOf } from '../../rig/engines/statements.ts'
import { makeAccount, makeApplication, makeUser } from '../../rig/make.ts'
import { madeUp, missTimes, someNetwork, somewhere } from '../../rig/scenes/guesses.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { makeSignedInUser } from '../../rig/signed-in.ts'
import { type Page, textOf, Web } from '../../rig/web.ts'
import { codeRow, entriesOf, eventKinds, UNTOUCHED } from '../../rig/witness.ts'

const MINUTE = 60_000
const { t } = wordsFor('en')
const NOT_RECOGNISED = t('enter_code.problem_not_recognised')
const CLOSED = t('enter_code.problem_closed')
const tooMany = (minutes: number) => t('enter_code.problem_locked', { minutes })

let service: TestService
beforeAll(async () => {
  service = await startTestService({ TRUST_PROXY: '127.0.0.1' }, { clock: true })
})
afterAll(() => service.stop())

describe('one user', () => {
  it('UC-01: five misses lock entry for a quarter of an hour, and a right code is not accepted meanwhile', async () => {
    const { user, web } = await makeSignedInUser(service, await somewhere(service))
    const { user_code } = await service.device().code()
    for (let miss = 0; miss < 5; miss += 1) {
      const page = await web.enterCode(madeUp())
      expect([page.status, textOf(page.text)]).toEqual([400, expect.stringContaining(NOT_RECOGNISED)])
    }
    const answers = new Set<string>()
    for (const code of [user_code, ...Array.from({ length: 20 }, madeUp), user_code]) {
      const page = await web.enterCode(code)
      expect([page.status, page.location]).toEqual([429, null])
      answers.add(alike(page))
    }
    expect([...answers], 'one text, whether the code was right or not').toHaveLength(1)
    expect([...answers][0]).toContain(tooMany(15))
    expect(await entriesOf(service, user)).toEqual(Array.from({ length: 5 }, () => 'missed'))
    expect(await eventKinds(service, { user })).toEqual(['entry.locked'])
    expect(await codeRow(service, user_code)).toMatchObject(UNTOUCHED)
  })

  it('UC-01: the lock ends when the first of five misses is a quarter of an hour old, and not before', async () => {
    const { user, web } = await makeSignedInUser(service, await somewhere(service))
    await missTimes(web, 4)
    await service.database.advance(10 * MINUTE)
    await missTimes(web, 1)
    const device = service.device()
    const early = await device.code()
    await service.database.advance(4 * MINUTE)
    const page = await web.enterCode(early.user_code)
    expect([page.status, textOf(page.text)]).toEqual([429, expect.stringContaining(tooMany(1))])
    expect(await codeRow(service, early.user_code)).toMatchObject(UNTOUCHED)

    await service.database.advance(1.5 * MINUTE)
    expect((await web.enterCode(early.user_code)).status).toBe(200)
    expect(await codeRow(service, early.user_code)).toMatchObject({ ...UNTOUCHED, claimed_by: user.id })
  })

  it('UC-01: mistyped codes and codes that exist do not count as misses', async () => {
    const { user, web } = await makeSignedInUser(service, await somewhere(service))
    const { user_code } = await service.device().code()
    await service.reject(user_code)
    const mistyped = user_code.replace(/^\d/, (digit) => String((Number(digit) + 1) % 10))
    for (let time = 0; time < 6; time += 1) {
      expect(textOf((await web.enterCode(mistyped)).text)).toContain(t('enter_code.problem_mistyped'))
      expect(textOf((await web.enterCode(user_code)).text)).toContain(NOT_RECOGNISED)
    }
    expect(await entriesOf(service, user)).toEqual(Array.from({ length: 6 }, () => 'known'))
    const next = await service.device().code()
    expect((await web.enterCode(next.user_code)).status).toBe(200)
    expect(await codeRow(service, next.user_code)).toMatchObject({ claimed_by: user.id })
  })

  it('UC-21: after twenty claims in ten minutes the next code is refused, and stays pending', async () => {
    const { account, headers } = await somewhere(service)
    const { user, web } = await makeSignedInUser(service, { account, headers })
    const device = service.device()
    for (let claim = 0; claim < 20; claim += 1) {
      expect((await web.enterCode((await device.code()).user_code)).status).toBe(200)
    }
    const { user_code } = await device.code()
    const page = await web.enterCode(user_code)
    expect([page.status, textOf(page.text)]).toEqual([429, expect.stringContaining(tooMany(10))])
    expect(await codeRow(service, user_code)).toMatchObject(UNTOUCHED)
    expect(await entriesOf(service, user)).toHaveLength(20)
    const visible = await service.database.query(
      `select from audit_events where user_id = $1 and account_id = $2 and kind = 'code.claimed'`,
      [user.id, account.id],
    )
    expect(visible, 'to the account’s administrators').toHaveLength(20)
    await service.database.advance(10 * MINUTE)
    expect((await web.enterCode((await device.code()).user_code)).status).toBe(200)
  })

  it('UC-21: after twenty entries of a used code in ten minutes the next is refused, too', async () => {
    const { user, web } = await makeSignedInUser(service, await somewhere(service))
    const { user_code } = await service.device().code()
    await service.reject(user_code)
    for (let time = 0; time < 20; time += 1) expect((await web.enterCode(user_code)).status).toBe(400)
    expect((await web.enterCode(user_code)).status).toBe(429)
    expect(await entriesOf(service, user)).toHaveLength(20)
    await service.database.advance(10 * MINUTE)
    expect((await web.enterCode(user_code)).status).toBe(400)
  })

  it('UC-04: of two hundred wrong codes at once, five are looked up', async () => {
    const { user, web } = await makeSignedInUser(service, await somewhere(service))
    await web.get('/connect/code')
    const statuses = await Promise.all(
      Array.from({ length: 200 }, async () => {
        return (await sameBrowser(web).submit('/connect/code', { code: madeUp() })).status
      }),
    )
    expect(statuses.filter((status) => status === 400)).toHaveLength(5)
    // Some of two hundred at once may also be answered 503.
    expect([...new Set(statuses)].filter((status) => ![400, 429, 503].includes(status))).toEqual([])
    expect(await entriesOf(service, user)).toEqual(Array.from({ length: 5 }, () => 'missed'))
    expect(await eventKinds(service, { user })).toEqual(['entry.locked'])
  })
})

/** Another tab: the same cookies, and the page as shown. */
function sameBrowser(web: Web): Web {
  const tab = new Web(web.address, web.host, web.headers)
  for (const [name, value] of web.cookies) tab.cookies.set(name, value)
  tab.last = web.last
  return tab
}

describe('one code in many spellings', () => {
  const inScript = (digits: string, zero: number) =>
    Array.from(digits, (digit) => String.fromCodePoint(zero + Number(digit))).join('')
  const spellings: Record<string, (digits: string) => string> = {
    'as it is': (digits) => digits,
    'in groups, with spaces': (digits) => digits.replace(/(\d{3})/g, '$1 '),
    'with no-break spaces': (digits) => digits.replace(/(\d{3})/g, '$1\u00a0'),
    'with dashes of every length': (digits) => digits.replace(/^(\d{3})(\d{3})/, '$1\u2013$2\u2014'),
    'with joiners and direction marks': (digits) => `\u202e${digits.replace(/(\d)/g, '$1\u200d')}\u200f\u2069`,
    'full width': (digits) => inScript(digits, 0xff10),
    'Arabic-Indic': (digits) => inScript(digits, 0x0660),
    Devanagari: (digits) => inScript(digits, 0x0966),
    'mathematical bold': (digits) => inScript(digits, 0x1d7ce),
    'half one script, half another': (digits) =>
      inScript(digits.slice(0, 4), 0x0660) + inScript(digits.slice(4), 0xff10),
  }

  it('UC-03: a wrong code in ten spellings counts ten times on one counter', async () => {
    const { user, web } = await makeSignedInUser(service, await somewhere(service))
    const wrong = madeUp()
    const statuses: number[] = []
    for (const spell of Object.values(spellings)) statuses.push((await web.enterCode(spell(wrong))).status)
    expect(statuses).toEqual([400, 400, 400, 400, 400, 429, 429, 429, 429, 429])
    expect(await entriesOf(service, user)).toEqual(Array.from({ length: 5 }, () => 'missed'))
  })

  it.each(Object.entries(spellings))('UC-03: a right code is recognised %s', async (_name, spell) => {
    const { user, web } = await makeSignedInUser(service, await somewhere(service))
    const { user_code } = await service.device().code()
    expect((await web.enterCode(spell(user_code))).status).toBe(200)
    expect(await codeRow(service, user_code)).toMatchObject({ claimed_by: user.id })
  })

  it('UC-03: a code with leading zeros added is another code, and a miss', async () => {
    const { user, web } = await makeSignedInUser(service, await somewhere(service))
    const { user_code } = await service.device().code()
    expect((await web.enterCode(`0${user_code}`)).status).toBe(400)
    expect((await web.enterCode(`00${user_code}`)).status).toBe(400)
    expect(await entriesOf(service, user)).toEqual(['missed', 'missed'])
    expect(await codeRow(service, user_code)).toMatchObject(UNTOUCHED)
  })

  it.each(['x', '½', '²', '一', '①', "'", '%', '\u0000', '<'])(
    'UC-03: what has %j among its digits is refused before any code is looked for',
    async (odd) => {
      const { user, web } = await makeSignedInUser(service, await somewhere(service))
      const { user_code } = await service.device().code()
      // ² and ① are digits after normalisation: an additional one must not make another valid code.
      const spellings = Array.from(user_code, (_, at) => `${user_code.slice(0, at)}${odd}${user_code.slice(at)}`)
      const code = spellings.find((text) => readTypedCode(text).answer === 'mistyped') ?? ''
      await web.get('/connect/code')
      const { result, statements } = await statementsOf(() => web.submit('/connect/code', { code }))
      expect(result.status).toBe(400)
      expect(statements.filter((text) => text.includes('device_codes') || text.includes('code_entries'))).toEqual([])
      expect(await entriesOf(service, user)).toEqual([])
      expect(await codeRow(service, user_code)).toMatchObject(UNTOUCHED)
    },
  )
})

describe('one answer', () => {
  type Seen = { readonly answer: string; readonly statements: readonly string[] }
  const codes: Record<string, string> = {}
  const seen: Record<string, Seen> = {}

  beforeAll(async () => {
    const account = await makeAccount(service.context.db)
    const administrator = await makeUser(service.context.db, account.slug)
    const barred = await makeApplication(service.context.db, service.config, account.slug)
    await service.context.applications.refresh()
    const rules = {
      deviceFlow: true,
      secondFactor: 'optional' as const,
      unverifiedPublishers: true,
      onlyApplications: [service.application.id],
    }
    await savePolicy(service.context, administrator.id, rules)
    const device = service.device()
    const expired = await device.code()
    await service.database.advance(16 * MINUTE)
    const [rejected, collected, claimed, closed] = [
      await device.code(),
      await device.code(),
      await device.code(),
      await device.code(),
    ]
    await service.reject(rejected.user_code)
    await service.grant(collected.user_code)
    await device.poll(collected.device_code)
    const first = await makeSignedInUser(service, await somewhere(service))
    const second = await makeSignedInUser(service, await somewhere(service))
    await first.web.enterCode(claimed.user_code)
    await first.web.enterCode(closed.user_code)
    await second.web.enterCode(closed.user_code)
    const open = await service.device('oauth', barred).code()
    const made = { expired, rejected, collected, claimed, closed, barred: open }
    codes.unknown = madeUp()
    for (const [name, { user_code }] of Object.entries(made)) codes[name] = user_code
    codes['claimed, seen again'] = claimed.user_code

    const { user, web } = await makeSignedInUser(service, { account, headers: someNetwork() })
    for (const [name, code] of Object.entries(codes)) {
      await web.get('/connect/code')
      const { result, statements } = await statementsOf(() => web.submit('/connect/code', { code }))
      const said = name.startsWith('claimed') ? CLOSED : NOT_RECOGNISED
      expect(textOf(result.text), name).toContain(said)
      seen[name] = { answer: `${result.status} ${alike(result)}`, statements }
    }
    const entries = ['missed', 'known', 'known', 'known', 'claimed', 'known', 'known', 'known']
    expect(await entriesOf(service, user), 'the open code counts towards a crowd').toEqual(entries)
    expect(await codeRow(service, claimed.user_code)).toMatchObject({ claimed_by: first.user.id, entry_closed: true })
    expect(await codeRow(service, open.user_code)).toMatchObject(UNTOUCHED)
  })

  it.each(['expired', 'rejected', 'collected', 'closed', 'barred'])(
    'UC-19: a code that is %s has the status, the headers and the body of one that never was',
    (name) => expect(seen[name]?.answer).toBe(seen.unknown?.answer),
  )

  it.each(['expired', 'rejected', 'collected', 'closed', 'barred', 'claimed, seen again'])(
    'UC-19: a code that is %s takes the statements that one takes that never was',
    (name) => expect(seen[name]?.statements).toEqual(seen.unknown?.statements),
  )

  it('UC-19: only the entry that closed a code is told so, now and later', () => {
    expect(seen['claimed, seen again']?.answer).toBe(seen.claimed?.answer)
    expect(seen.claimed?.answer).not.toBe(seen.unknown?.answer)
  })

  it('UC-19: a claimed code takes four more statements, once: they close it, record it in both accounts, and check for a crowd', () => {
    const [usual, claimed] = [seen.unknown?.statements ?? [], seen.claimed?.statements ?? []]
    const more = claimed.filter((statement) => !usual.includes(statement))
    expect(more).toEqual([
      expect.stringMatching(/^update device_codes /),
      expect.stringMatching(/insert into audit_events/),
      expect.stringMatching(/insert into audit_events/),
      expect.stringMatching(/^select count\(distinct user_id\)/),
    ])
    expect(claimed.filter((statement) => !more.includes(statement))).toEqual(usual)
  })
})

/** A page with its headers, without nonce, form tokens and input. */
function alike({ text, headers }: Page): string {
  // The waiting time decreases every second, and each request has its own id.
  const { date: _date, 'content-length': _length, 'retry-after': _wait, 'x-request-id': _id, ...rest } = headers
  const told = JSON.stringify(rest) + text
  return told
    .replace(/nonce-[\w+/=]+|nonce="[^"]*"/g, 'nonce')
    .replace(/name="token" value="[^"]*"/g, 'token')
    .replace(/(<input id="app-code"[^>]*) value="[^"]*"/g, '$1')
}
