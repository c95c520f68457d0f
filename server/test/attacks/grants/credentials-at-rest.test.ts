/** TK-14, TK-15 and TK-17: a stolen database, an unused key, a cached answer. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listOwnGrants } from '../../../src/flows/grants/connected-applications.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { matchApplicationSecret } from '../../../src/secrets/application-secret.ts'
import { makeAccessKey, makeTokenSet } from '../../../src/secrets/credentials.ts'
import { verifyAuthorizationCode } from '../../../src/secrets/dialog-texts.ts'
import { type Keyset, parseKeyset } from '../../../src/secrets/keyset.ts'
import { verifySession } from '../../../src/secrets/web-texts.ts'
import { askMe, connect } from '../../rig/connect.ts'
import { postNative, postStandard } from '../../rig/credentials.ts'
import { post, type WireAnswer } from '../../rig/device.ts'
import { allow, exchange, makeDialogApplication, refresh } from '../../rig/dialog.ts'
import { CALLBACK, makeUser } from '../../rig/make.ts'
import { makeGrant } from '../../rig/records.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { signInAs } from '../../rig/signed-in.ts'
import { figure, sized } from '../../rig/size.ts'
import { textOf } from '../../rig/web.ts'
import { type PrivateRedis, startPrivateRedis } from '../../scale/private-redis.ts'

const DAY_MS = 24 * 60 * 60 * 1000

let service: TestService
let engine: PrivateRedis
beforeAll(async () => {
  engine = await startPrivateRedis()
  service = await startTestService({ REDIS_URL: engine.url }, { clock: true })
})
afterAll(async () => {
  await service.stop()
  engine.stop()
})

describe('TK-14: a stolen database', () => {
  /** Every column of every row, as text. */
  async function dump(): Promise<string> {
    const tables = await service.database.query<{ name: string }>(
      `select relname as name from pg_class
       where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`,
    )
    const parts = await Promise.all(
      tables.map(({ name }) => service.database.query<{ row: string }>(`select t::text as row from public.${name} t`)),
    )
    return parts
      .flat()
      .map(({ row }) => row)
      .join('\n')
  }

  /** Issued credentials and links of every kind, all valid. */
  async function handOut(rounds: number): Promise<string[]> {
    const texts = [service.application.secret]
    for (let round = 0; round < rounds; round += 1) {
      const [token, key] = [await connect(service), await connect(service, { variant: 'key' })]
      const renewed = await refresh(service, service.application, token.refreshToken)
      const replaced = await postNative(service, service.application, '/auth/key/rotate', {
        access_key: key.credential,
      })
      texts.push(token.credential, token.refreshToken, token.deviceCode, renewed.body.access_token)
      texts.push(renewed.body.refresh_token, key.credential, replaced.body.access_key)
    }
    const application = await makeDialogApplication(service)
    const [waiting, allowed] = [await service.device().code(), await allow(service, { application })]
    const exchanged = await exchange(service, application, await allow(service, { application }))
    texts.push(waiting.device_code, application.secret, allowed.code, allowed.pkce.verifier)
    texts.push(exchanged.body.access_token, exchanged.body.refresh_token)
    const web = await signInAs(service, service.user)
    return [...texts, ...web.cookies.values()]
  }

  const PREFIXES = ['', 'lka_0000', 'lkr_0000', 'lkk_0000', 'lkd_0000', 'lkc_0000', 'lks_', 'lkw_', 'lkl_']

  const TEXTS = sized(10_000, 2_000)

  it(`contains no issued credential, and none of its more than ${figure(TEXTS)} values is accepted by a route`, async () => {
    const texts = await handOut(sized(80, 15))
    const stolen = await dump()
    for (const text of texts) {
      const bare = text.replace(/^lk(?:[adrkc]_0000|._)/, '')
      const mac = Buffer.from(bare, 'base64url').subarray(-16)
      for (const trace of [bare, mac.toString('hex'), mac.toString('base64url')]) {
        expect(stolen.includes(trace), text.slice(0, 4)).toBe(false)
      }
    }

    const bytes = [...stolen.matchAll(/\\x([0-9a-f]{16,})/g)].map(([, hex = '']) => Buffer.from(hex, 'hex'))
    const uuids = [...stolen.matchAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g)].map(([text]) => text)
    const found = new Set([
      ...[...stolen.matchAll(/[A-Za-z0-9_-]{8,}/g)].map(([text]) => text),
      ...uuids.map((text) => Buffer.from(text.replaceAll('-', ''), 'hex').toString('base64url')),
      ...bytes.map((each) => each.toString('base64url')),
    ])
    const { keys } = service.config
    const { secrets } = service.context.applications.find(service.application.id) ?? { secrets: [] }
    let tried = 0
    for (const text of found) {
      for (const made of PREFIXES.map((prefix) => prefix + text)) {
        tried += 1
        const opened = [
          service.context.verifyCredential(made),
          service.context.verifyDeviceCode(made, service.application.id),
          verifyAuthorizationCode(keys, made),
          verifySession(keys, made, service.account.slug),
          matchApplicationSecret(keys, secrets, made),
        ]
        expect(opened, made).toEqual([null, null, null, null, null])
      }
    }
    expect(tried).toBeGreaterThan(TEXTS)

    const answers = new Set<number>()
    for (const text of [...found].slice(0, sized(1_000, 100))) answers.add((await askMe(service, text)).status)
    expect([...answers]).toEqual([401])
  })

  it('nor do the files of PostgreSQL and Redis contain one: tables, write-ahead log, snapshot and append-only file', async () => {
    const redis = new Redis(engine.url)
    await redis.config('SET', 'appendonly', 'yes')
    const texts = await handOut(sized(80, 2))
    await redis.save()
    const [, redisFolder = ''] = (await redis.config('GET', 'dir')) as string[]
    redis.disconnect()
    await service.database.query('checkpoint')
    const [at] = await service.database.query<{ folder: string; database: string }>(
      `select current_setting('data_directory') as folder,
         (select oid::text from pg_database where datname = current_database()) as database`,
    )
    const files = [
      ...filesIn(redisFolder),
      ...filesIn(join(at?.folder ?? '', 'base', at?.database ?? '')),
      ...filesIn(join(at?.folder ?? '', 'pg_wal')).filter((file) => Date.now() - statSync(file).mtimeMs < 60_000),
    ]
    expect(files.map((file) => basename(file))).toEqual(expect.arrayContaining(['dump.rdb']))
    expect(files.filter((file) => file.includes('appendonly')).length).toBeGreaterThan(0)
    const kept = files.map((file) => readFileSync(file, 'latin1'))
    expect(
      kept.filter((text) => text.includes(service.application.id)).length,
      'it is the right place',
    ).toBeGreaterThan(1)
    const found = new Set(kept.flatMap((text) => text.match(/[A-Za-z0-9_-]{30,}/g) ?? []))
    expect(texts.filter((text) => found.has(text) || found.has(text.replace(/^lk(?:[adrkc]_0000|._)/, '')))).toEqual([])
  })

  it('is not enough to forge a credential: no value in it is the signing key', async () => {
    await connect(service)
    const stolen = await dump()
    const grants = await service.database.query<{ secret: string; generation: number; key_generation: number }>(
      'select secret, generation, key_generation from grants where revoked_at is null limit 5',
    )
    const candidates = [...stolen.matchAll(/\\x([0-9a-f]{64})/g)].map(([, hex = '']) => Buffer.from(hex, 'hex'))
    expect(candidates.length).toBeGreaterThan(0)
    for (const candidate of [...candidates.slice(0, 50), Buffer.alloc(32), Buffer.alloc(32, 'latchkey')]) {
      const forger = parseKeyset(`1:${candidate.toString('base64url')}`) as Keyset
      for (const { secret, generation, key_generation } of grants) {
        const grant = makeGrant({ secret, generation, keyGeneration: key_generation })
        const set = makeTokenSet(forger, grant, Date.now(), 3_600_000)
        for (const text of [set.accessToken, set.refreshToken, makeAccessKey(forger, grant)]) {
          expect(service.context.verifyCredential(text)).toBeNull()
        }
      }
    }
  })
})

