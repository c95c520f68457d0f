/** The device flow without the client library, in shell and in Python, with the real service. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { startFaultProxy } from '../../sdk/test/rig/fault-proxy.ts'
import { askMe } from '../../server/test/rig/connect.ts'
import { codeOf, useTrying } from './rig/trying.ts'

const trying = useTrying()
const FILES = ['shell/device-flow.sh', 'python/device_flow.py']

test.each(FILES)('%s prints the token set of a granted code, and exits with 0', async (file) => {
  const program = trying.start(file)
  expect(await trying.service.grant(await codeOf(program))).toBe('granted')
  expect(await program.ended).toBe(0)
  const tokens = JSON.parse(program.stdout())
  expect(tokens).toMatchObject({ scope: 'orders:read', state: file.split('/')[0] })
  const { body } = await askMe(trying.service, tokens.access_token)
  expect(body.user).toBe(trying.service.user.id)
})

test.each(FILES)('%s reports a rejection, prints nothing, and exits with 2', async (file) => {
  const program = trying.start(file)
  expect(await trying.service.reject(await codeOf(program))).toBe('rejected')
  expect([await program.ended, program.stdout()]).toEqual([2, ''])
})

test.each(FILES)('%s reports an expired code, requests no other, and exits with 3', async (file) => {
  const codes = () => trying.service.database.query('select from device_codes')
  const before = (await codes()).length
  const program = trying.start(file)
  await codeOf(program)
  await trying.service.database.advance(601_000)
  expect([await program.ended, program.stdout()]).toEqual([3, ''])
  expect((await codes()).length).toBe(before + 1)
})

/** The trying service has an interval of a second: a device that is not answered at once would send three polls. */
const WAITED_MS = 3_000

test.each(FILES)('%s sends one poll while it waits, and loses no outcome when its answer is lost', async (file) => {
  let polls = 0
  const proxy = await startFaultProxy(trying.service.address, (path) => {
    if (path.endsWith('/polling')) polls += 1
    return { fault: path.endsWith('/polling') && polls === 1 ? 'answer_lost' : 'none' }
  })
  onTestFinished(() => proxy.close())
  const program = trying.start(file, { LATCHKEY_BASE_URL: proxy.address })
  const code = await codeOf(program)
  await sleep(WAITED_MS)
  expect(polls).toBe(1)
  await trying.service.grant(code)
  expect(await program.ended).toBe(0)
  expect(JSON.parse(program.stdout())).toHaveProperty('access_token')
  const outcomes = proxy.exchanges.map(
    ({ answer }) => /"(access_token|auth_\w+|device_code|slow_down)"/.exec(answer)?.[1],
  )
  expect(outcomes).toEqual(['device_code', 'access_token', 'access_token'])
})

test.each(FILES)(
  '%s becomes slower when it is told to',
  async (file) => {
    const polls: number[] = []
    const proxy = await startFaultProxy(trying.service.address, (path) => {
      if (path.endsWith('/polling')) polls.push(Date.now())
      return { fault: 'none' }
    })
    onTestFinished(() => proxy.close())
    const program = trying.start(file, { LATCHKEY_BASE_URL: proxy.address })
    await codeOf(program)
    // Another client polls the same code, and keeps the interval for both.
    const deviceCode = /"device_code":"([^"]+)"/.exec(proxy.exchanges[0]?.answer ?? '')?.[1] ?? ''
    const isSlowedDown = () => proxy.exchanges.some(({ answer }) => answer.includes('slow_down'))
    for (const until = Date.now() + 30_000; Date.now() < until && !isSlowedDown(); ) {
      await trying.service.device().poll(deviceCode)
      await sleep(470)
    }
    const before = polls.length
    await expect.poll(() => polls.length, { timeout: 30_000 }).toBe(before + 1)
    // It pauses after the answer, so a slow machine can only make this longer.
    expect((polls.at(-1) ?? 0) - (polls.at(-2) ?? 0)).toBeGreaterThan(5_900)
  },
  90_000,
)

test.each(FILES)('%s reports a wrong secret, and exits with 1', async (file) => {
  const program = trying.start(file, { LATCHKEY_APP_SECRET: 'lks_wrong' })
  await program.says(/There is no code: /)
  expect([await program.ended, program.stdout()]).toEqual([1, ''])
})
