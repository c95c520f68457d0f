/** Everything that accepts a credential or a session, asked until it refuses. */
import { setTimeout as sleep } from 'node:timers/promises'
import { post } from '../rig/device.ts'
import type { Harness } from './harness.ts'

const ASK_EVERY_MS = 20
/** Asked this often before a refusal counts as permanent. */
const REFUSALS = 3
const GIVE_UP_MS = 10_000

/** A place that accepts something, by name; true: it does. */
export type Place = { readonly name: string; accepts(): Promise<boolean> }

export const SCOPE = 'orders:read'

/** Everything that reads a credential: three endpoints of each process, and the API behind the verifier. */
export function placesOfCredential({ addresses, own, resource }: Harness, credential: string): readonly Place[] {
  const headers = { authorization: `Bearer ${credential}` }
  const form = { client_id: resource.id, client_secret: resource.secret, token: credential }
  const asked = addresses.flatMap((address, index): Place[] => [
    {
      name: `/auth/verify of process ${index}`,
      accepts: async () =>
        (await post(address, '/auth/verify', { method: 'GET', headers, query: { scope: SCOPE } })).status === 200,
    },
    {
      name: `/1/me of process ${index}`,
      accepts: async () => carries((await post(address, '/1/me', { method: 'GET', headers })).body.scope),
    },
    {
      name: `introspection of process ${index}`,
      accepts: async () => carries((await post(address, '/oauth/introspect', { form })).body.scope),
    },
  ])
  const api = async () => (await fetch(`${own}/orders`, { headers })).status === 200
  return [...asked, { name: 'the API', accepts: api }]
}

const carries = (scope: string | undefined) => (scope ?? '').split(/[\s,]+/).includes(SCOPE)

/** The account's pages of each process, with the cookies of a browser. */
export function placesOfSession({ addresses, origin }: Harness, cookie: string): readonly Place[] {
  const headers = { host: new URL(origin).host, cookie }
  return addresses.map((address, index) => ({
    name: `pages of process ${index}`,
    accepts: async () => (await post(address, '/applications', { method: 'GET', headers })).status === 200,
  }))
}

export type Watched = {
  /** Until the slowest place refused. */
  readonly seconds: number
  readonly slowest: string
  readonly places: number
  readonly problems: readonly string[]
}

/** All places accept, then `change` is made, then all refuse for good. Time runs from the beginning of the change. */
export async function watchChange(places: readonly Place[], change: () => Promise<void>): Promise<Watched> {
  const problems: string[] = []
  // The first request looks it up, the second is answered from the cache.
  for (const when of ['cold', 'hot']) {
    const accepted = await Promise.all(places.map((place) => place.accepts()))
    for (const [index, place] of places.entries())
      if (!accepted[index]) problems.push(`${place.name} refused before the change, ${when}`)
  }
  const begun = performance.now()
  const watching = places.map((place) => untilRefused(place, begun, problems))
  await change()
  const times = await Promise.all(watching)
  const longest = Math.max(...times)
  const slowest = places[times.indexOf(longest)]?.name ?? ''
  return { seconds: longest / 1000, slowest, places: places.length, problems }
}

async function untilRefused(place: Place, begun: number, problems: string[]): Promise<number> {
  let refusedAt: number | null = null
  for (let refusals = 0; refusals < REFUSALS; await sleep(ASK_EVERY_MS)) {
    const accepts = await place.accepts()
    const since = performance.now() - begun
    if (!accepts) {
      refusals += 1
      refusedAt ??= since
    } else if (refusedAt !== null) {
      problems.push(`${place.name} accepted again after it had refused`)
      break
    } else if (since > GIVE_UP_MS) {
      problems.push(`${place.name} never refused`)
      return since
    }
  }
  return refusedAt ?? GIVE_UP_MS
}
