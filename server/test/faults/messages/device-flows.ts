/** Flows of a device and of the user who enters its code on the pages. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../../../src/flows/context.ts'
import { grantDeviceCode, rejectDeviceCode } from '../../../src/flows/device/decide.ts'
import { enterUserCode } from '../../../src/flows/device/enter-code.ts'
import type { DeviceCodeKey } from '../../../src/store/device/codes.ts'
import { plain } from '../../history/history.ts'
import type { WireAnswer, WireVariant } from '../../rig/device.ts'
import type { MadeUser } from '../../rig/make.ts'
import { makeSignedInUser } from '../../rig/signed-in.ts'
import { Visitor } from '../visitor.ts'
import { attempt, expectEqual, type Flow, type Problem, untilServed } from './flow.ts'
import type { Harness } from './harness.ts'
import { WatchedCode } from './watched-code.ts'

const VARIANTS: readonly WireVariant[] = ['oauth', 'key']

type DecideDeviceCode = (context: Context, userId: string, key: DeviceCodeKey) => Promise<{ readonly outcome: string }>

/** The user decides on a way of their own to the engines: as in another process. */
export async function decideElsewhere(code: WatchedCode, user: MadeUser, decision: 'grant' | 'reject'): Promise<void> {
  const { context } = code.harness.service
  const enter = () => enterUserCode(context, user.id, code.record.user_code)
  const call = { do: 'enter', user: user.id, account: 'own' } as const
  const entered = await code.history.record(call, enter, ({ outcome }) => plain(outcome))
  if (entered.outcome !== 'claimed') throw new Error(`entering the code: ${entered.outcome}`)
  const decide: DecideDeviceCode = decision === 'grant' ? grantDeviceCode : rejectDeviceCode
  const send = () => decide(context, user.id, entered.code)
  await code.history.record({ do: decision, user: user.id }, send, ({ outcome }) => plain(outcome))
}

const requestFlows = VARIANTS.map(
  (variant): Flow => ({
    name: `request-${variant}`,
    prepare: async (harness) => {
      const device = harness.service.device(variant)
      let calledAt = 0
      let heard: WireAnswer | null = null
      const request = () => {
        calledAt = performance.now()
        return device.request({ state: 'kept' })
      }
      return {
        act: async () => {
          heard = await attempt(request)
        },
        finish: async (after) => {
          const answer = await untilServed(heard, request)
          if (answer.status !== 200) return expectEqual('the code request', answer.text, '200')
          const code = new WatchedCode(harness, device, answer.body, calledAt)
          await decideElsewhere(code, harness.service.user, 'grant')
          return code.collect('accepted', after)
        },
      }
    },
  }),
)

const pendingFlows = VARIANTS.map(
  (variant): Flow => ({
    name: `poll-pending-${variant}`,
    prepare: async (harness) => {
      const code = await WatchedCode.request(harness, variant)
      let heard: WireAnswer | null = null
      return {
        act: async () => {
          heard = await code.poll()
        },
        finish: async (after) => {
          const told: WireAnswer | null = heard
          const wrong = told === null ? [] : expectEqual('a pending poll', told.body.error, 'auth_pending')
          await decideElsewhere(code, harness.service.user, 'grant')
          return [...wrong, ...(await code.collect('accepted', after))]
        },
      }
    },
  }),
)

const collectFlows = [
  ...VARIANTS.map((variant) => ({ variant, outcome: 'accepted' }) as const),
  { variant: 'oauth', outcome: 'auth_rejected' } as const,
  { variant: 'key', outcome: 'auth_expired' } as const,
].map(
  ({ variant, outcome }): Flow => ({
    name: `poll-${outcome}-${variant}`,
    prepare: async (harness) => {
      const code = await WatchedCode.request(harness, variant)
      if (outcome === 'auth_expired') await code.expire()
      else await decideElsewhere(code, harness.service.user, outcome === 'accepted' ? 'grant' : 'reject')
      return {
        act: async () => {
          await code.poll()
        },
        finish: (after) => code.collect(outcome, after),
      }
    },
  }),
)

/** Enough for a poll to be read and held. */
const HELD_AFTER_MS = 150

const HELD = { prefer: 'wait=10' }

const heldElsewhere: Flow = {
  name: 'held-poll-decided-elsewhere',
  prepare: async (harness) => {
    const code = await WatchedCode.request(harness)
    return {
      act: async () => {
        const polling = code.poll(HELD)
        await sleep(HELD_AFTER_MS)
        await decideElsewhere(code, harness.service.user, 'grant')
        await polling
      },
      finish: (after) => code.collect('accepted', after),
    }
  },
}

/** A user on the pages, with a session of their own. */
async function visit(harness: Harness): Promise<{ code: WatchedCode; visitor: Visitor }> {
  const code = await WatchedCode.request(harness)
  const { user, web } = await makeSignedInUser(harness.service)
  await web.get('/connect/code')
  return { code, visitor: new Visitor(code, user, web) }
}

const enterFlow: Flow = {
  name: 'enter',
  prepare: async (harness) => {
    const { code, visitor } = await visit(harness)
    return {
      act: async () => {
        await visitor.enter()
      },
      finish: async (after) => {
        await visitor.enterAgain()
        await visitor.decide('grant')
        await visitor.decideAgain('grant')
        return code.collect('accepted', after)
      },
    }
  },
}

const decideFlows = (
  [
    { decision: 'grant', outcome: 'accepted', held: false },
    { decision: 'reject', outcome: 'auth_rejected', held: false },
    { decision: 'grant', outcome: 'accepted', held: true },
  ] as const
).map(
  ({ decision, outcome, held }): Flow => ({
    name: held ? 'held-poll-granted' : decision,
    prepare: async (harness) => {
      const { code, visitor } = await visit(harness)
      await visitor.enterAgain()
      return {
        act: async () => {
          const polling = held ? code.poll(HELD) : null
          if (held) await sleep(HELD_AFTER_MS)
          await visitor.decide(decision)
          await polling
        },
        finish: async (after): Promise<readonly Problem[]> => {
          await visitor.decideAgain(decision)
          return code.collect(outcome, after)
        },
      }
    },
  }),
)

export const deviceFlows: readonly Flow[] = [
  ...requestFlows,
  ...pendingFlows,
  ...collectFlows,
  heldElsewhere,
  enterFlow,
  ...decideFlows,
]
