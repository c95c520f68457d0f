/** WB-08, UC-19: how long an answer takes tells neither whether a user exists nor what became of a code. Method: rig/timing.ts. */
import { randomBytes, randomInt } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { checkDigit } from '../../../src/core/device/user-code.ts'
import { makeAccount, makeUser } from '../../rig/make.ts'
import { needs } from '../../rig/origins/needs.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { makeSignedInUser } from '../../rig/signed-in.ts'
import { figure, sized } from '../../rig/size.ts'
import { expectEqualTimes } from '../../rig/timing.ts'
import { formFields, type Page } from '../../rig/web.ts'

const SIGN_INS = sized(10_000, 40)
const ENTRIES = sized(1_000, 60)

/** The short form sees only whether a step is missing, such as hashing a password. */
const LONGER = sized(1.5, 4)

/** Each sign-in hashes a password. */
const TIMEOUT_MS = sized(3 * 3_600_000, 120_000)

/** An address is locked after ten failures. */
const ROUNDS_PER_ACCOUNT = 9

let service: TestService
beforeAll(async () => {
  service = await startTestService({ SIGN_IN_ADDRESSES_PER_NETWORK: '1000000', SIGN_IN_FAILURES: '10000000' })
})
afterAll(() => service.stop())

async function timed(answer: () => Promise<Page>, status: number): Promise<number> {
  const begun = process.hrtime.bigint()
  const page = await answer()
  const micros = Number(process.hrtime.bigint() - begun) / 1_000
  expect(page.status).toBe(status)
  return micros
}

it(`WB-08: ${figure(SIGN_INS)} wrong sign-ins each of an unknown address, a user and a disabled user take equally long`, {
  ...needs('password'),
  timeout: TIMEOUT_MS,
}, async () => {
  const inAccount = async () => {
    const { slug } = await makeAccount(service.context.db)
    const [user, disabled] = [
      await makeUser(service.context.db, slug, { password: 'correct horse battery staple' }),
      await makeUser(service.context.db, slug, { password: 'correct horse battery staple' }),
    ]
    await service.database.query('update users set disabled_at = now() where id = $1', [disabled.id])
    return { slug, user: user.email, disabled: disabled.email }
  }
  let there = await inAccount()
  let rounds = 0
  await expectEqualTimes({
    rounds: SIGN_INS,
    warmUp: 5,
    longer: LONGER,
    classes: {
      unknown: () => `nobody-${randomBytes(4).toString('hex')}@acme.example`,
      user: () => there.user,
      'disabled user': () => there.disabled,
    },
    time: (email) => {
      const web = service.web({}, there.slug)
      return timed(
        () => web.send('POST', '/sign-in', { email, password: 'wrong horse battery staple', next: '/' }),
        400,
      )
    },
    afterRound: async () => {
      rounds += 1
      if (rounds % ROUNDS_PER_ACCOUNT !== 0) return
      // A network has a budget as well.
      await service.database.query('delete from sign_in_failures')
      there = await inAccount()
    },
  })
})

it(`UC-19: ${figure(ENTRIES)} entries each of a code that never was, a rejected one and a collected one take equally long`, {
  timeout: TIMEOUT_MS,
}, async () => {
  const device = service.device()
  const [rejected, collected] = [await device.code(), await device.code()]
  await service.reject(rejected.user_code)
  await service.grant(collected.user_code)
  await device.poll(collected.device_code)
  const { user, web } = await makeSignedInUser(service)
  const form = formFields((await web.get('/connect/code')).text, '/connect/code')
  await expectEqualTimes({
    rounds: ENTRIES,
    warmUp: 10,
    longer: LONGER,
    classes: {
      'never was': () => {
        const digits = String(randomInt(10 ** 8)).padStart(8, '0')
        return digits + checkDigit(digits)
      },
      rejected: () => rejected.user_code,
      collected: () => collected.user_code,
    },
    time: (code) => timed(() => web.send('POST', '/connect/code', { ...form, code }), 400),
    // Otherwise five misses lock the entry.
    afterRound: () => service.database.query('delete from code_entries where user_id = $1', [user.id]),
  })
})
