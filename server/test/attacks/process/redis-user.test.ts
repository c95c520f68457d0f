/** SC-07: the service with a real Redis that runs deploy/redis/latchkey.conf: the user has what it needs, and nothing else. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { onFreePort } from '../../../../tools/free-port.ts'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { examineRedis } from '../../../src/cli/doctor/redis.ts'
import { openRedis } from '../../../src/gate/redis-link.ts'
import { spawnTied } from '../../rig/process/tied-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

const REFERENCE = new URL('../../../../deploy/redis/latchkey.conf', import.meta.url)
const PASSWORD = 'a-password-of-this-test'

let folder: string
let stopRedis: () => void
let address: string
let service: TestService
let asService: Redis
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'latchkey-redis-'))
  const parts = readFileSync(REFERENCE, 'utf8').split('change-this-password')
  expect(parts).toHaveLength(2)
  writeFileSync(join(folder, 'redis.conf'), parts.join(PASSWORD))
  address = await onFreePort(startRedis)
  const url = `redis://latchkey:${PASSWORD}@${address}`
  asService = new Redis(url)
  service = await startTestService({
    REDIS_URL: url,
    CODE_REQUESTS_PER_NETWORK: '100',
    CODE_REQUESTS_PER_APPLICATION: '2',
    DIALOGS_PER_NETWORK: '100',
  })
})
afterAll(async () => {
  await service?.stop()
  asService?.disconnect()
  stopRedis?.()
  removeFolder(folder)
})

async function startRedis(port: number): Promise<string> {
  const args = [join(folder, 'redis.conf'), '--port', String(port), '--bind', '127.0.0.1', '--dir', folder]
  const child = spawnTied('KILL', 'redis-server', args, { stdio: 'ignore' })
  stopRedis = () => child.kill('SIGKILL')
  for (;;) {
    if (child.exitCode !== null) throw new Error(`EADDRINUSE: Redis ended, probably because port ${port} is taken`)
    const answer = await failure(new Redis(port, { lazyConnect: true, retryStrategy: null }), (redis) => redis.get('p'))
    if (answer.startsWith('NOAUTH')) return `127.0.0.1:${port}`
    await sleep(20)
  }
}

async function failure(redis: Redis, command: (redis: Redis) => Promise<unknown>): Promise<string> {
  redis.on('error', () => {})
  try {
    await command(redis)
    return 'allowed'
  } catch (error) {
    return (error as Error).message
  } finally {
    redis.disconnect()
  }
}

it('SC-07: the service paces polls and counts requests and failed sign-ins there, without a failure', async () => {
  const { context } = service
  const device = service.device()
  const code = await device.code()
  const held = device.poll(code.device_code, { prefer: 'wait=20' })
  await expect.poll(() => context.heldPolls.count).toBe(1)
  await sleep(100)
  expect((await device.poll(code.device_code)).body).toMatchObject({ error: 'slow_down' })
  await service.reject(code.user_code)
  expect((await held).body).toMatchObject({ error: 'auth_rejected' })
  expect((await context.limiter.dialog('192.0.2.0/24')).passed).toBe(true)
  const source = { network: '192.0.2.0/24', accountId: service.account.id }
  await context.signInFailures.count(source, Buffer.from('address'))
  await context.signInFailures.countPasskey(source.network)
  expect(await context.signInFailures.read(source)).toMatchObject({ addresses: 1, account: 1, service: 1 })
  expect(context.gate).toMatchObject({ answers: true, failures: 0 })
  const written = Number(/db0:keys=(\d+)/.exec(await asService.info('keyspace'))?.[1])
  expect(written, 'pace, hint, a count each of requests and dialogs, two of codes, and five of failed sign-ins').toBe(
    11,
  )
})

it('SC-07: the service announces decisions there and hears of them', async () => {
  expect(await asService.publish('decided', 'a code'), 'the number of its subscribers').toBe(1)
})

it('SC-07: the service notices there that Redis answers again', async () => {
  const link = openRedis(`redis://latchkey:${PASSWORD}@${address}`, () => {})
  await expect.poll(() => link.reachable()).toBe(true)
  link.failed('no answer')
  await expect.poll(() => link.answers).toBe(true)
  expect(link.failures).toBe(1)
  await link.close()
})

it('latchkey doctor finds nothing wrong with it', async () => {
  const { findings, clock } = await examineRedis(`redis://latchkey:${PASSWORD}@${address}`)
  expect(findings).toMatchObject([{ severity: 'ok' }])
  expect(clock).not.toBeNull()
})

it.each([
  ['keys', '*'],
  ['scan', '0'],
  ['flushall'],
  ['config', 'get', '*'],
  ['acl', 'list'],
  ['shutdown', 'nosave'],
  ['replicaof', '192.0.2.1', '6379'],
  ['client', 'list'],
  ['monitor'],
  ['publish', 'c', 'x'],
  ['script', 'flush'],
  ['get', 'somebody-else'],
  ['set', 'x', '1'],
  ['eval', "return redis.call('get', 'somebody-else')", '0'],
  ['eval', "return redis.call('flushall')", '0'],
])('SC-07: the service may not: %s %s', async (command, ...args) => {
  const answer = await failure(asService.duplicate(), (redis) => redis.call(command, ...args))
  expect(answer).toMatch(/NOPERM|ACL failure|no permissions|The user executing the script can't/i)
})

it.each([
  ['a client without a name', ''],
  ['the user that Redis has by default', `default:${PASSWORD}@`],
  ['a client with another password', 'latchkey:change-this-password@'],
])('SC-07: %s does not get in', async (_, who) => {
  const answer = await failure(new Redis(`redis://${who}${address}`, { retryStrategy: null }), (redis) =>
    redis.get('p'),
  )
  expect(answer).not.toBe('allowed')
})
