/** Attacks on device codes and polls, by id. Each asserts the answers and the resulting rows. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { suspendApplication } from '../../../src/flows/applications/manage.ts'
import { paceFor } from '../../../src/gate/gate.ts'
import { Device, post } from '../../rig/device.ts'
import { engineUrl } from '../../rig/engines/database.ts'
import { makeAccount, makeApplication, makeUser } from '../../rig/make.ts'
import { startServerProcess } from '../../rig/process/server-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { sized } from '../../rig/size.ts'
import { digestOf } from '../../rig/witness.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService({ REDIS_URL: engineUrl('REDIS_URL') }, { clock: true })
})
afterAll(() => service.stop())

const grants = (userCode: string) =>
  service.database.query<{ scopes: string[]; variant: string; revocation_reason: string | null }>(
    `select g.scopes, g.variant, g.revocation_reason from grants g
     join device_codes d on d.id = g.device_code_id where d.user_code_digest = $1`,
    [digestOf(service, userCode)],
  )

describe('codes belong to one application and one variant', () => {
  it('DC-02: polled on both paths at once, a code is redeemed once, on its own path', async () => {
    const [own, other] = [service.device('oauth'), service.device('key')]
    const code = await own.code()
    await service.grant(code.user_code)
    const polls = Array.from({ length: 64 }, (_, index) => (index % 2 ? own : other).poll(code.device_code))
    const answers = await Promise.all(polls)
    const won = answers.filter((answer) => answer.status === 200)
    expect(won).toHaveLength(1)
    expect(won[0]?.body.access_token).toMatch(/^lka_/)
    expect(answers.filter((answer) => answer.body.error === 'invalid')).toHaveLength(63)
    expect(await grants(code.user_code)).toHaveLength(1)
  })

  it('DC-03: a code that was consented to as a token set never yields an access key', async () => {
    const code = await service.device('oauth').code()
    await service.grant(code.user_code)
    for (let attempt = 0; attempt < 100; attempt += 1) {
      expect((await service.device('key').poll(code.device_code)).body.error).toBe('invalid')
    }
    expect((await service.device('oauth').poll(code.device_code)).body.access_token).toMatch(/^lka_/)
    expect(await grants(code.user_code)).toMatchObject([{ variant: 'token_set' }])
  })

  it('DC-04: another application cannot redeem the code, and its attempts do not affect the owner', async () => {
    const thief = await makeApplication(service.context.db, service.config, service.account.slug)
    await service.context.applications.refresh()
    const code = await service.device().code()
    // The process has verified the code for its owner: the cached result may count only for the owner.
    expect((await service.device().poll(code.device_code)).body.error).toBe('auth_pending')
    const early = await service.device('oauth', thief).poll(code.device_code)
    expect([early.status, early.body.error]).toEqual([400, 'invalid'])
    await service.grant(code.user_code)
    const stolen = Array.from({ length: 20 }, () => service.device('oauth', thief).poll(code.device_code))
    const [answer, ...refused] = await Promise.all([service.device().poll(code.device_code), ...stolen])
    expect(refused.map((each) => each.body.error)).toEqual(refused.map(() => 'invalid'))
    expect(answer?.status).toBe(200)
  })

  it('DC-09: the device code is case-sensitive', async () => {
    const { device_code } = await service.device().code()
    const letters = [...device_code].flatMap((letter, index) => (/[a-z]/i.test(letter) ? [index] : []))
    for (const index of letters) {
      const letter = device_code[index] ?? ''
      const flipped = letter === letter.toUpperCase() ? letter.toLowerCase() : letter.toUpperCase()
      const altered = device_code.slice(0, index) + flipped + device_code.slice(index + 1)
      expect((await service.device().poll(altered)).body.error).toBe('invalid')
    }
  })
})

describe('what is granted is what was shown', () => {
  it('DC-11: a scope sent with the poll, or a default changed later, changes nothing', async () => {
    const device = service.device()
    const code = await device.code({ scope: 'orders:read' })
    await service.grant(code.user_code)
    await service.database.query('update applications set default_scopes = allowed_scopes where id = $1', [
      service.application.id,
    ])
    const answer = await post(service.address, '/auth/oauth/device/polling', {
      form: { ...device.credentials, device_code: code.device_code, scope: 'orders:read,orders:write' },
    })
    expect(answer.body.scope).toBe('orders:read')
  })

  it('DC-13: a permission that the user lacks is not granted, and gaining it later does not widen the grant', async () => {
    const { context, account, device } = service
    const clerk = await makeUser(context.db, account.slug, { holds: ['orders:read'] })
    const code = await device().code({ scope: 'orders:read,orders:write' })
    expect(await service.grant(code.user_code, clerk)).toBe('granted')
    await service.database.query(
      `insert into role_scopes select role_id, 'orders:write' from user_roles where user_id = $1`,
      [clerk.id],
    )
    expect((await device().poll(code.device_code)).body.scope).toBe('orders:read')
    expect(await grants(code.user_code)).toMatchObject([{ scopes: ['orders:read'] }])
  })

  it('a user who holds none of the requested scopes, or lacks a required one, cannot grant', async () => {
    const { context, account, config } = service
    const clerk = await makeUser(context.db, account.slug, { holds: ['orders:read'] })
    const code = await service.device().code({ scope: 'orders:write' })
    expect(await service.grant(code.user_code, clerk)).toBe('lacking')
    const picky = await makeApplication(context.db, config, account.slug, { requiredScopes: ['orders:write'] })
    await context.applications.refresh()
    const second = await service.device('oauth', picky).code({ scope: 'orders:read,orders:write' })
    expect(await service.grant(second.user_code, clerk)).toBe('lacking')
    expect(await grants(second.user_code)).toEqual([])
    expect((await service.device('oauth', picky).poll(second.device_code)).body.error).toBe('auth_pending')
  })

  it('DC-14, UC-17: an application without the device flow gets no code', async () => {
    const { context, account, config } = service
    const web = await makeApplication(context.db, config, account.slug, { deviceFlow: false })
    await context.applications.refresh()
    const answer = await service.device('oauth', web).request()
    expect([answer.status, answer.body.error]).toEqual([403, 'device_flow_disabled'])
  })

  it.each([
    ['the user was disabled', 'update users set disabled_at = now() where id = $1', 'user_disabled'],
    ['the application was deleted', 'update applications set deleted_at = now() where id = $2', 'application_deleted'],
    [
      'the grant was revoked',
      "update grants set revoked_at = now(), revocation_reason = 'user_reset' where user_id = $1",
      'user_reset',
    ],
  ])('DC-15: nothing is issued when %s between the grant and the poll', async (_, sql, reason) => {
    const { context, account, config } = service
    const user = await makeUser(context.db, account.slug)
    const application = await makeApplication(context.db, config, account.slug)
    await context.applications.refresh()
    const device = service.device('oauth', application)
    const code = await device.code()
    expect(await service.grant(code.user_code, user)).toBe('granted')
    const used = [...sql.matchAll(/\$\d/g)].length === 1 && sql.includes('$2') ? [application.id] : [user.id]
    await service.database.query(sql.replace('$2', '$1'), used)
    expect((await device.poll(code.device_code)).body.error).toBe('invalid')
    expect(await grants(code.user_code)).toMatchObject([{ revocation_reason: reason }])
    expect((await device.poll(code.device_code)).body.error).toBe('invalid')
  })
})

describe('pacing', () => {
  const NODES = sized(4, 2)
  const ADDRESSES = 50
  const INTERVALS = sized(60, 3)

  it('DC-16, DC-17: spreading polls over connections, formats, paths and encodings does not avoid slow_down', async () => {
    const device = service.device()
    const { device_code } = await device.code()
    const parameters = { ...device.credentials, device_code }
    const ways = ['', '/1'].flatMap((version) =>
      ['', '.xml'].flatMap((suffix) => {
        const path = `${version}/auth/oauth/device/polling${suffix}`
        return [
          () => post(service.address, path, { form: parameters }),
          () => post(service.address, path, { query: parameters }),
          () => post(service.address, path, { form: { ...parameters, extra: 'x' } }),
        ]
      }),
    )
    const answers = await Promise.all(ways.map((way) => way()))
    expect(answers.filter((answer) => answer.text.includes('auth_pending'))).toHaveLength(1)
    expect(answers.filter((answer) => answer.text.includes('slow_down'))).toHaveLength(ways.length - 1)
  })

  it(`DC-16: nor does spreading them over ${NODES} processes and ${ADDRESSES} addresses`, async () => {
    const environment = { DATABASE_URL: service.database.url, REDIS_URL: engineUrl('REDIS_URL'), POLL_INTERVAL: '1' }
    const nodes = await Promise.all(Array.from({ length: NODES }, () => startServerProcess(environment)))
    const [first] = nodes.map(({ address }) => new Device(address, service.application))
    const { device_code, interval } = (await first?.code()) ?? { device_code: '', interval: 0 }
    const form = { ...service.device().credentials, device_code }
    const answers: string[] = []
    const begun = performance.now()
    for (let poll = 0; performance.now() - begun < INTERVALS * interval * 1_000; poll += 1) {
      const localAddress = `127.0.2.${1 + (poll % ADDRESSES)}`
      const { address } = nodes[poll % NODES] ?? { address: '' }
      answers.push((await post(address, '/auth/oauth/device/polling', { form, localAddress })).body.error)
      await sleep(100)
    }
    const paces = (performance.now() - begun) / paceFor(interval)
    await Promise.all(nodes.map((node) => node.kill('SIGTERM')))
    expect(interval).toBe(1)
    expect(new Set(answers)).toEqual(new Set(['auth_pending', 'slow_down']))
    const pending = answers.filter((answer) => answer === 'auth_pending').length
    expect(pending).toBeLessThanOrEqual(Math.floor(paces) + 1)
    expect(pending).toBeGreaterThan(INTERVALS / 2)
  })

  it('DC-18: without the secret nobody can slow the victim down', async () => {
    const device = service.device()
    const { device_code } = await device.code()
    const attack = Array.from({ length: 100 }, () =>
      post(service.address, '/auth/oauth/device/polling', {
        form: { SVCappid: service.application.id, SVCsecret: `lks_${'A'.repeat(43)}`, device_code },
      }),
    )
    expect((await Promise.all(attack)).every((answer) => answer.body.error === 'invalid')).toBe(true)
    expect((await device.poll(device_code)).body.error).toBe('auth_pending')
  })

  it('a device that polls at the interval never sees slow_down, jitter included', async () => {
    const fast = await startTestService({ REDIS_URL: engineUrl('REDIS_URL'), POLL_INTERVAL: '1' })
    const codes = await Promise.all(Array.from({ length: 20 }, () => fast.device().code()))
    const errors = await Promise.all(
      codes.map(async ({ device_code }) => {
        const seen: string[] = []
        for (let poll = 0; poll < 5; poll += 1) {
          seen.push((await fast.device().poll(device_code)).body.error)
          await sleep(960 + Math.random() * 80)
        }
        return seen
      }),
    )
    expect(new Set(errors.flat())).toEqual(new Set(['auth_pending']))
    await fast.stop()
  })
})

describe('suspension', () => {
  it('blocks new codes and new grants, but no existing credentials', async () => {
    const { context, account, config } = service
    const application = await makeApplication(context.db, config, account.slug)
    await context.applications.refresh()
    const device = service.device('key', application)
    const [granted, waiting] = [await device.code(), await device.code()]
    await service.grant(granted.user_code)
    await suspendApplication(context.db, application.id, 'test')
    await context.applications.refresh()
    const refused = await device.request()
    expect([refused.status, refused.body.error]).toEqual([403, 'application_suspended'])
    expect(await service.grant(waiting.user_code)).toBe('suspended')
    expect((await device.poll(waiting.device_code)).body.error).toBe('auth_pending')
    expect((await device.poll(granted.device_code)).status).toBe(200)
  })
})

describe('accounts', () => {
  it('a code can be granted in any account: it belongs to no account until a user enters it', async () => {
    const elsewhere = await makeAccount(service.context.db)
    const user = await makeUser(service.context.db, elsewhere.slug)
    const code = await service.device().code()
    expect(await service.grant(code.user_code, user)).toBe('granted')
    const [row] = await service.database.query(
      'select g.account_id from grants g join device_codes d on d.id = g.device_code_id where d.user_code_digest = $1',
      [digestOf(service, code.user_code)],
    )
    expect(row).toEqual({ account_id: elsewhere.id })
  })
})
