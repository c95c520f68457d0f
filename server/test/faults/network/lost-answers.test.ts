/**
 * docs/interface/device-flow.md, "Delivery":
 * an answer that was not sent is not lost, and one that was is not sent again.
 */
import { mkdtempSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { LEASE_MS } from '../../../src/core/device/code.ts'
import { grantDeviceCode, rejectDeviceCode } from '../../../src/flows/device/decide.ts'
import { enterUserCode } from '../../../src/flows/device/enter-code.ts'
import { grant } from '../../rig/connect.ts'
import { Device, type WireVariant, withoutExpiresIn } from '../../rig/device.ts'
import { engineUrl } from '../../rig/engines/database.ts'
import { makeUser } from '../../rig/make.ts'
import { startServerProcess } from '../../rig/process/server-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { signInAs } from '../../rig/signed-in.ts'
import { codeRow, collected, digestOf } from '../../rig/witness.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService({ REDIS_URL: engineUrl('REDIS_URL') }, { clock: true })
})
afterAll(() => service.stop())

type Outcome = 'accepted' | 'rejected' | 'expired'
const variants: WireVariant[] = ['oauth', 'key']

/** A code with a final outcome that was not polled yet. */
async function decided(outcome: Outcome, variant: WireVariant = 'oauth') {
  const device = service.device(variant)
  const code = await device.code({ state: 'kept' })
  if (outcome === 'accepted') expect(await service.grant(code.user_code)).toBe('granted')
  if (outcome === 'rejected') expect(await service.reject(code.user_code)).toBe('rejected')
  if (outcome === 'expired') await service.database.advance(600_001)
  return { device, code }
}

const heard = (answer: { status: number; body: { error?: string } }) =>
  answer.status === 200 ? 'accepted' : (answer.body.error ?? '').replace('auth_', '')

/** Locks the row of a code; `locked` resolves after those who asked for it earlier. */
async function lockRow(userCode: string) {
  const client = new pg.Client({ connectionString: service.database.url })
  await client.connect()
  await client.query('begin')
  const digest = digestOf(service, userCode)
  const locked = client.query('select from device_codes where user_code_digest = $1 for update', [digest])
  return { locked, unlock: () => client.query('rollback').then(() => client.end()) }
}

/** Sends a poll on a connection that can be broken. */
function sendPoll(device: Device, deviceCode: string, headers: Readonly<Record<string, string>> = {}) {
  const { hostname, port } = new URL(device.address)
  const body = new URLSearchParams({ ...device.credentials, device_code: deviceCode }).toString()
  const socket: Socket = connect(Number(port), hostname)
  const sent = { socket, received: '' }
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    sent.received += chunk
  })
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(
    `POST /auth/${device.variant}/device/polling HTTP/1.1\r\nhost: x\r\n${lines.join('')}content-length: ${body.length}\r\n` +
      `content-type: application/x-www-form-urlencoded\r\n\r\n${body}`,
  )
  return sent
}

/** Sends a poll and returns its socket, with the row locked so that it cannot be answered yet. */
async function pollWhileLocked(device: Device, deviceCode: string, userCode: string) {
  const { locked, unlock } = await lockRow(userCode)
  await locked
  const { socket } = sendPoll(device, deviceCode)
  await sleep(200)
  return { socket, unlock }
}

