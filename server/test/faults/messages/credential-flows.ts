/** Flows of an application with its credentials: refresh, rotation, revocation. */
import { setTimeout as sleep } from 'node:timers/promises'
import { askMe, connect } from '../../rig/connect.ts'
import { grantLine, postNative } from '../../rig/credentials.ts'
import type { WireAnswer } from '../../rig/device.ts'
import { refresh } from '../../rig/dialog.ts'
import { attempt, countRows, expectEqual, type Flow, type Problem, untilServed } from './flow.ts'
import type { Harness } from './harness.ts'

/** A revocation is known within two seconds: docs/interface/credentials.md, "Check a credential". */
const MAX_CHECKS = 12
const PAUSE_MS = 250

/** Whether a credential gives access, or soon does not any more. */
export async function checkAccess(harness: Harness, credential: string, valid: boolean): Promise<readonly Problem[]> {
  const expected = valid ? 200 : 401
  const ask = () => untilServed(null, () => askMe(harness.service, credential))
  let { status } = await ask()
  for (let look = 0; !valid && status !== expected && look < MAX_CHECKS; look += 1) {
    await sleep(PAUSE_MS)
    status = (await ask()).status
  }
  if (status === expected) return []
  return [{ kind: valid ? 'lost' : 'wrong', text: `a credential is answered ${status} instead of ${expected}` }]
}

const refreshFlow: Flow = {
  name: 'refresh',
  prepare: async (harness) => {
    const { service } = harness
    const { refreshToken, grantId } = await connect(service)
    const renew = (token: string) => refresh(service, service.application, token)
    let heard: WireAnswer | null = null
    return {
      act: async () => {
        heard = await attempt(() => renew(refreshToken))
      },
      finish: async () => {
        const answer = await untilServed(heard, () => renew(refreshToken))
        if (answer.status !== 200) return [{ kind: 'lost', text: `a refresh was answered ${answer.text}` }]
        const line = await grantLine(service, grantId)
        const next = await untilServed(null, () => renew(answer.body.refresh_token))
        return [
          ...expectEqual('the generation', line?.generation, 2),
          ...expectEqual('the next refresh', next.status, 200),
          ...(await checkAccess(harness, answer.body.access_token, true)),
          ...expectEqual('the revocation', (await grantLine(service, grantId))?.revocation_reason, null),
        ]
      },
    }
  },
}

const events = 'from audit_events where grant_id = $1 and kind = $2'

const rotateFlow: Flow = {
  name: 'rotate-key',
  prepare: async (harness) => {
    const { service } = harness
    const { credential, grantId } = await connect(service, { variant: 'key' })
    const rotate = () => postNative(service, service.application, '/auth/key/rotate', { access_key: credential })
    let heard: WireAnswer | null = null
    return {
      act: async () => {
        heard = await attempt(rotate)
      },
      finish: async () => {
        const answer = await untilServed(heard, rotate)
        if (answer.status !== 200) return [{ kind: 'lost', text: `a rotation was answered ${answer.text}` }]
        return [
          ...expectEqual('the generation', (await grantLine(service, grantId))?.key, 2),
          ...(await checkAccess(harness, answer.body.access_key, true)),
          ...(await countRows(harness, 'rotations', 1, events, [grantId, 'grant.key_rotated'])),
        ]
      },
    }
  },
}

const revokeFlows = (['oauth', 'key'] as const).map(
  (variant): Flow => ({
    name: `revoke-${variant}`,
    prepare: async (harness) => {
      const { service } = harness
      const { credential, grantId } = await connect(service, { variant })
      const given = { [variant === 'oauth' ? 'token' : 'access_key']: credential }
      const revoke = () => postNative(service, service.application, `/auth/${variant}/revoke`, given)
      // The server has checked the credential, and remembers it.
      await askMe(service, credential)
      let heard: WireAnswer | null = null
      return {
        act: async () => {
          heard = await attempt(revoke)
        },
        finish: async () => {
          const answer = await untilServed(heard, revoke)
          return [
            ...expectEqual('a revocation', answer.status, 200),
            ...(await checkAccess(harness, credential, false)),
            ...(await countRows(harness, 'revocations', 1, events, [grantId, 'grant.revoked'])),
          ]
        },
      }
    },
  }),
)

export const credentialFlows: readonly Flow[] = [refreshFlow, rotateFlow, ...revokeFlows]
