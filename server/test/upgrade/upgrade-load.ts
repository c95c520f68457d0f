/**
 * Devices and browsers that use several processes in turn: whole device flows, refreshes, rotations, checks and pages. Every
 * answer other than the expected one is a failure, 503 as well.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { SESSION } from '../../src/http/web/cookies.ts'
import { signSession } from '../../src/secrets/web-texts.ts'
import { postNative } from '../rig/credentials.ts'
import { post, type WireAnswer, type WireVariant } from '../rig/device.ts'
import type { TestService } from '../rig/service.ts'
import { startSession } from '../rig/signed-in.ts'

const LANES: readonly WireVariant[] = ['oauth', 'key', 'oauth', 'key']
const PAUSE_MS = 25

export type UpgradeLoad = {
  /** Of the running processes, used in turn. */
  addresses: readonly string[]
  requests: number
  readonly failures: string[]
  stop(): Promise<void>
}

type Held = { readonly credential: string; readonly refreshToken: string }

type Given = { readonly service: TestService; readonly testSecret: string; readonly addresses: readonly string[] }

export async function startUpgradeLoad({ service, testSecret, addresses }: Given): Promise<UpgradeLoad> {
  const { application } = service
  const session = signSession(service.config.keys, await startSession(service, service.user), service.account.slug)
  const page = {
    host: `${service.account.slug}.${new URL(service.config.publicUrl).host}`,
    cookie: `${SESSION}=${session}`,
  }

  const ask = async (what: string, send: (address: string) => Promise<WireAnswer>): Promise<WireAnswer['body']> => {
    const address = load.addresses[load.requests % load.addresses.length] ?? ''
    load.requests += 1
    const answer = await send(address)
    if (answer.status !== 200) throw new Error(`${what} was answered ${answer.status} ${answer.text.slice(0, 200)}`)
    return answer.body
  }
  const request = (what: string, path: string, given: Record<string, string>) =>
    ask(what, (address) => postNative({ address }, application, path, given))
  const check = (credential: string) =>
    ask('a check', (address) =>
      post(address, '/auth/verify', { method: 'GET', headers: { authorization: `Bearer ${credential}` } }),
    )
  const visit = () => ask('a page', (address) => post(address, '/applications', { method: 'GET', headers: page }))

  const connect = async (variant: WireVariant): Promise<Held> => {
    const code = await request('a code request', `/auth/${variant}/device/code`, {})
    const decision = { test_secret: testSecret, user_code: code.user_code, decision: 'grant' }
    await request('a decision', '/auth/test/decision', decision)
    return heldFrom(await request('a poll', `/auth/${variant}/device/polling`, { device_code: code.device_code }))
  }
  const renew = async (variant: WireVariant, { credential, refreshToken }: Held): Promise<Held> =>
    heldFrom(
      variant === 'oauth'
        ? await request('a refresh', '/auth/oauth/refresh', { refresh_token: refreshToken })
        : await request('a rotation', '/auth/key/rotate', { access_key: credential }),
    )

  /** One grant is renewed all the time, and another one is made each time. */
  const lane = async (variant: WireVariant) => {
    let held = await connect(variant)
    while (!stopped) {
      await check(held.credential)
      held = await renew(variant, held)
      await connect(variant)
      await visit()
      await sleep(PAUSE_MS)
    }
  }
  let stopped = false
  const load: UpgradeLoad = {
    addresses,
    requests: 0,
    failures: [],
    stop: async () => {
      stopped = true
      await Promise.all(lanes)
    },
  }
  const lanes = LANES.map((variant) => lane(variant).catch((error) => load.failures.push(String(error))))
  return load
}

function heldFrom(body: WireAnswer['body']): Held {
  return { credential: body.access_token ?? body.access_key, refreshToken: body.refresh_token ?? '' }
}