describe.each<Outcome>(['accepted', 'rejected', 'expired'])('an outcome that is %s', (outcome) => {
  it.each(['reset', 'ended'] as const)(
    'F03: is kept when the connection was %s before the answer: the next poll has it at once',
    async (how) => {
      const { device, code } = await decided(outcome)
      const { socket, unlock } = await pollWhileLocked(device, code.device_code, code.user_code)
      if (how === 'reset') socket.resetAndDestroy()
      else socket.destroy()
      await sleep(100)
      await unlock()
      await sleep(300)
      expect(heard(await device.poll(code.device_code))).toBe(outcome)
      expect(heard(await device.poll(code.device_code))).toBe('invalid')
    },
  )

  it('is repeated to the same poll, recognised by its Idempotency-Key, and to no other', async () => {
    const { device, code } = await decided(outcome)
    const key = { 'idempotency-key': 'one poll' }
    const again = { 'idempotency-key': 'one-poll-4711' }
    const first = await device.poll(code.device_code, again)
    expect(heard(first)).toBe(outcome)
    for (let repetition = 0; repetition < 3; repetition += 1) {
      const repeated = await device.poll(code.device_code, again)
      expect([repeated.status, withoutExpiresIn(repeated.text)]).toEqual([first.status, withoutExpiresIn(first.text)])
    }
    expect(heard(await device.poll(code.device_code))).toBe('invalid')
    expect(heard(await device.poll(code.device_code, key))).toBe('invalid')
    expect(heard(await device.poll(code.device_code, { 'idempotency-key': 'another' }))).toBe('invalid')
  })

  it('is answered to every poll of a burst with one Idempotency-Key, with the same credentials', async () => {
    const { device, code } = await decided(outcome)
    const polls = Array.from({ length: 8 }, () => device.poll(code.device_code, { 'idempotency-key': 'burst' }))
    const answers = await Promise.all(polls)
    expect(new Set(answers.map((answer) => withoutExpiresIn(answer.text))).size).toBe(1)
    expect(answers.map(heard)).toEqual(answers.map(() => outcome))
  })
})

describe('a client that disconnects right after the answer', () => {
  const leave = {
    'with its first bytes': (socket: Socket) => socket.once('data', () => socket.resetAndDestroy()),
    'without having read it': (socket: Socket) => {
      socket.pause()
      setTimeout(() => socket.resetAndDestroy(), 200)
    },
  }
  it.each(Object.keys(leave) as (keyof typeof leave)[])(
    'F04: %s: the answer counts as sent, and the user can see and revoke the access that nobody uses',
    async (how) => {
      const user = await makeUser(service.context.db, service.account.slug)
      const { device, deviceCode, userCode, grantId } = await grant(service, { user })
      leave[how](sendPoll(device, deviceCode).socket)
      await collected(service, userCode)
      expect(heard(await device.poll(deviceCode))).toBe('invalid')
      const web = await signInAs(service, user)
      expect((await web.get('/applications')).text).toContain(`/applications/remove?grant=${grantId}`)
    },
  )
})

/** A poll that is held, of a code that a user has entered. */
async function heldPoll(headers: Readonly<Record<string, string>> = {}) {
  const device = service.device()
  const code = await device.code()
  const { context, user } = service
  const entered = await enterUserCode(context, user.id, code.user_code)
  if (entered.outcome !== 'claimed') throw new Error(entered.outcome)
  const poll = sendPoll(device, code.device_code, { prefer: 'wait=20', ...headers })
  await expect.poll(() => context.heldPolls.count).toBe(1)
  const decide = (decision: 'grant' | 'reject') =>
    (decision === 'grant' ? grantDeviceCode : rejectDeviceCode)(context, user.id, entered.code)
  return { device, code, poll, decide }
}

