/** Device codes across cells: requested in one, entered in another, polled where they were requested. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkDigit } from '../../src/core/device/user-code.ts'
import { USER_MISSES } from '../../src/core/sign-in/attempts.ts'
import { grantDeviceCode, rejectDeviceCode } from '../../src/flows/device/decide.ts'
import { enterCode } from '../../src/flows/device/enter-code.ts'
import { bucketOf } from '../../src/secrets/bucket.ts'
import { readAccount } from '../../src/store/accounts/accounts.ts'
import type { HostAccount, SessionUser } from '../../src/store/sign-in/sessions.ts'
import { startTestCells, type TestCells } from '../rig/cells.ts'
import { collect, post } from '../rig/device.ts'
import { makeApplication } from '../rig/make.ts'
import { A, B, cellOf, eventsIn, factsOf, grantIn, HOME } from './cells-scene.ts'

let all: TestCells
beforeAll(async () => {
  all = await startTestCells({ POLL_INTERVAL: '1' })
}, 300_000)
afterAll(() => all?.stop())

const contextOf = (id: number) => cellOf(all, id).service.context

test('a code is requested in one cell, granted in another, and delivered where it is polled', async () => {
  const user = await all.makeMember(A)
  const device = all.device(B)
  const code = await device.code({ state: 'ü' })
  expect(bucketOf(code.device_code)).toBe(0xf000 | B)
  expect((await device.poll(code.device_code)).body.error).toBe('auth_pending')
  expect(await grantIn(all, A, user, code.user_code)).toBe('granted')
  const answer = await collect(device, code.device_code)
  expect(answer.status).toBe(200)
  expect(answer.body.state).toBe('ü')
  expect(bucketOf(answer.body.access_token)).toBe(user.bucket)
  expect(bucketOf(answer.body.refresh_token)).toBe(user.bucket)
  expect((await device.poll(code.device_code)).body.error).toBe('invalid')
  expect(await factsOf(all, code)).toEqual({ holders: [A], grants: 1, statuses: ['used'] })
})

test('the user codes of a cell begin with its prefixes, and every code can be entered in every cell', async () => {
  for (const issuer of [HOME, A, B]) {
    const prefixes = new Set(contextOf(issuer).cells?.prefixes(Date.now()))
    expect(prefixes.size).toBeGreaterThanOrEqual(25)
    for (const entered of [HOME, A, B]) {
      const code = await all.device(issuer).code()
      expect(prefixes).toContain(code.user_code.slice(0, 2))
      expect(await grantIn(all, entered, await all.makeMember(entered), code.user_code)).toBe('granted')
      expect((await collect(all.device(issuer), code.device_code)).status).toBe(200)
      await expect.poll(() => factsOf(all, code)).toEqual({ holders: [entered], grants: 1, statuses: ['used'] })
    }
  }
})

test('a rejection in another cell is delivered once', async () => {
  const user = await all.makeMember(A)
  const code = await all.device(B).code()
  const entered = await all.enter(A, user, code.user_code)
  expect(entered.outcome).toBe('claimed')
  if (entered.outcome === 'claimed') await rejectDeviceCode(contextOf(A), user.id, entered.code)
  expect((await collect(all.device(B), code.device_code)).body.error).toBe('auth_rejected')
  expect((await all.device(B).poll(code.device_code)).body.error).toBe('invalid')
})

test('a code that was decided in another cell, or where it was requested, is not recognised', async () => {
  for (const [issuer, holder] of [
    [B, A],
    [A, A],
  ] as const) {
    const [first, second] = [await all.makeMember(holder), await all.makeMember(holder)]
    const code = await all.device(issuer).code()
    expect(await grantIn(all, holder, first, code.user_code)).toBe('granted')
    expect((await all.enter(holder, second, code.user_code)).outcome).toBe('not_recognised')
  }
})

describe('a user of a second account, who enters a code that is claimed in another cell, closes it', () => {
  test.each([
    ['issued in B, claimed in A, entered in the home cell', B, A, HOME],
    ['issued and claimed in B, entered in A', B, B, A],
    ['issued in B, claimed in A, entered in B', B, A, B],
  ])('%s', async (_title, issuer, claimed, second) => {
    const [first, other] = [await all.makeMember(claimed), await all.makeMember(second)]
    const code = await all.device(issuer).code()
    const entered = await all.enter(claimed, first, code.user_code)
    expect((await all.enter(second, other, code.user_code)).outcome).toBe('not_recognised')
    if (entered.outcome !== 'claimed') throw new Error(entered.outcome)
    expect((await grantDeviceCode(contextOf(claimed), first.id, entered.code)).outcome).toBe('not_open')
    expect(await factsOf(all, code)).toMatchObject({ holders: [claimed], grants: 0, statuses: ['pending'] })
    expect((await collect(all.device(issuer), code.device_code)).body.error).toBe('auth_expired')
    expect(await eventsIn(all, claimed, code)).toEqual(['code.claimed', 'code.entered_elsewhere'])
    // It does not open again for anybody.
    expect((await all.enter(claimed, first, code.user_code)).outcome).toBe('closed')
  })

  test('its own account has the event, and an account that bars the application does not close it', async () => {
    const [first, barred, other] = [await all.makeMember(A), await all.makeMember(HOME), await all.makeMember(HOME)]
    const { db } = contextOf(HOME)
    await db.query('update accounts set only_applications = $2 where slug = $1', [barred.slug, []])
    const code = await all.device(B).code()
    await all.enter(A, first, code.user_code)
    expect((await all.enter(HOME, barred, code.user_code)).outcome).toBe('not_recognised')
    expect(await eventsIn(all, A, code)).toEqual(['code.claimed'])
    expect((await all.enter(HOME, other, code.user_code)).outcome).toBe('not_recognised')
    expect(await eventsIn(all, A, code)).toEqual(['code.claimed', 'code.entered_elsewhere'])
    const actors = `select actor_kind as kind, actor_id as id from audit_events
      where kind = 'code.entered_elsewhere' and user_id = $1`
    expect((await contextOf(A).db.query(actors, [first.id])).rows).toEqual([{ kind: 'service', id: 'code-entry' }])
    const { rows } = await db.query<{ kind: string }>('select kind from audit_events where user_id = $1', [other.id])
    expect(rows.map(({ kind }) => kind)).toEqual(['user.created', 'code.closed'])
  })
})

test('a user of another account closes a claimed code, also after the user who claimed it was erased', async () => {
  const [first, other] = [await all.makeMember(A), await all.makeMember(HOME)]
  const code = await all.device(B).code()
  await all.enter(A, first, code.user_code)
  await contextOf(A).db.query('delete from users where id = $1', [first.id])
  expect((await all.enter(HOME, other, code.user_code)).outcome).toBe('not_recognised')
  const { rows } = await contextOf(A).db.query<{ how: string }>(
    'select also_entered as how from device_codes where claimed_by = $1 and handed_to is null',
    [first.id],
  )
  expect(rows).toEqual([{ how: 'another_account' }])
})

test('a code that nobody has claimed goes wherever it is entered next, and back to its issuer', async () => {
  const code = await all.device(B).code()
  for (const id of [A, HOME, B, A]) {
    const user = await all.makeMember(id)
    const entered = await all.enter(id, user, code.user_code)
    expect(entered.outcome).toBe('claimed')
    expect((await factsOf(all, code)).holders).toEqual([id])
    await contextOf(id).db.query("update device_codes set claimed_by = null where status = 'pending'")
  }
  expect((await all.device(B).poll(code.device_code)).body.error).toBe('auth_pending')
  expect(await grantIn(all, B, await all.makeMember(B), code.user_code)).toBe('granted')
  expect((await collect(all.device(B), code.device_code)).status).toBe(200)
  expect((await factsOf(all, code)).grants).toBe(1)
})

test('a held poll is answered when the user of another cell has decided, also if the message about it is lost', async () => {
  for (const lost of [false, true]) {
    const user = await all.makeMember(A)
    const code = await all.device(B).code()
    const held = all.device(B).poll(code.device_code, { prefer: 'wait=25' })
    await sleep(300)
    if (lost) cellOf(all, B).proxy.loseNext('decided', 'asked')
    expect(await grantIn(all, A, user, code.user_code)).toBe('granted')
    const decided = performance.now()
    expect((await held).status).toBe(200)
    expect(performance.now() - decided).toBeLessThan(lost ? 5_000 : 1_500)
  }
})

/** Enters codes on the page of the user's account. */
async function onPageIn(id: number, user: Awaited<ReturnType<TestCells['makeMember']>>) {
  const context = contextOf(id)
  const { rows } = await context.db.query<{ id: string }>('select id from accounts where slug = $1', [user.slug])
  const account = (await readAccount(context.db, rows[0]?.id ?? '')) as unknown as HostAccount
  const sessionUser = { ...user, session: { person: null } } as unknown as SessionUser
  return (typed: string) => enterCode(context, account, sessionUser, typed, '192.0.2.1')
}

