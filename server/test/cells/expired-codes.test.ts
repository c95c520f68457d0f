/** Codes that were handed to another cell and expire there, or never arrived there. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestCells, type TestCells } from '../rig/cells.ts'
import { type CodeRecord, collect } from '../rig/device.ts'
import { A, B, cellOf, factsOf } from './cells-scene.ts'

let all: TestCells
beforeAll(async () => {
  all = await startTestCells({ POLL_INTERVAL: '1', DEVICE_CODE_LIFETIME: '8' })
}, 300_000)
afterAll(() => all?.stop())

async function expectExpiredOnce(code: CodeRecord, holder: number): Promise<void> {
  expect((await collect(all.device(B), code.device_code)).body.error).toBe('auth_expired')
  await expect.poll(() => factsOf(all, code)).toEqual({ holders: [holder], grants: 0, statuses: ['used'] })
  expect((await all.device(B).poll(code.device_code)).body.error).toBe('invalid')
}

test('a code that expires in the cell it was handed to is reported as expired once', async () => {
  const user = await all.makeMember(A)
  const code = await all.device(B).code()
  expect((await all.enter(A, user, code.user_code)).outcome).toBe('claimed')
  await expectExpiredOnce(code, A)
})

test('a code that never arrived is pending until it expires, and is then taken back by its issuer', async () => {
  const user = await all.makeMember(A)
  const code = await all.device(B).code()
  cellOf(all, B).proxy.loseNext('hand-over', 'answered')
  await expect(all.enter(A, user, code.user_code)).rejects.toThrow('does not answer')
  expect((await factsOf(all, code)).holders).toEqual([])
  expect((await all.device(B).poll(code.device_code)).body.error).toBe('auth_pending')
  await expectExpiredOnce(code, B)
})

test('nothing is said about an expired code while the cell that has it is away', async () => {
  const user = await all.makeMember(A)
  const code = await all.device(B).code()
  expect((await all.enter(A, user, code.user_code)).outcome).toBe('claimed')
  cellOf(all, A).proxy.cut()
  await new Promise((resolve) => setTimeout(resolve, 9_000))
  expect((await all.device(B).poll(code.device_code)).body.error).toBe('auth_pending')
  cellOf(all, A).proxy.heal()
  await expectExpiredOnce(code, A)
})
