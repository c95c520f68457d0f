/** UC-02: many users guess codes at once, from one network, in one account, and from many networks. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { enterCode } from '../../../src/flows/device/enter-code.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { makeAccount, makeUser } from '../../rig/make.ts'
import { freshNetwork } from '../../rig/network/fresh-network.ts'
import { madeUp, missTimes, someNetwork, somewhere } from '../../rig/scenes/guesses.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { makeSignedInUser, signInAs } from '../../rig/signed-in.ts'
import { figure, sized } from '../../rig/size.ts'
import { textOf } from '../../rig/web.ts'
import { codeRow, digestOf, entriesOf, UNTOUCHED } from '../../rig/witness.ts'

const MINUTE = 60_000
const { t } = wordsFor('en')

let service: TestService
beforeAll(async () => {
  service = await startTestService({ TRUST_PROXY: '127.0.0.1' }, { clock: true })
})
afterAll(() => service.stop())

const NO_SESSION = {
  secondFactor: { administratorSince: null, joinedAt: 0, requiredAt: null, enrolled: false },
  session: { id: '', createdAt: 0, authenticatedAt: 0, secondFactor: false, expiresAt: 0, person: null, lastUsedAt: 0 },
}

describe('a crowd of guessers', () => {
  it('UC-02: thirty misses of a network leave one attempt to users who missed, and all to the others', async () => {
    const headers = someNetwork()
    const anyone = async () => makeSignedInUser(service, { ...(await somewhere(service)), headers })
    for (let guesser = 0; guesser < 6; guesser += 1) await missTimes((await anyone()).web, 5)
    const [late, honest] = [await anyone(), await anyone()]
    const { user_code } = await service.device().code()
    expect((await late.web.enterCode(madeUp())).status, 'the first try').toBe(400)
    expect((await late.web.enterCode(user_code)).status, 'after one miss').toBe(429)
    expect(await codeRow(service, user_code)).toMatchObject(UNTOUCHED)
    expect((await honest.web.enterCode(user_code)).status, 'an honest neighbour').toBe(200)
    expect(await codeRow(service, user_code)).toMatchObject({ claimed_by: honest.user.id })
  })

  it('UC-02: fifty misses in an account do the same to its users, in any network', async () => {
    const account = await makeAccount(service.context.db)
    const guessers = await Promise.all(
      Array.from({ length: 10 }, () => makeSignedInUser(service, { account, headers: someNetwork() })),
    )
    for (const { web } of guessers) await missTimes(web, 5)
    const late = await makeSignedInUser(service, { account, headers: someNetwork() })
    const honest = await makeSignedInUser(service, { account, headers: someNetwork() })
    expect((await late.web.enterCode(madeUp())).status).toBe(400)
    expect((await late.web.enterCode(madeUp())).status).toBe(429)
    expect(await entriesOf(service, late.user)).toEqual(['missed'])
    const { user_code } = await service.device().code()
    expect((await honest.web.enterCode(user_code)).status).toBe(200)
  })

  const ALL = 1_000
  const ENTERED = sized(1_000, 200)

  it(`UC-02: a thousand guesses from everywhere, ${figure(ENTERED)} of them entered, find no code, make new codes two digits longer, and entering one needs a sign-in again`, async () => {
    const { context, database } = service
    // No user is locked: each account has eight users, each in a network of their own.
    const accounts = await Promise.all(Array.from({ length: ENTERED / 40 }, () => makeAccount(context.db)))
    await database.advance(61 * MINUTE)
    await context.liveCodes.recount()
    const live = await Promise.all(Array.from({ length: 150 }, () => service.device().code()))
    await context.liveCodes.recount()
    const usual = (await service.device().code()).user_code.length
    expect([usual, context.liveCodes.guessed]).toEqual([10, false])

    let hits = 0
    let guesses = 0
    await Promise.all(
      accounts.map(async ({ id, slug }) => {
        const account = {
          id,
          slug,
          name: slug,
          colour: null,
          logoVersion: null,
          provider: 'off' as const,
          issuer: null,
        }
        for (let person = 0; person < 8; person += 1) {
          const user = await makeUser(context.db, slug)
          const visitor = {
            ...user,
            origin: 'own' as const,
            breakGlass: false,
            administrator: true,
            language: null,
            chosenLanguage: null,
            ...NO_SESSION,
          }
          const address = `${freshNetwork()}.7`
          for (let guess = 0; guess < 5; guess += 1) {
            const { outcome } = await enterCode(context, account, visitor, madeUp(usual - 1), address)
            guesses += 1
            if (outcome === 'claimed') hits += 1
            else expect(outcome).toBe('not_recognised')
          }
        }
      }),
    )
    // 150 codes among 10⁹ and a thousand guesses: 0.00015 expected hits. Two would be no coincidence.
    expect([guesses, hits < 2]).toEqual([ENTERED, true])
    await context.liveCodes.recount()
    expect(context.liveCodes.guessed, 'by so many, and not by fewer').toBe(ENTERED >= ALL)
    // The rest are inserted as rows: what counts is what happened in the last hour.
    await database.query(
      `insert into code_entries (at, account_id, user_id, outcome)
       select now(), $1, $2, 'missed' from generate_series(1, $3)`,
      [service.account.id, service.user.id, ALL - ENTERED],
    )
    const claimed = await database.query(
      'select from device_codes where user_code_digest = any($1) and claimed_by is not null',
      [live.map(({ user_code }) => digestOf(service, user_code))],
    )
    expect(claimed).toHaveLength(hits)

    await context.liveCodes.recount()
    expect(context.liveCodes.guessed).toBe(true)
    const { account, headers } = await somewhere(service)
    const { web, user } = await makeSignedInUser(service, { account, headers })
    const { user_code } = await service.device().code()
    expect(user_code).toHaveLength(usual + 2)

    await web.get('/connect/code')
    await database.advance(16 * MINUTE)
    const later = await service.device().code()
    await web.submit('/connect/code', { code: later.user_code })
    expect(textOf(web.last?.text ?? ''), 'not entered with a session that is a while old').toContain(t('confirm.title'))
    expect(await codeRow(service, later.user_code)).toMatchObject(UNTOUCHED)
    expect(await entriesOf(service, user)).toEqual([])
    const fresh = await signInAs(service, user, { account, headers: someNetwork() })
    expect((await fresh.enterCode(later.user_code)).status, 'with a fresh one').toBe(200)

    await database.advance(60 * MINUTE)
    await context.liveCodes.recount()
    expect(context.liveCodes.guessed, 'an hour later').toBe(false)
  })
})

describe('a crowd of guessers at a quiet service', () => {
  it('UC-02: new codes are two digits longer also with hardly any live code', async () => {
    const { context, database } = service
    await database.advance(24 * 60 * MINUTE)
    await context.liveCodes.recount()
    const usual = (await service.device().code()).user_code.length
    await database.query(
      `insert into code_entries (at, account_id, user_id, outcome)
       select now(), $1, $2, 'missed' from generate_series(1, 1000)`,
      [service.account.id, service.user.id],
    )
    await context.liveCodes.recount()
    expect(context.liveCodes.guessed).toBe(true)
    const { user_code } = await service.device().code()
    expect(user_code).toHaveLength(usual + 2)
  })
})
