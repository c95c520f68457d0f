/** Users who grant and revoke access through a server that is killed repeatedly. They retry. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../../../src/flows/context.ts'
import { grantDeviceCode } from '../../../src/flows/device/decide.ts'
import { enterUserCode } from '../../../src/flows/device/enter-code.ts'
import { removeGrant } from '../../../src/flows/grants/connected-applications.ts'
import { Device, post } from '../../rig/device.ts'
import type { MadeApplication, MadeUser } from '../../rig/make.ts'

const LANES = 4

/** Pause between two, which leaves processor time for the test. */
const PAUSE_MS = 400

type Load = { finish(): Promise<void> }

/** `address` is the server's current address, if it runs. */
export function startWebhookLoad(given: {
  address(): string
  application: MadeApplication
  users: readonly MadeUser[]
  context: Context
}): Load {
  const { context, application, users } = given
  let finishing = false

  async function connectAndRemove(lane: number, turn: number): Promise<void> {
    const user = users[lane % users.length]
    if (!user) return
    const device = new Device(given.address(), application)
    const { user_code, device_code } = await device.code()
    const entered = await enterUserCode(context, user.id, user_code)
    if (entered.outcome !== 'claimed') return
    await grantDeviceCode(context, user.id, entered.code)
    const { body } = await new Device(given.address(), application).poll(device_code)
    if (!body.access_token) return
    const form = { ...device.credentials, token: body.access_token }
    // Half of them are revoked in the process that may be killed, half in this one.
    if (turn % 2 === 0) await post(given.address(), '/auth/oauth/revoke', { form })
    else await removeNewest(user)
  }

  async function removeNewest(user: MadeUser): Promise<void> {
    const { rows } = await context.db.query<{ id: string }>(
      'select id from grants where user_id = $1 and revoked_at is null order by created_at desc limit 1',
      [user.id],
    )
    const grantId = rows[0]?.id ?? ''
    await removeGrant(context, { by: user.id, grantId, asAdministrator: false, reported: false })
  }

  async function live(lane: number): Promise<void> {
    for (let turn = lane; !finishing; turn += 1) {
      // The server died meanwhile: what was committed is in the database, answered or not.
      await connectAndRemove(lane, turn).catch(() => {})
      await sleep(PAUSE_MS)
    }
  }

  const lanes = Array.from({ length: LANES }, (_, lane) => live(lane))
  return {
    finish: async () => {
      finishing = true
      await Promise.all(lanes)
    },
  }
}
