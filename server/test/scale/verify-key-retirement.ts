/**
 * Checks that a signing key can be retired while what it signed is in use, and that no request fails.
 *
 *   npm run verify:key-retirement              200 applications, 2,000 grants, 200 authenticators
 *   npm run verify:key-retirement -- --full    10,000 applications, 100,000 grants, 10,000 authenticators
 *
 * Everything is made with key 1. Two processes are replaced twice, as docs/operations.md, "Keys", says, until key 2 signs, while
 * devices, servers and browsers go on. Then all of it is used once, a tenth of the access keys is not rotated, and half of the
 * users set up their authenticators anew. The dry run must count exactly the rest, retiring must be refused, and be done by force.
 * At the end nothing that key 1 signed is accepted, and nothing that was moved is refused, also without key 1.
 */
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startEngines } from '../../../tools/engines.ts'
import { closeContext, createContext } from '../../src/app.ts'
import { SESSION } from '../../src/http/web/cookies.ts'
import { createKey } from '../../src/secrets/keyset.ts'
import { insertAuthenticator } from '../../src/store/sign-in/methods.ts'
import { askVerify } from '../races/issued-grants.ts'
import { postNative } from '../rig/credentials.ts'
import { post } from '../rig/device.ts'
import { createTestDatabase } from '../rig/engines/database.ts'
import { makeAccount, makeConfig, makeEnvironment, makeScopes, makeUser } from '../rig/make.ts'
import { type ServerProcess, startServerProcess } from '../rig/process/server-process.ts'
import { type Load, useAll, usesOf } from './key-load.ts'
import { populate } from './key-population.ts'

const EXECUTABLE = new URL('../../dist/latchkey.js', import.meta.url).pathname

const { values } = parseArgs({ options: { full: { type: 'boolean', default: false } } })
const sizes = values.full
  ? { applications: 10_000, grants: 100_000, authenticators: 10_000 }
  : { applications: 200, grants: 2_000, authenticators: 200 }

const ACCESS_TOKEN_MS = 60_000
const SLUG = 'acme'
const HOST = `${SLUG}.service.example`
/** Owners who do not rotate: every tenth access key. */
const UNROTATED_EVERY = 10
/** Requests with what key 2 has signed anew: after key 1 was retired, and again after it left LATCHKEY_KEYS. */
const AFTERWARDS = values.full ? 5_000 : 1_000
/** Of each kind, tried with key 1 at the end. */
const SAMPLE_SIZE = 100

const begun = performance.now()
process.env.DATABASE_URL ??= (await startEngines()).databaseUrl
const database = await createTestDatabase()
const [key1, key2] = [createKey(1), createKey(2)]
const environmentWith = (keys: string) => ({
  DATABASE_URL: database.url,
  LATCHKEY_KEYS: keys,
  PUBLIC_URL: 'https://service.example',
  ACCESS_TOKEN_LIFETIME: String(ACCESS_TOKEN_MS / 1000),
  ACCESS_KEY_OVERLAP: '0',
  DEVICE_CODE_LIFETIME: '20',
})
const problems: string[] = []
const demand = (holds: boolean, problem: string) => {
  if (!holds) problems.push(problem)
}
const seconds = () => ((performance.now() - begun) / 1000).toFixed(0)
const say = (words: string) => console.log(`key-retirement: ${words}`)

