/** Everybody who uses what a key made, at once and over and over: devices, servers and browsers. No request may fail. */
import { SESSION } from '../../src/http/web/cookies.ts'
import { askVerify } from '../races/issued-grants.ts'
import { postNative } from '../rig/credentials.ts'
import { Device, post, type WireAnswer, whenServed } from '../rig/device.ts'
import type { HeldKey, HeldSession, HeldTokenSet, Population } from './key-population.ts'

const LANES = 16

/** One credential in so many is also checked, as a gateway does. */
const CHECK_EVERY = 5

export type Load = {
  /** Addresses of running processes; may change at any time. */
  addresses: readonly string[]
  requests: number
  readonly failures: string[]
}

type Use = (load: Load) => Promise<void>

/** Uses everything once. `stop`: ends early. */
export async function useAll(load: Load, uses: readonly Use[], stop: () => boolean = () => false): Promise<void> {
  let next = 0
  const lane = async () => {
    while (next < uses.length && !stop()) {
      const use = uses[next]
      next += 1
      await use?.(load).catch((error) => load.failures.push(String(error)))
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
}

/** In turn, so that everything is in use all the time. `rotates`: the owner replaces this access key. */
export function usesOf(population: Population, host: string, rotates: (key: HeldKey) => boolean): readonly Use[] {
  const kinds = [
    population.applications.map((by) => (load: Load) => requestCode(load, by)),
    population.tokenSets.map((held) => (load: Load) => refresh(load, held)),
    population.accessKeys.map((held) => (load: Load) => useKey(load, held, rotates(held))),
    population.sessions.map((held) => (load: Load) => visit(load, held, host)),
  ]
  const longest = Math.max(...kinds.map((uses) => uses.length))
  return Array.from({ length: longest }, (_, index) => kinds.flatMap((uses) => uses[index] ?? [])).flat()
}

async function requestCode(load: Load, by: Population['applications'][number]): Promise<void> {
  await ask(load, 'a code request', (address) => new Device(address, by).request())
}

async function refresh(load: Load, held: HeldTokenSet): Promise<void> {
  const { body } = await ask(load, 'a refresh', (address) =>
    postNative({ address }, held.by, '/auth/oauth/refresh', { refresh_token: held.refresh }),
  )
  Object.assign(held, { access: body.access_token, refresh: body.refresh_token })
  if (load.requests % CHECK_EVERY === 0) await verify(load, held.access)
}

async function useKey(load: Load, held: HeldKey, rotates: boolean): Promise<void> {
  if (!rotates || load.requests % CHECK_EVERY === 0) await verify(load, held.key)
  if (!rotates) return
  const { body } = await ask(load, 'a rotation', (address) =>
    postNative({ address }, held.by, '/auth/key/rotate', { access_key: held.key }),
  )
  held.key = body.access_key
}

async function visit(load: Load, held: HeldSession, host: string): Promise<void> {
  const { headers } = await ask(load, 'a page', (address) =>
    post(address, '/applications', { method: 'GET', headers: { host, cookie: `${SESSION}=${held.cookie}` } }),
  )
  const renewed = [headers['set-cookie'] ?? []].flat().find((cookie) => cookie.startsWith(`${SESSION}=`))
  if (renewed) held.cookie = renewed.slice(SESSION.length + 1).split(';')[0] ?? ''
}

async function verify(load: Load, credential: string): Promise<void> {
  await ask(load, 'a check', (address) => checked(address, credential))
}

async function checked(address: string, credential: string): Promise<WireAnswer> {
  return { status: await askVerify(address, credential), headers: {}, text: '', body: null }
}

/** 503 says "try again shortly", which is no failure. */
async function ask(load: Load, what: string, send: (address: string) => Promise<WireAnswer>): Promise<WireAnswer> {
  load.requests += 1
  const answer = await whenServed(() => send(load.addresses[load.requests % load.addresses.length] ?? ''))
  if (answer.status !== 200) throw new Error(`${what} was answered ${answer.status} ${answer.text.slice(0, 100)}`)
  return answer
}
