/**
 * Applications, devices and browsers that use two versions in turn: refreshes, checks, access keys, pages, and whole device flows
 * that create grants. Every answer other than the expected one is a failure, 503 as well.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../../src/config.ts'
import { SESSION } from '../../src/http/web/cookies.ts'
import { createTestSecret, digestTestSecret } from '../../src/secrets/test-secret.ts'
import { postNative } from '../rig/credentials.ts'
import { post, type WireAnswer } from '../rig/device.ts'
import type { TestDatabase } from '../rig/engines/database.ts'
import {
  type HeldKey,
  type HeldSession,
  type HeldTokenSet,
  type Population,
  populate,
} from '../scale/key-population.ts'

const LANES = 6
const PAUSE_MS = 25
const SIZES = { applications: 20, grants: 240, authenticators: 20 }

export type Cast = { readonly population: Population; readonly host: string; readonly testSecret: string }

/** The first account of the first release and its first user. */
const OWNER = { account: { id: 'acc_000000000000', slug: 'first-0' }, userId: 'usr_000000000000' }

/**
 * Who uses the service: applications, grants and sessions of the first account. Rows of the first release, not made by the flows
 * of this tree: those need its own migrations, which are applied under load.
 */
export async function prepareCast({ keys, publicUrl }: Config, database: Pick<TestDatabase, 'query'>): Promise<Cast> {
  const { account, userId } = OWNER
  await database.query(
    `with role as (
       insert into roles (id, account_id, name, holds_every_scope, created_at)
       values ('rol_000000000000', $1, 'administrator', true, now()) returning id)
     insert into user_roles (user_id, role_id) select $2, id from role`,
    [account.id, userId],
  )
  const population = await populate({ database, keys, account, userId, accessTokenLifetimeMs: 3_600_000 }, SIZES)
  const testSecret = createTestSecret()
  const { keyId, digest } = digestTestSecret(keys, testSecret)
  await database.query(
    `insert into application_test_modes (application_id, user_id, key_id, digest, started_at, ends_at)
     values ($1, $2, $3, $4, now(), now() + interval '1 day')`,
    [population.applications[0]?.id, userId, keyId, digest],
  )
  return { population, host: `${account.slug}.${new URL(publicUrl).host}`, testSecret }
}

export type UpgradeLoad = {
  /** Of the running processes, used in turn. */
  addresses: readonly string[]
  requests: number
  readonly failures: string[]
  /** Latencies since the last call. */
  takeTimes(): readonly number[]
  stop(): Promise<void>
}

type Ask = (what: string, send: (address: string) => Promise<WireAnswer>) => Promise<WireAnswer>

export function startUpgradeLoad(cast: Cast, addresses: readonly string[]): UpgradeLoad {
  let times: number[] = []
  let stopped = false
  const load: UpgradeLoad = {
    addresses,
    requests: 0,
    failures: [],
    takeTimes: () => times.splice(0),
    stop: async () => {
      stopped = true
      await Promise.all(lanes)
    },
  }
  const ask: Ask = async (what, send) => {
    const address = load.addresses[load.requests % load.addresses.length] ?? ''
    load.requests += 1
    const begun = performance.now()
    const answer = await send(address)
    times.push(performance.now() - begun)
    if (answer.status !== 200) throw new Error(`${what} was answered ${answer.status} ${answer.text.slice(0, 200)}`)
    return answer
  }
  const uses = usesOf(cast, ask)
  const lane = async (first: number) => {
    for (let at = first; !stopped; at += LANES) {
      await uses[at % uses.length]?.().catch((error) => load.failures.push(String(error)))
      await sleep(PAUSE_MS)
    }
  }
  const lanes = Array.from({ length: LANES }, (_, first) => lane(first))
  times = []
  return load
}

/** A credential is used by one lane at a time: their number is a multiple of the number of lanes. */
function usesOf({ population, host, testSecret }: Cast, ask: Ask): readonly (() => Promise<void>)[] {
  const { tokenSets, accessKeys, sessions, applications } = population
  const kinds = [
    tokenSets.map((held) => () => refresh(ask, held)),
    accessKeys.map((held) => () => useKey(ask, held)),
    accessKeys.map((_, at) => () => visit(ask, sessions[at % sessions.length] ?? { cookie: '' }, host)),
    accessKeys.map(() => () => connect(ask, applications[0] ?? { id: '', secret: '' }, testSecret)),
  ]
  return Array.from({ length: accessKeys.length }, (_, at) => kinds.flatMap((uses) => uses[at] ?? [])).flat()
}

async function refresh(ask: Ask, held: HeldTokenSet): Promise<void> {
  const { body } = await ask('a refresh', (address) =>
    postNative({ address }, held.by, '/auth/oauth/refresh', { refresh_token: held.refresh }),
  )
  Object.assign(held, { access: body.access_token, refresh: body.refresh_token })
  await check(ask, held.access)
}

/** Checked and rotated: the row is written. */
async function useKey(ask: Ask, held: HeldKey): Promise<void> {
  await check(ask, held.key)
  const { body } = await ask('a rotation', (address) =>
    postNative({ address }, held.by, '/auth/key/rotate', { access_key: held.key }),
  )
  held.key = body.access_key
}

async function check(ask: Ask, credential: string): Promise<void> {
  const headers = { authorization: `Bearer ${credential}` }
  await ask('a check', (address) => post(address, '/auth/verify', { method: 'GET', headers }))
}

async function visit(ask: Ask, held: HeldSession, host: string): Promise<void> {
  const headers = { host, cookie: `${SESSION}=${held.cookie}` }
  await ask('a page', (address) => post(address, '/applications', { method: 'GET', headers }))
}

/** A device flow from the request to the credentials: one version issues the code, the other decides it or delivers. */
async function connect(ask: Ask, by: Population['applications'][number], testSecret: string): Promise<void> {
  const { body: code } = await ask('a code request', (address) =>
    postNative({ address }, by, '/auth/oauth/device/code', {}),
  )
  await ask('a decision', (address) =>
    postNative({ address }, by, '/auth/test/decision', {
      test_secret: testSecret,
      user_code: code.user_code,
      decision: 'grant',
    }),
  )
  const { body } = await ask('a poll', (address) =>
    postNative({ address }, by, '/auth/oauth/device/polling', { device_code: code.device_code }),
  )
  await check(ask, body.access_token)
}

export function quantile(times: readonly number[], part: number): number {
  const sorted = times.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
}