const context = await createContext(makeConfig(environmentWith(key1)))
const load: Load = { addresses: [], requests: 0, failures: [] }
let servers: ServerProcess[] = []
try {
  const account = await makeAccount(context.db, { slug: SLUG })
  const owner = await makeUser(context.db, SLUG)
  await makeScopes(context.db, ['orders:read'])
  const given = {
    database,
    keys: context.config.keys,
    account,
    userId: owner.id,
    accessTokenLifetimeMs: ACCESS_TOKEN_MS,
  }
  const population = await populate(given, sizes)
  const { applications, tokenSets, accessKeys, sessions, userIds } = population
  const original = {
    refresh: tokenSets.map(({ refresh }) => refresh),
    keys: accessKeys.map(({ key }) => key),
    cookies: sessions.map(({ cookie }) => cookie),
  }
  say(`populated after ${seconds()} s`)

  await replaceServers(key1)
  const lazy = new Set(accessKeys.filter((_, index) => index % UNROTATED_EVERY === 0))
  const uses = usesOf(population, HOST, (held) => !lazy.has(held))
  let rotated = false
  const meanwhile = (async () => {
    while (!rotated) await useAll(load, uses, () => rotated)
  })()
  await replaceServers(`${key1},${key2}`)
  await replaceServers(`${key2},${key1}`)
  rotated = true
  await meanwhile
  say(`key 2 signs after ${seconds()} s and ${load.requests} requests`)

  await useAll(load, uses)
  const told = latchkey('key', 'announce', '1')
  for (const userId of userIds.filter((_, index) => index % 2 === 0)) {
    const fresh = { id: randomUUID(), keyId: 2, lastStep: 0 }
    await context.db.transaction((tx) => insertAuthenticator(tx, userId, fresh))
  }
  // What was replaced lives on for a while: access tokens for a minute, codes for less.
  const until = performance.now() + ACCESS_TOKEN_MS + 5_000
  await useAll(load, uses.slice(0, 500))
  await sleep(Math.max(0, until - performance.now()))
  say(`everything was used with key 2 after ${seconds()} s and ${load.requests} requests`)

  const left = { accessKeys: lazy.size, authenticators: Math.floor(userIds.length / 2) }
  const nothing = { applicationSecrets: 0, tokenSets: 0, sessions: 0, webhooks: 0, links: 0, codes: 0 }
  const expected = { id: 1, ...nothing, ...left }
  const counted = latchkey('key', 'retire', '1', '--dry-run')
  for (const [name, count] of Object.entries(expected)) {
    demand(counted.json[name] === count, `the dry run counts ${counted.json[name]} ${name} instead of ${count}`)
  }
  demand(told.json.authenticatorOwners === userIds.length, `${told.json.authenticatorOwners} users were told`)
  demand(latchkey('key', 'retire', '1').status === 1, 'retiring was not refused')
  const forced = latchkey('key', 'retire', '1', '--force')
  demand(forced.status === 0, `by force it ended with ${forced.status}: ${forced.stderr}`)
  await sleep(3_000)
  const opened = await openedByKey1()
  demand(opened === 0, `key 1 opened ${opened} things while it is in LATCHKEY_KEYS`)
  const moved = { ...population, accessKeys: accessKeys.filter((held) => !lazy.has(held)) }
  const movedUses = usesOf(moved, HOST, () => false)
  await useAll(load, movedUses.slice(0, AFTERWARDS))
  await replaceServers(key2)
  await useAll(load, movedUses.slice(0, AFTERWARDS))
  const openedLater = await openedByKey1()
  demand(openedLater === 0, `key 1 opened ${openedLater} things after it was taken out`)
  demand(load.failures.length === 0, `${load.failures.length} requests failed: ${load.failures.slice(0, 5).join('; ')}`)
  say(
    `applications=${applications.length} grants=${tokenSets.length + accessKeys.length} authenticators=${userIds.length} sessions=${sessions.length} requests=${load.requests} failed=${load.failures.length} counted=${counted.json.accessKeys}+${counted.json.authenticators} told=${told.json.authenticatorOwners}+${told.json.administrators} ended=${forced.json.accessKeys} opened=${opened + openedLater} seconds=${seconds()} problems=${problems.length}`,
  )

  /** Tries what key 1 made, lazy owners' keys first among it. */
  async function openedByKey1(): Promise<number> {
    const address = load.addresses[0] ?? ''
    const tries = [
      ...[...lazy].slice(0, SAMPLE_SIZE).map(({ key }) => askVerify(address, key)),
      ...original.keys.slice(0, SAMPLE_SIZE).map((key) => askVerify(address, key)),
      ...tokenSets.slice(0, SAMPLE_SIZE).map(async ({ by }, index) => {
        const token = original.refresh[index] ?? ''
        return (await postNative({ address }, by, '/auth/oauth/refresh', { refresh_token: token })).status
      }),
      ...original.cookies.slice(0, SAMPLE_SIZE).map(async (cookie) => {
        const headers = { host: HOST, cookie: `${SESSION}=${cookie}` }
        return (await post(address, '/applications', { method: 'GET', headers })).status
      }),
    ]
    return (await Promise.all(tries)).filter((status) => status === 200).length
  }
} finally {
  await Promise.all(servers.map((server) => server.kill('SIGTERM')))
  await closeContext(context)
  await database.drop()
}
for (const problem of problems) say(`FAILED: ${problem}`)
if (problems.length > 0) process.exitCode = 1

/** One process after the other, as a careful operator does: a new one takes over before the old one ends. */
async function replaceServers(keys: string): Promise<void> {
  const old = servers
  servers = []
  for (const index of [0, 1]) {
    const fresh = await startServerProcess(environmentWith(keys))
    servers.push(fresh)
    load.addresses = [...servers, ...old.slice(index + 1)].map(({ address }) => address)
    // What is under way with the old one is answered first.
    await sleep(2_000)
    await old[index]?.kill('SIGTERM')
  }
}

function latchkey(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [EXECUTABLE, ...args, '--json'], {
    env: { PATH: process.env.PATH, ...makeEnvironment(environmentWith(`${key2},${key1}`)) },
    encoding: 'utf8',
  })
  return { status, stderr: stderr.trim(), json: status === 0 ? JSON.parse(stdout) : {} }
}
