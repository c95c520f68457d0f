/** TK-08 to TK-10: a revoked credential is invalid, a failed revocation does not report success, and nobody revokes the credentials of others. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startService } from '../../../src/app.ts'
import { makeAccessKey, makeTokenSet } from '../../../src/secrets/credentials.ts'
import { createGrantSecret } from '../../../src/secrets/random.ts'
import { askMe, type Connected, connect } from '../../rig/connect.ts'
import { grantEvents, grantLine, postNative, postStandard, restingRows } from '../../rig/credentials.ts'
import { post, type WireAnswer } from '../../rig/device.ts'
import { makeDialogApplication, refresh } from '../../rig/dialog.ts'
import { useOwnTimeouts } from '../../rig/engines/long-timeouts.ts'
import { CALLBACK, type MadeApplication, makeConfig } from '../../rig/make.ts'
import { makeGrant } from '../../rig/records.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

useOwnTimeouts()

let service: TestService
beforeAll(async () => {
  service = await startTestService({}, { clock: true })
})
afterAll(() => service.stop())

const told = ({ status, text }: WireAnswer) => [status, text]
const NOTHING = [200, '{}']

/** Every route by which an application revokes a credential. */
type Route = readonly [string, (by: MadeApplication, text: string) => Promise<WireAnswer>]
const tokenRoutes: readonly Route[] = [
  ['/auth/oauth/revoke', (by, token) => postNative(service, by, '/auth/oauth/revoke', { token })],
  ['/oauth/revoke', (by, token) => postStandard(service, by, '/oauth/revoke', { token })],
]
const keyRoutes: readonly Route[] = [
  ['/auth/key/revoke', (by, access_key) => postNative(service, by, '/auth/key/revoke', { access_key })],
  ['/oauth/revoke', (by, token) => postStandard(service, by, '/oauth/revoke', { token })],
]

const connectAs = (kind: 'access token' | 'refresh token' | 'access key') =>
  connect(service, { variant: kind === 'access key' ? 'key' : 'oauth' })
const textOf = (kind: string, { credential, refreshToken }: Connected) =>
  kind === 'refresh token' ? refreshToken : credential

describe('TK-08: a revoked credential', () => {
  const routes = [
    ...tokenRoutes.map(([path, give]) => ['access token', path, give] as const),
    ...tokenRoutes.map(([path, give]) => ['refresh token', path, give] as const),
    ...keyRoutes.map(([path, give]) => ['access key', path, give] as const),
  ]

  it.each(routes)('%s revoked at %s ends all credentials of its grant', async (kind, _path, give) => {
    const connected = await connectAs(kind)
    expect((await askMe(service, connected.credential)).status).toBe(200)
    expect(told(await give(service.application, textOf(kind, connected)))).toEqual(NOTHING)
    await service.context.grantCache.pull()
    expect((await askMe(service, connected.credential)).status).toBe(401)
    if (connected.refreshToken !== '') {
      const refused = await refresh(service, service.application, connected.refreshToken)
      expect([refused.status, refused.body.error]).toEqual([400, 'invalid_grant'])
    }
    expect(await grantLine(service, connected.grantId)).toMatchObject({ revocation_reason: 'revoked_by_application' })
    expect(told(await give(service.application, textOf(kind, connected))), 'and once more').toEqual(NOTHING)
    expect(await grantEvents(service, connected.grantId)).toEqual([
      { kind: 'grant.revoked', detail: { reason: 'revoked_by_application' } },
    ])
  })

  it('is invalid within two seconds in every process, also under load, and stays so', async () => {
    const other = await startService(makeConfig({ DATABASE_URL: service.database.url }))
    const answers: { address: string; status: number; at: number }[] = []
    try {
      const { credential } = await connect(service)
      let hammering = true
      const hammer = async (address: string) => {
        while (hammering) {
          const { status } = await askMe({ ...service, address }, credential)
          answers.push({ address, status, at: performance.now() })
          await sleep(5)
        }
      }
      const hammers = [service.address, other.address].flatMap((address) => [hammer(address), hammer(address)])
      await sleep(300)
      await postNative(service, service.application, '/auth/oauth/revoke', { token: credential })
      const revokedAt = performance.now()
      await sleep(2_600)
      hammering = false
      await Promise.all(hammers)
      expect(new Set(answers.filter(({ at }) => at < revokedAt - 100).map(({ status }) => status))).toEqual(
        new Set([200]),
      )
      for (const address of [service.address, other.address]) {
        const late = answers.filter((each) => each.address === address && each.at > revokedAt + 2_000)
        expect(new Set(late.map(({ status }) => status))).toEqual(new Set([401]))
      }
    } finally {
      await other.stop()
    }
  })
})