test('a user who has reached the limit of wrong codes is refused before the code is fetched from its cell', async () => {
  const user = await all.makeMember(A)
  const enter = await onPageIn(A, user)
  const code = await all.device(B).code()
  for (let miss = 0; miss < USER_MISSES.max; miss += 1) {
    const digits = `${code.user_code.slice(0, 2)}00000${miss}`
    expect((await enter(digits + checkDigit(digits))).outcome).toBe('not_recognised')
  }
  expect((await enter(code.user_code)).outcome).toBe('locked')
  expect((await factsOf(all, code)).holders).toEqual([B])
})

describe('while a cell is away', () => {
  test('a code that was handed to it is pending, and delivered when it is back', async () => {
    const user = await all.makeMember(A)
    const code = await all.device(B).code()
    expect(await grantIn(all, A, user, code.user_code)).toBe('granted')
    cellOf(all, A).proxy.cut()
    await sleep(1_000)
    expect((await all.device(B).poll(code.device_code)).body.error).toBe('auth_pending')
    cellOf(all, A).proxy.heal()
    expect((await collect(all.device(B), code.device_code)).status).toBe(200)
  })

  test('entering one of its codes fails and is not counted as an attempt', async () => {
    const user = await all.makeMember(A)
    const context = contextOf(A)
    const enter = await onPageIn(A, user)
    const code = await all.device(B).code()
    cellOf(all, B).proxy.cut()
    await expect(enter(code.user_code)).rejects.toThrow('cell 2 does not answer')
    cellOf(all, B).proxy.heal()
    const counted = 'select outcome from code_entries where user_id = $1 order by at'
    expect((await context.db.query(counted, [user.id])).rows).toEqual([])
    expect((await enter(code.user_code)).outcome).toBe('claimed')
    expect((await context.db.query(counted, [user.id])).rows).toEqual([{ outcome: 'claimed' }])
    // A code of another cell that does not exist is a miss; one that was used is not.
    const digits = `${code.user_code.slice(0, 2)}000000`
    expect((await enter(digits + checkDigit(digits))).outcome).toBe('not_recognised')
    const used = await all.device(B).code()
    expect(await grantIn(all, B, await all.makeMember(B), used.user_code)).toBe('granted')
    expect((await enter(used.user_code)).outcome).toBe('not_recognised')
    const outcomes = (await context.db.query<{ outcome: string }>(counted, [user.id])).rows.map((row) => row.outcome)
    expect(outcomes).toEqual(['claimed', 'missed', 'known'])
  })
})

