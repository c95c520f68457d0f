/** A message between the server and its engines is lost after a commit. Every message of every flow: verify-messages.ts. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startService } from '../../../src/app.ts'
import { COMMIT } from '../../../src/store/postgres/synchronous-commit.ts'
import { makeConfig } from '../../rig/make.ts'
import type { Message } from '../../rig/network/message-proxy.ts'
import { FLOWS, runCase } from './cases.ts'
import { decideElsewhere } from './device-flows.ts'
import { type Harness, openHarness } from './harness.ts'
import type { Fault, Target } from './link.ts'
import { WatchedCode } from './watched-code.ts'

let harness: Harness
beforeAll(async () => {
  harness = await openHarness(async (environment) => {
    const running = await startService(makeConfig({ ...environment, LOG_LEVEL: 'silent' }))
    return { log: () => '', kill: () => running.stop(), exited: Promise.resolve() }
  })
})
afterAll(() => harness.stop())

const isCommit = ({ text }: Message) => text.endsWith('commit')

/** The outcome of a case; the client of the flow retries. */
async function resultOf(name: string, fault: Fault, target: Target) {
  const flow = FLOWS.find((each) => each.name === name)
  if (!flow) throw new Error(`there is no flow ${name}`)
  const { hit, problems } = await runCase(harness, flow, fault, target)
  return { reached: hit !== null, problems }
}

const WELL = { reached: true, problems: [] }

describe.each(['oauth', 'key'] as const)('of the %s variant', (variant) => {
  it.each(['reset before', 'reset after'] as const)(
    'F05: a poll whose commit is unknown (%s) answers auth_pending, never the credentials; a later one delivers them, once',
    async (fault) => {
      const code = await WatchedCode.request(harness, variant)
      await decideElsewhere(code, harness.service.user, 'grant')
      harness.link.arm(fault, isCommit)
      const answer = await code.poll()
      expect(harness.link.recover().hit).toContain(COMMIT.slice(0, 30))
      expect([answer?.status, answer?.body.error]).toEqual([400, 'auth_pending'])
      expect(await code.collect('accepted', { killed: false })).toEqual([])
    },
  )
})

it.each(['request-oauth', 'enter', 'grant', 'reject', 'dialog-decide', 'dialog-exchange', 'refresh', 'rotate-key'])(
  'F05: the commit of %s is unknown; the client is not told that it was done, and retries, and it is done once',
  async (flow) => {
    expect(await resultOf(flow, 'reset after', isCommit)).toEqual(WELL)
    expect(await resultOf(flow, 'reset before', isCommit)).toEqual(WELL)
  },
)

it.each(['manage-create-user', 'manage-rotate-secret', 'revoke-oauth', 'revoke-key'])(
  'F24: %s arrives and its reply is lost; the same request again changes nothing more',
  async (flow) => {
    expect(await resultOf(flow, 'reset after', isCommit)).toEqual(WELL)
  },
)

it('F24: the record that an answer was sent is lost, and made again: the code is invalid', async () => {
  let commits = 0
  const isSecondCommit = (message: Message) => {
    commits += isCommit(message) ? 1 : 0
    return commits === 2
  }
  expect(await resultOf('poll-accepted-oauth', 'reset before', isSecondCommit)).toEqual(WELL)
})

it.each(['request lost', 'reset before'] as const)(
  'F52: the announcement of a decision is lost (%s); the held poll has the outcome within three intervals',
  async (fault) => {
    const code = await WatchedCode.request(harness)
    const polling = code.poll({ prefer: 'wait=20' })
    await new Promise((resolve) => setTimeout(resolve, 500))
    harness.link.arm(fault, ({ text }) => text === 'message decided')
    await decideElsewhere(code, harness.service.user, 'grant')
    const decidedAt = performance.now()
    expect((await polling)?.status).toBe(200)
    expect(performance.now() - decidedAt).toBeLessThan(3 * 5_000)
    expect(harness.link.recover().hit).toContain('message decided')
    expect(await code.collect('accepted', { killed: false })).toEqual([])
  },
)
