/** docs/interface/device-flow.md, "Delivery": an answer that breaks off on its way is repeated to the same poll, and to no other. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { grant } from '../../rig/connect.ts'
import { Device, withoutExpiresIn } from '../../rig/device.ts'
import { type FaultProxy, startFaultProxy } from '../../rig/network/fault-proxy.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { sized } from '../../rig/size.ts'
import { collected } from '../../rig/witness.ts'

let service: TestService
let proxy: FaultProxy
beforeAll(async () => {
  service = await startTestService()
  proxy = await startFaultProxy({ port: Number(new URL(service.address).port) })
})
afterAll(async () => {
  await proxy.stop()
  await service.stop()
})

/** Polls a granted code by way of the proxy; null: the answer did not arrive in full. */
async function pollCut(headers: Record<string, string>, bytes: number | null) {
  const { device, deviceCode, userCode } = await grant(service)
  proxy.cutAfter(bytes)
  const far = new Device(`http://127.0.0.1:${proxy.port}`, device.application)
  const answer = await far.poll(deviceCode, { connection: 'close', ...headers }).catch(() => null)
  await collected(service, userCode)
  const poll = async (again: Record<string, string> = {}) => {
    const { status, body, text } = await device.poll(deviceCode, again)
    return status === 200 ? withoutExpiresIn(text) : body.error
  }
  return { answer, poll }
}

const EVERY = sized(1, 37)

it(`F02: an answer that is cut off after any number of bytes (every ${EVERY}): the same poll gets the same credentials, any other invalid`, async () => {
  const whole = await pollCut({}, null)
  const { headers, text } = whole.answer ?? { headers: {}, text: '' }
  const head = Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + String(value).length + 4, 0)
  const length = 'HTTP/1.1 200 OK\r\n'.length + head + 2 + text.length
  expect(length).toBeGreaterThan(400)
  for (let bytes = 0; bytes < length; bytes += EVERY) {
    const unkeyed = await pollCut({}, bytes)
    expect([bytes, unkeyed.answer, await unkeyed.poll()]).toEqual([bytes, null, 'invalid'])
    const key = { 'idempotency-key': `cut after ${bytes}`.replaceAll(' ', '-') }
    const keyed = await pollCut(key, bytes)
    const credentials = expect.stringContaining('"access_token":"lka_')
    expect([bytes, keyed.answer, await keyed.poll(key)]).toEqual([bytes, null, credentials])
    expect(await keyed.poll(key)).toBe(await keyed.poll(key))
    expect(await keyed.poll()).toBe('invalid')
  }
  const grants = await service.database.query('select device_code_id from grants group by 1 having count(*) > 1')
  expect(grants).toEqual([])
})
