/** Processes of a cell that are killed in the middle of a hand-over or a delivery. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../../tools/free-port.ts'
import { startTestCells, type TestCells } from '../rig/cells.ts'
import { collect, Device } from '../rig/device.ts'
import { type ServerProcess, startServerProcess } from '../rig/process/server-process.ts'
import { A, B, cellOf, factsOf, grantIn, grantWithRetries, HOME } from './cells-scene.ts'

let all: TestCells
beforeAll(async () => {
  all = await startTestCells({ POLL_INTERVAL: '1' })
}, 300_000)
afterAll(() => all?.stop())

/** A process of this cell, to which the proxy leads from now on. */
async function startProcess(id: number): Promise<ServerProcess & { readonly device: Device }> {
  const { url, proxy } = cellOf(all, id)
  const port = String(await freePort())
  const server = await startServerProcess({
    DATABASE_URL: url,
    CELL: String(id),
    PORT: port,
    PUBLIC_URL: 'http://service.example',
    POLL_INTERVAL: '1',
  })
  proxy.leadTo(Number(port))
  return { ...server, device: new Device(server.address, all.application) }
}

test('the issuer is killed after another cell has given the code back, before it is handed on', async () => {
  const [before, user] = [await all.makeMember(HOME), await all.makeMember(A)]
  const server = await startProcess(B)
  const code = await server.device.code()
  expect((await all.enter(HOME, before, code.user_code)).outcome).toBe('claimed')
  await cellOf(all, HOME).pool.query('update device_codes set claimed_by = null')
  cellOf(all, HOME).proxy.pauseNext('give-back', 'answered', () => server.kill('SIGKILL'))
  await expect(grantIn(all, A, user, code.user_code)).rejects.toThrow('cell 2 does not answer')
  const next = await startProcess(B)
  expect((await next.device.poll(code.device_code)).body.error).toBe('auth_pending')
  expect(await grantWithRetries(all, A, user, code.user_code)).toBe('granted')
  expect((await collect(next.device, code.device_code)).status).toBe(200)
  await expect.poll(() => factsOf(all, code)).toEqual({ holders: [A], grants: 1, statuses: ['used'] })
  await next.kill('SIGKILL')
})

test('the issuer is killed with the outcome in its hands', async () => {
  const user = await all.makeMember(A)
  const server = await startProcess(B)
  const code = await server.device.code()
  expect(await grantIn(all, A, user, code.user_code)).toBe('granted')
  cellOf(all, A).proxy.pauseNext('look', 'answered', () => server.kill('SIGKILL'))
  await expect(server.device.poll(code.device_code)).rejects.toThrow()
  const next = await startProcess(B)
  expect((await collect(next.device, code.device_code)).status).toBe(200)
  await expect.poll(() => factsOf(all, code)).toEqual({ holders: [A], grants: 1, statuses: ['used'] })
  expect((await next.device.poll(code.device_code)).body.error).toBe('invalid')
  await next.kill('SIGKILL')
})

test('the cell that has the code is killed after it has leased the outcome', async () => {
  const user = await all.makeMember(A)
  const [issuer, holder] = [await startProcess(B), await startProcess(A)]
  const code = await issuer.device.code()
  expect(await grantIn(all, A, user, code.user_code)).toBe('granted')
  cellOf(all, A).proxy.loseNext('look', 'answered')
  cellOf(all, A).proxy.pauseNext('look', 'answered', () => holder.kill('SIGKILL'))
  expect((await issuer.device.poll(code.device_code)).body.error).toBe('auth_pending')
  expect((await issuer.device.poll(code.device_code)).status).toBe(400)
  const next = await startProcess(A)
  expect((await collect(issuer.device, code.device_code)).status).toBe(200)
  await expect.poll(() => factsOf(all, code)).toEqual({ holders: [A], grants: 1, statuses: ['used'] })
  await Promise.all([issuer.kill('SIGKILL'), next.kill('SIGKILL')])
})
