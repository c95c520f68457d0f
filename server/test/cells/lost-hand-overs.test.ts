/**
 * Hand-overs between cells with every question, every answer and half of every answer lost: one code, one grant, one set of
 * credentials, whatever happens.
 */
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestCells, type TestCells } from '../rig/cells.ts'
import { type CodeRecord, collect } from '../rig/device.ts'
import type { Loss } from '../rig/network/cell-proxy.ts'
import { A, B, cellOf, factsOf, grantIn, grantWithRetries, HOME } from './cells-scene.ts'

let all: TestCells
beforeAll(async () => {
  all = await startTestCells({ POLL_INTERVAL: '1' })
}, 300_000)
afterAll(() => all?.stop())

const LOSSES: readonly Loss[] = ['asked', 'answered', 'half']
const proxyOf = (id: number) => cellOf(all, id).proxy
const cases = (questions: readonly string[]) => questions.flatMap((each) => LOSSES.map((loss) => [each, loss] as const))

describe('between the request in B and the delivery, one loss', () => {
  test.each(cases(['hand-over', 'look', 'settle', 'decided']))('of %s, %s', async (question, loss) => {
    const user = await all.makeMember(A)
    const device = all.device(B)
    const code = await device.code()
    // B answers `hand-over` and `decided`, A the others.
    const answering = question === 'hand-over' || question === 'decided' ? B : A
    if (question !== 'look') proxyOf(answering).loseNext(question, loss)
    expect(await grantWithRetries(all, A, user, code.user_code)).toBe('granted')
    if (question === 'look') proxyOf(answering).loseNext(question, loss)
    const answer = await collect(device, code.device_code)
    expect(answer.status).toBe(200)
    await sleep(1_000)
    expect((await device.poll(code.device_code)).body.error).toBe('invalid')
    await expectDelivered(code, [A])
  })
})

describe('a code that another cell has to give back, with a loss', () => {
  test.each(cases(['give-back']))('of %s, %s', async (question, loss) => {
    const code = await all.device(B).code()
    expect((await all.enter(HOME, await all.makeMember(HOME), code.user_code)).outcome).toBe('claimed')
    await cellOf(all, HOME).pool.query('update device_codes set claimed_by = null')
    proxyOf(HOME).loseNext(question, loss)
    const user = await all.makeMember(A)
    await expect(grantIn(all, A, user, code.user_code)).rejects.toThrow('does not answer')
    expect((await all.device(B).poll(code.device_code)).body.error).toBe('auth_pending')
    // The code can be claimed again: in the cell that has given it back already, and in another one.
    const next = loss === 'answered' ? HOME : A
    const who = next === A ? user : await all.makeMember(HOME)
    expect(await grantWithRetries(all, next, who, code.user_code)).toBe('granted')
    expect((await collect(all.device(B), code.device_code)).status).toBe(200)
    await expectDelivered(code, [next])
  })
})

test('an answer that arrives after the code was handed on changes nothing', async () => {
  const [late, user] = [await all.makeMember(A), await all.makeMember(HOME)]
  const code = await all.device(B).code()
  let granted = ''
  proxyOf(B).pauseNext('hand-over', 'answered', async () => {
    granted = await grantIn(all, HOME, user, code.user_code)
  })
  // The answer for A waits until a user of the home cell has granted the code.
  expect((await all.enter(A, late, code.user_code)).outcome).toBe('not_recognised')
  expect(granted).toBe('granted')
  expect(await factsOf(all, code)).toMatchObject({ holders: [HOME], grants: 1 })
  expect((await collect(all.device(B), code.device_code)).status).toBe(200)
  await expectDelivered(code, [HOME])
})

test('a question that arrives late, after a later one was answered, takes nothing away', async () => {
  const [first, second] = [await all.makeMember(A), await all.makeMember(A)]
  const code = await all.device(B).code()
  let granted = ''
  proxyOf(B).pauseNext('hand-over', 'asked', async () => {
    granted = await grantIn(all, A, second, code.user_code)
  })
  expect((await all.enter(A, first, code.user_code)).outcome).toBe('not_recognised')
  expect(granted).toBe('granted')
  expect((await collect(all.device(B), code.device_code)).status).toBe(200)
  await expectDelivered(code, [A])
})

test('users of three cells who enter a code at the same moment: one has it, or it is closed', async () => {
  const members = await Promise.all([HOME, A, B].map((id) => all.makeMember(id)))
  for (let round = 0; round < 10; round += 1) {
    const code = await all.device(B).code()
    const outcomes = await Promise.all(
      [HOME, A, B].map((id) => grantWithRetries(all, id, members[id] ?? { id: '', email: '' }, code.user_code)),
    )
    const { holders, grants } = await factsOf(all, code)
    expect(holders).toHaveLength(1)
    expect(grants).toBe(outcomes.filter((outcome) => outcome === 'granted').length)
    expect(grants).toBeLessThanOrEqual(1)
    const poll =
      grants === 1 ? await collect(all.device(B), code.device_code) : await all.device(B).poll(code.device_code)
    expect([poll.status, poll.body.error]).toEqual(grants === 1 ? [200, undefined] : [400, 'auth_pending'])
  }
})

test('the device disconnects while the outcome is on its way from the other cell: its next poll gets it', async () => {
  const user = await all.makeMember(A)
  const device = all.device(B)
  const code = await device.code()
  expect(await grantIn(all, A, user, code.user_code)).toBe('granted')
  const leaving = new AbortController()
  proxyOf(A).pauseNext('look', 'answered', async () => leaving.abort())
  const form = new URLSearchParams({ ...device.credentials, device_code: code.device_code })
  const polled = fetch(`${device.address}/auth/oauth/device/polling`, {
    method: 'POST',
    body: form,
    signal: leaving.signal,
  })
  await expect(polled).rejects.toThrow()
  expect((await collect(device, code.device_code)).status).toBe(200)
  await expectDelivered(code, [A])
  expect((await device.poll(code.device_code)).body.error).toBe('invalid')
})

test('a question that breaks off within its body is no unexpected error', async () => {
  const { service } = cellOf(all, A)
  const { hostname, port } = new URL(service.address)
  const unexpected = () => JSON.stringify(service.context.counts.unexpected.family().samples)
  const before = unexpected()
  const socket = connect(Number(port), hostname)
  socket.write('POST /cells/look HTTP/1.1\r\nhost: x\r\nlatchkey-cell-mac: x\r\ncontent-length: 100\r\n\r\n{')
  await sleep(200)
  socket.destroy()
  await sleep(500)
  expect(unexpected()).toBe(before)
})

/** The response is confirmed after it was sent. */
async function expectDelivered(code: CodeRecord, holders: readonly number[]): Promise<void> {
  await expect.poll(() => factsOf(all, code), { timeout: 20_000 }).toEqual({ holders, grants: 1, statuses: ['used'] })
}