test('a request between cells without our MAC is answered like an unknown path', async () => {
  const { address } = cellOf(all, B).service
  const proven = await post(address, '/cells/decided', {
    raw: '{"id":"x"}',
    headers: { 'latchkey-cell-mac': `1.${Date.now()}.${'A'.repeat(43)}` },
  })
  expect([proven.status, (await post(address, '/cells/decided', { raw: '{}' })).status]).toEqual([404, 404])
})

describe('global and local', () => {
  test('applications are registered in the home cell only, and accounts in the cell of their bucket', async () => {
    const { db, config } = contextOf(A)
    const { slug } = await all.makeMember(A)
    await expect(makeApplication(db, config, slug)).rejects.toThrow('in the home cell: cell 0, cell-0')
    await expect(contextOf(B).db.query("update applications set name = 'x'")).rejects.toThrow('home cell only')
    await expect(makeSameAccount(B, slug)).rejects.toThrow(`The account "${slug}" belongs in cell 1, cell-1`)
  })

  test('without the home cell, the others go on: request, entry, grant, poll, verification', async () => {
    await all.stopCell(HOME)
    const user = await all.makeMember(A)
    const code = await all.device(B).code()
    expect(await grantIn(all, A, user, code.user_code)).toBe('granted')
    const answer = await collect(all.device(B), code.device_code)
    expect(answer.status).toBe(200)
    const checked = await fetch(`${cellOf(all, A).service.address}/auth/verify`, {
      headers: { authorization: `Bearer ${answer.body.access_token}` },
    })
    expect(checked.status).toBe(200)
    await all.restart(A)
    expect((await all.device(A).code()).user_code).toMatch(/^\d{9,}$/)
  })
})

async function makeSameAccount(id: number, slug: string): Promise<void> {
  const { createAccount } = await import('../../src/flows/accounts/register.ts')
  const made = await createAccount(contextOf(id).db, { slug, name: slug })
  if (made.outcome === 'refused') throw new Error(made.reason)
}
