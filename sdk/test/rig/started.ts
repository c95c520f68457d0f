/** A session with a scripted service, and its polls. */
import type { DeviceSession } from '../../src/index.ts'
import { type Asked, record, type Scripted, scripted, tokenSet } from './scripted.ts'

export type Started = Scripted & { readonly session: DeviceSession<'token_set'>; readonly state: string }

export async function start(given: { record?: object; state?: string } = {}): Promise<Started> {
  const service = scripted()
  service.next(record(given.record))
  const session = await service.client.device.start({ variant: 'token_set', state: given.state })
  return { ...service, session, state: service.asked[0]?.form.state ?? '' }
}

export const accepted = (state: string): Response => tokenSet({ state })

/** Seconds between the polls, the first counted from the code request. */
export const gapsOf = (asked: readonly Asked[]): number[] =>
  asked.slice(1).map(({ at }, index) => (at - (asked[index]?.at ?? 0)) / 1000)