describe('TK-09: PostgreSQL fails during a revocation', () => {
  const reported: Route = [
    '/auth/report',
    (_, credential) => post(service.address, '/auth/report', { form: { credential } }),
  ]
  const routes = [
    ...tokenRoutes.map(([path, give]) => ['access token', path, give] as const),
    ...keyRoutes.map(([path, give]) => ['access key', path, give] as const),
    ['refresh token', reported[0], reported[1]] as const,
  ]

  /** 503 with Retry-After, in both dialects. */
  function expectUnavailable(answer: WireAnswer): void {
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '1'])
    expect(answer.body.error).toMatch(/^(unavailable|temporarily_unavailable)$/)
  }

  async function expectRetryWorks(connected: Connected, retry: () => Promise<WireAnswer>): Promise<void> {
    expect(await grantLine(service, connected.grantId)).toMatchObject({ revocation_reason: null })
    expect((await askMe(service, connected.credential)).status).toBe(200)
    expect((await retry()).status).toBe(200)
    await service.context.grantCache.pull()
    expect((await askMe(service, connected.credential)).status).toBe(401)
  }

  async function lockRow(grantId: string): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: service.database.url })
    await client.connect()
    await client.query('begin')
    await client.query('select from grants where id = $1 for update', [grantId])
    return client
  }

  it.each(routes)('%s at %s: the row is locked', async (kind, _path, give) => {
    const connected = await connectAs(kind)
    const client = await lockRow(connected.grantId)
    try {
      expectUnavailable(await give(service.application, textOf(kind, connected)))
    } finally {
      await client.end()
    }
    await expectRetryWorks(connected, () => give(service.application, textOf(kind, connected)))
  })

  it.each(routes)('%s at %s: the connection is closed', async (kind, _path, give) => {
    const connected = await connectAs(kind)
    const client = await lockRow(connected.grantId)
    try {
      const waiting = give(service.application, textOf(kind, connected))
      await sleep(200)
      const cut = await service.database.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock' and query like '%from grants g%'`,
      )
      expect(cut).toHaveLength(1)
      expectUnavailable(await waiting)
    } finally {
      await client.end()
    }
    await expectRetryWorks(connected, () => give(service.application, textOf(kind, connected)))
  })

  it.each(routes)('%s at %s: the commit fails', async (kind, _path, give) => {
    const connected = await connectAs(kind)
    await service.database.query(`
      create function disk_full() returns trigger language plpgsql as $$
        begin raise exception 'no space left on device' using errcode = '53100'; end $$;
      create constraint trigger disk_full after update on grants deferrable initially deferred
        for each row execute function disk_full()`)
    try {
      expectUnavailable(await give(service.application, textOf(kind, connected)))
    } finally {
      await service.database.query('drop trigger disk_full on grants; drop function disk_full()')
    }
    await expectRetryWorks(connected, () => give(service.application, textOf(kind, connected)))
  })
})