describe.each([
  { decision: 'grant', outcome: 'accepted' },
  { decision: 'reject', outcome: 'rejected' },
] as const)('a held poll whose client disconnects when the user decides to $decision', ({ decision, outcome }) => {
  it.each(['reset', 'ended'] as const)(
    'F03: before the answer, with the connection %s: the next poll has the outcome, once',
    async (how) => {
      const { device, code, poll, decide } = await heldPoll()
      // The decision waits for the first lock, and the second one for the decision: so the poll comes last.
      const first = await lockRow(code.user_code)
      await first.locked
      const deciding = decide(decision)
      await sleep(200)
      const second = await lockRow(code.user_code)
      await sleep(100)
      await first.unlock()
      await Promise.all([deciding, second.locked])
      await sleep(200)
      expect(poll.received).toBe('')
      if (how === 'reset') poll.socket.resetAndDestroy()
      else poll.socket.destroy()
      await sleep(100)
      await second.unlock()
      await sleep(300)
      expect(heard(await device.poll(code.device_code))).toBe(outcome)
      expect(heard(await device.poll(code.device_code))).toBe('invalid')
    },
  )

  describe.each([0, 5, 20, 50])('%i ms after the decision', (afterMs) => {
    it('the same poll, recognised by its Idempotency-Key, has the outcome, and no other poll has', async () => {
      const key = { 'idempotency-key': 'held' }
      const { device, code, poll, decide } = await heldPoll(key)
      await decide(decision)
      await sleep(afterMs)
      poll.socket.destroy()
      await sleep(500)
      expect(heard(await device.poll(code.device_code, key))).toBe(outcome)
      expect(heard(await device.poll(code.device_code))).toBe('invalid')
      expect(heard(await device.poll(code.device_code, key))).toBe(outcome)
    })

    it('without a key the next poll has the outcome, unless the answer counts as sent', async () => {
      const { device, code, poll, decide } = await heldPoll()
      await decide(decision)
      await sleep(afterMs)
      poll.socket.destroy()
      await sleep(500)
      const sent = (await codeRow(service, code.user_code))?.status === 'used'
      if (poll.received !== '') expect(sent).toBe(true)
      expect(heard(await device.poll(code.device_code))).toBe(sent ? 'invalid' : outcome)
      expect(heard(await device.poll(code.device_code))).toBe('invalid')
    })
  })
})

describe.each(variants)('SIGKILL after the commit and before the answer, %s variant', (variant) => {
  it('F01: the next poll after the lease gets the same credentials with their remaining lifetime; after a completed answer, invalid', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'latchkey-kill-'))
    const record = join(folder, 'would-have-been-sent')
    const environment = { DATABASE_URL: service.database.url, REDIS_URL: engineUrl('REDIS_URL') }
    const preload = new URL('../process/kill-before-send.ts', import.meta.url)
    const doomed = await startServerProcess({ ...environment, KILL_RECORD: record }, { preload })
    const { code } = await decided('accepted', variant)

    const atDoomed = new Device(doomed.address, service.application, variant)
    await expect(atDoomed.poll(code.device_code)).rejects.toThrow()
    await doomed.exited
    const unsent = readFileSync(record, 'utf8')
    const device = service.device(variant)
    // Another process cannot know yet that the first one is dead. It must not answer anything final.
    expect((await device.poll(code.device_code)).body.error).toMatch(/^(auth_pending|slow_down)$/)
    await service.database.advance(LEASE_MS)
    const answer = await device.poll(code.device_code)
    expect([answer.status, withoutExpiresIn(answer.text)]).toEqual([200, withoutExpiresIn(unsent)])
    if (variant === 'oauth') {
      expect(answer.body.expires_in).toBeLessThanOrEqual(3600 - LEASE_MS / 1000)
      expect(answer.body.expires_in).toBeGreaterThan(3600 - 60)
    }
    expect(heard(await device.poll(code.device_code))).toBe('invalid')
    removeFolder(folder)
  })

  it('DC-20: a minute later the access token is issued anew, from the same grant', async () => {
    const { device, code } = await decided('accepted', variant)
    const { socket, unlock } = await pollWhileLocked(device, code.device_code, code.user_code)
    socket.resetAndDestroy()
    await unlock()
    await sleep(300)
    const issuedAt = () =>
      service.database.query<{ at: Date | null }>(
        'select issued_at as at from grants g join device_codes d on d.id = g.device_code_id where d.user_code_digest = $1',
        [digestOf(service, code.user_code)],
      )
    const [first] = await issuedAt()
    await service.database.advance(61_000)
    expect((await device.poll(code.device_code)).status).toBe(200)
    const [second] = await issuedAt()
    expect(Number(second?.at) - Number(first?.at)).toBeGreaterThanOrEqual(61_000)
  })
})
