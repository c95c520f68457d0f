/** Devices that are granted access all the time, as fast as one user decides. */
import type { Context } from '../../../src/flows/context.ts'
import { grantDeviceCode } from '../../../src/flows/device/decide.ts'
import { enterUserCode } from '../../../src/flows/device/enter-code.ts'
import { Device } from '../../rig/device.ts'
import { makeAccount, makeApplication, makeUser } from '../../rig/make.ts'

export type GrantingLoad = {
  /** Returns how many codes were granted. */
  stop(): Promise<number>
}

const LANES = 4

export async function startGrantingLoad(context: Context, address: string): Promise<GrantingLoad> {
  const account = await makeAccount(context.db)
  const application = await makeApplication(context.db, context.config, account.slug)
  let [granted, stopping] = [0, false]
  const lane = async () => {
    const user = await makeUser(context.db, account.slug)
    const device = new Device(address, application, 'key')
    while (!stopping) {
      const { status, body } = await device.request()
      // Until the process knows the application.
      if (status !== 200) continue
      const entered = await enterUserCode(context, user.id, body.user_code)
      if (entered.outcome !== 'claimed') continue
      if ((await grantDeviceCode(context, user.id, entered.code)).outcome === 'granted') granted += 1
      await device.poll(body.device_code)
    }
  }
  const lanes = Array.from({ length: LANES }, lane)
  return {
    stop: async () => {
      stopping = true
      await Promise.all(lanes)
      return granted
    },
  }
}