describe('TK-10: a credential of another application', () => {
  it.each([
    ['another application', {}],
    ['a public application', { public: true }],
    ['a resource server', { resourceServer: true }],
  ])('%s is refused, learns not even whether it still works, and nothing changes', async (_who, given) => {
    const stranger = await makeDialogApplication(service, { redirectUris: [CALLBACK], ...given })
    const [token, key, dead] = [
      await connect(service),
      await connect(service, { variant: 'key' }),
      await connect(service),
    ]
    await postNative(service, service.application, '/auth/oauth/revoke', { token: dead.credential })
    await service.context.grantCache.pull()
    const before = await restingRows(service)
    for (const [, give] of [...tokenRoutes, ...keyRoutes]) {
      const answers = []
      for (const text of [token.credential, token.refreshToken, key.credential, dead.credential, dead.refreshToken]) {
        answers.push(await give(stranger, text))
      }
      expect(answers.map(({ status, body }) => [status, body.error])).toEqual(Array(5).fill([400, 'invalid_grant']))
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    }
    expect(await restingRows(service)).toEqual(before)
    for (const { credential } of [token, key]) expect((await askMe(service, credential)).status).toBe(200)
  })

  it('that never existed is answered like one that did, at every route, and nothing changes', async () => {
    const { keys } = service.config
    const ghost = makeGrant({ secret: createGrantSecret() })
    const ghosts = makeTokenSet(keys, ghost, Date.now(), 3_600_000)
    const made = ['lka_0000', 'lkr_0000', 'lkk_0000', 'lkd_0000', 'lkc_0000', ''].map(
      (prefix) => prefix + randomBytes(42).toString('base64url'),
    )
    const before = await restingRows(service)
    const texts = [...made, ghosts.accessToken, ghosts.refreshToken, makeAccessKey(keys, ghost), 'x', '\u0000', '💥']
    for (const [, give] of [...tokenRoutes, ...keyRoutes]) {
      for (const text of texts) expect(told(await give(service.application, text))).toEqual(NOTHING)
    }
    expect(await restingRows(service)).toEqual(before)
  })

  it('is not revoked by the route of the other variant', async () => {
    const [token, key] = [await connect(service), await connect(service, { variant: 'key' })]
    const before = await restingRows(service)
    expect(
      told(await postNative(service, service.application, '/auth/oauth/revoke', { token: key.credential })),
    ).toEqual(NOTHING)
    for (const access_key of [token.credential, token.refreshToken]) {
      expect(told(await postNative(service, service.application, '/auth/key/revoke', { access_key }))).toEqual(NOTHING)
    }
    expect(await restingRows(service)).toEqual(before)
  })

  it('is not revoked by an unauthenticated request', async () => {
    const connected = await connect(service)
    const before = await restingRows(service)
    const impostors = [
      { ...service.application, secret: `lks_${'A'.repeat(43)}` },
      { ...service.application, secret: '' },
      { id: 'app_000000000000', secret: service.application.secret },
    ]
    for (const impostor of impostors) {
      for (const [, give] of [...tokenRoutes, ...keyRoutes]) {
        const answer = await give(impostor, connected.credential)
        expect([answer.status, answer.body.error]).toEqual([
          401,
          expect.stringMatching(/^invalid_(application|client)$/),
        ])
      }
    }
    expect(await restingRows(service)).toEqual(before)
  })

  it('that is revoked, expired or forged is reported with the same answer: nothing was revoked', async () => {
    const report = (credential: string) => post(service.address, '/auth/report', { form: { credential } })
    const [{ credential, refreshToken, grantId }, expired] = [await connect(service), await connect(service)]
    expect((await report(refreshToken)).body).toEqual({ revoked: true })
    await service.database.advance(service.config.accessTokenLifetimeMs + 1_000)
    const before = await restingRows(service)
    const texts = [
      credential,
      refreshToken,
      expired.credential,
      `lka_0000${randomBytes(42).toString('base64url')}`,
      service.application.secret,
    ]
    for (const text of texts) expect(told(await report(text))).toEqual([200, '{"revoked":false}'])
    expect(await restingRows(service)).toEqual(before)
    expect(await grantLine(service, grantId)).toMatchObject({ revocation_reason: 'credential_reported' })
    expect(await grantLine(service, expired.grantId)).toMatchObject({ revocation_reason: null })
  })
})