/** Of a folder and those in it. A file may be gone meanwhile. */
function filesIn(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return names.map((name) => join(folder, name)).filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile())
}

describe('TK-15: an unused key', () => {
  const { t } = wordsFor('en')

  it('is listed as unused after a day and after 90, until it is used', async () => {
    const user = await makeUser(service.context.db, service.account.slug, { holds: ['orders:read', 'orders:write'] })
    const { credential, grantId } = await connect(service, { user, variant: 'key' })
    for (const days of [1, 89]) {
      await service.database.advance(days * DAY_MS)
      const { grants } = await listOwnGrants(service.context, user.id)
      expect(grants).toMatchObject([{ id: grantId, lastUsedOn: null, variant: 'access_key' }])
      const page = await (await signInAs(service, user)).get('/applications')
      expect(textOf(page.text)).toContain(`${t('grant.last_used')} ${t('grant.not_used')}`)
    }
    expect((await askMe(service, credential)).status).toBe(200)
    await service.context.grantCache.saveUses()
    const [today] = await service.database.query<{ day: Date }>('select test_clock.now()::date::timestamptz as day')
    const { grants } = await listOwnGrants(service.context, user.id)
    expect(grants[0]?.lastUsedOn).toBe(today?.day.getTime())
    const page = await (await signInAs(service, user)).get('/applications')
    expect(textOf(page.text)).not.toContain(t('grant.not_used'))
  })
})

