/** Concurrent clients of a running service have histories that the contract allows. At length: verify-races.ts. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { MAX_HINT_MS } from '../../src/gate/gate.ts'
import { explain } from '../history/check.ts'
import { type RecordedCode, RecordedCodes } from '../history/recorded-code.ts'
import type { WireVariant } from '../rig/device.ts'
import { type MadeUser, makeAccount, makeUser } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'

const withKey = (key: string | null): Record<string, string> => (key === null ? {} : { 'idempotency-key': key })

let service: TestService
let stranger: MadeUser
const codes = new RecordedCodes()

beforeAll(async () => {
  service = await startTestService()
  const other = await makeAccount(service.context.db)
  stranger = await makeUser(service.context.db, other.slug)
})

afterAll(() => service.stop())

async function requestCode(variant: WireVariant): Promise<RecordedCode> {
  const device = service.device(variant)
  const calledAt = performance.now()
  return codes.add(device, await device.code(), calledAt)
}

const CODES = 8

test.each(['oauth', 'key'] as const)('polls around a decision, on the %s path', async (variant) => {
  const { context, user } = service
  const { failures } = context.gate
  const [own, other] = [service.device(variant), service.device(variant === 'oauth' ? 'key' : 'oauth')]
  await Promise.all(
    Array.from({ length: CODES }, async (_, index) => {
      const code = await requestCode(variant)
      await code.poll(own)
      const entered = await code.enter(context, user)
      if (entered.outcome !== 'claimed') throw new Error(`entering the code: ${entered.outcome}`)
      const grant = () => code.grant(context, user, entered.code)
      const reject = () => code.reject(context, user, entered.code)
      await Promise.all([
        ...(index % 2 === 0 ? [grant(), reject()] : [reject(), grant()]),
        ...Array.from({ length: 3 }, () => code.poll(own)),
      ])
      await code.poll(other)
      await Promise.all(['one', 'two', null, null].map((key) => code.poll(own, withKey(key))))
      for (const key of ['one', 'two', null]) await code.poll(own, withKey(key))
      // While Redis does not answer, which happens on a busy machine, a hint may outlive the decision.
      if (context.gate.failures !== failures) code.history.pendingMayBeOld(MAX_HINT_MS)
      expect(explain(code.history.operations)).toBeNull()
    }),
  )
})

test('a code that users of two accounts enter', async () => {
  const { context, user } = service
  const code = await requestCode('oauth')
  const entered = await code.enter(context, user)
  if (entered.outcome !== 'claimed') throw new Error(`entering the code: ${entered.outcome}`)
  await code.enter(context, stranger)
  await Promise.all([code.grant(context, user, entered.code), code.grant(context, stranger, entered.code)])
  await code.poll(service.device())
  expect(explain(code.history.operations)).toBeNull()
})
