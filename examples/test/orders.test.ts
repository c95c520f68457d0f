/** The API, and the command-line tool that calls it. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { connect } from '../../server/test/rig/connect.ts'
import { onFreePort } from '../../tools/free-port.ts'
import { codeOf, useTrying } from './rig/trying.ts'

const trying = useTrying()

function startApi(): Promise<string> {
  return onFreePort(async (port) => {
    await trying.start('api/server.ts', { PORT: String(port) }).says(/The API is at/)
    return `http://127.0.0.1:${port}`
  })
}

test('the API accepts credentials with the scope, and names the lacking scope otherwise', async () => {
  const api = await startApi()
  const orders = (credential: string | null, init: RequestInit = {}) =>
    fetch(`${api}/orders`, {
      ...init,
      headers: { 'content-type': 'application/json', ...(credential ? { authorization: `Bearer ${credential}` } : {}) },
    })
  const reads = await connect(trying.service, { scope: 'orders:read', variant: 'key' })
  const writes = await connect(trying.service, { scope: 'orders:read,orders:write' })
  expect((await orders(null)).status).toBe(401)
  expect((await orders(`${reads.credential.slice(0, -2)}xx`)).status).toBe(401)
  const body = JSON.stringify({ what: 'a stapler' })
  expect((await orders(reads.credential, { method: 'POST', body })).status).toBe(403)
  expect((await orders(writes.credential, { method: 'POST', body })).status).toBe(201)
  const listed = await orders(reads.credential)
  expect(await listed.json()).toEqual({
    account: trying.service.account.slug,
    orders: [
      { id: 1, what: 'two bottles of ink' },
      { id: 2, what: 'a stapler' },
    ],
  })
})

test('the command-line tool logs in with a code, lists the orders of the API, and logs out', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-orders-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const environment = { ORDERS_API_URL: await startApi(), XDG_CONFIG_HOME: folder }
  const orders = (command: string) => trying.start('command-line/orders.ts', environment, [command])

  const before = orders('list')
  await before.says(/You are not logged in/)
  expect(await before.ended).toBe(1)

  const login = orders('login')
  await trying.service.grant(await codeOf(login))
  await login.says(/You are logged in/)
  expect(await login.ended).toBe(0)

  const list = orders('list')
  expect(await list.ended).toBe(0)
  expect(list.stdout()).toBe('1\ttwo bottles of ink\n')

  const logout = orders('logout')
  await logout.says(/the access is revoked/)
  expect(await logout.ended).toBe(0)
  expect(await orders('list').ended).toBe(1)

  const refused = orders('login')
  await trying.service.reject(await codeOf(refused))
  await refused.says(/rejected/)
  expect(await refused.ended).toBe(1)
})