describe('TK-17: an answer with a credential', () => {
  const HEADERS = { 'cache-control': 'no-store', pragma: 'no-cache', 'x-content-type-options': 'nosniff' }
  const ASKING = { 'accept-encoding': 'gzip, br, deflate, zstd', 'if-none-match': '*' }

  function expectNotKept(what: string, { headers }: WireAnswer): void {
    expect([what, headers]).toEqual([what, expect.objectContaining(HEADERS)])
    for (const name of ['etag', 'last-modified', 'expires', 'age', 'content-encoding', 'transfer-encoding']) {
      expect([what, name, headers[name]]).toEqual([what, name, undefined])
    }
  }

  const withXml = (path: string) => [path, `/1${path}`, `${path}.xml`, `/1${path}.xml`]

  it('is neither cached nor compressed, at every route', async () => {
    const application = await makeDialogApplication(service, { deviceFlow: true })
    const { id, secret } = application
    const houseForm = { SVCappid: id, SVCsecret: secret }
    const standardForm = { client_id: id, client_secret: secret }
    const statuses = new Map<string, Set<number>>()
    const send = async (path: string, form: Record<string, string> | null, headers = {}) => {
      const sent = form ? { form } : { method: 'GET' }
      const answer = await post(service.address, path, { ...sent, headers: { ...ASKING, ...headers } })
      expectNotKept(path, answer)
      const known = statuses.get(path.replace(/^\/1|\.xml$/g, '')) ?? new Set()
      statuses.set(path.replace(/^\/1|\.xml$/g, ''), known.add(answer.status))
      return answer
    }

    for (const path of withXml('/auth/oauth/token')) {
      const { code, pkce } = await allow(service, { application })
      const form = { ...houseForm, code, redirect_uri: CALLBACK, code_verifier: pkce.verifier }
      await send(path, form)
      await send(path, form)
    }
    for (const path of withXml('/auth/oauth/refresh')) {
      const { refreshToken } = await connect(service, { application })
      for (const refresh_token of [refreshToken, 'x']) await send(path, { ...houseForm, refresh_token })
    }
    for (const path of withXml('/auth/key/rotate')) {
      const { credential } = await connect(service, { application, variant: 'key' })
      for (const access_key of [credential, 'x']) await send(path, { ...houseForm, access_key })
    }
    for (const path of [...withXml('/auth/oauth/device/polling'), ...withXml('/auth/key/device/polling')]) {
      const device = service.device(path.includes('key') ? 'key' : 'oauth', application)
      const { device_code, user_code } = await device.code()
      await service.grant(user_code)
      for (let poll = 0; poll < 2; poll += 1) await send(path, { ...houseForm, device_code })
    }
    const { credential, refreshToken } = await connect(service, { application })
    for (const text of [credential, 'x']) {
      for (const path of [...withXml('/me'), ...withXml('/auth/verify')]) {
        await send(path, null, { authorization: `Bearer ${text}` })
      }
      await send('/oauth/introspect', { ...standardForm, token: text })
    }
    for (const refresh_token of [refreshToken, 'x']) {
      await send('/oauth/token', { ...standardForm, grant_type: 'refresh_token', refresh_token })
    }
    const both = new Set([200, 400])
    expect(Object.fromEntries(statuses)).toEqual({
      '/auth/oauth/token': both,
      '/auth/oauth/refresh': both,
      '/auth/key/rotate': both,
      '/auth/oauth/device/polling': both,
      '/auth/key/device/polling': both,
      '/me': new Set([200, 401]),
      '/auth/verify': new Set([200, 401]),
      '/oauth/introspect': new Set([200]),
      '/oauth/token': both,
    })
  })

  it('is readable only by pages of the origin of a redirect URI', async () => {
    const application = await makeDialogApplication(service)
    for (const origin of ['https://app.example', 'https://evil.example', 'null', 'https://app.example:444']) {
      const answer = await post(service.address, '/oauth/token', {
        form: {
          client_id: application.id,
          client_secret: application.secret,
          grant_type: 'refresh_token',
          refresh_token: 'x',
        },
        headers: { origin },
      })
      expect(answer.headers['access-control-allow-origin']).toBe(
        origin === new URL(CALLBACK).origin ? origin : undefined,
      )
    }
    const introspected = await postStandard(service, application, '/oauth/introspect', { token: 'x' })
    expect(introspected.headers['access-control-allow-origin']).toBeUndefined()
  })
})
