/**
 * docs/interface/credentials.md, "Credentials", in the native dialect: exchange, refresh, revoke, rotate, report, check. The same in both
 * formats, with and without the version, whichever way the parameters are passed; and what all of it leaves in the database.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refreshTokenSet } from '../../src/flows/grants/refresh.ts'
import { askMe, connect } from '../rig/connect.ts'
import { grantLine, postNative, restingRows } from '../rig/credentials.ts'
import { post } from '../rig/device.ts'
import { type Dialect, describeDialect, readXml, type Spoken } from '../rig/dialects.ts'
import { allow, exchange, makeDialogApplication, refresh } from '../rig/dialog.ts'
import { CALLBACK, type MadeApplication } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { figure, sized } from '../rig/size.ts'

let service: TestService
let application: MadeApplication
beforeAll(async () => {
  service = await startTestService({}, { clock: true })
  application = await makeDialogApplication(service, { deviceFlow: true })
})
afterAll(() => service.stop())

const own = () => ({ SVCappid: application.id, SVCsecret: application.secret })

const formats = ['json', 'xml'] as const
const versions = ['', '/1'] as const
const dialects: readonly Dialect[] = formats.flatMap((format) =>
  versions.flatMap((version) => (['query', 'form', 'multipart'] as const).map((by) => ({ format, by, version }))),
)

async function say(
  { format, by, version }: Dialect,
  path: string,
  parameters: Record<string, string>,
): Promise<Spoken> {
  const answer = await post(
    service.address,
    `${version}${path}${format === 'xml' ? '.xml' : ''}`,
    by === 'query' ? { query: parameters } : by === 'form' ? { form: parameters } : await multipart(parameters),
  )
  expect(answer.headers['content-type']).toBe(`application/${format}; charset=utf-8`)
  expect(answer.headers['cache-control']).toBe('no-store')
  const fields = format === 'xml' ? readXml(answer.text) : asText(answer.body)
  return { ...answer, fields }
}

async function multipart(parameters: Record<string, string>) {
  const form = new FormData()
  for (const [name, value] of Object.entries(parameters)) form.set(name, value)
  const sent = new Response(form)
  const headers = { 'content-type': sent.headers.get('content-type') ?? '' }
  return { raw: Buffer.from(await sent.arrayBuffer()), headers }
}

const asText = (body: object) => Object.fromEntries(Object.entries(body).map(([name, value]) => [name, String(value)]))

function expectRefusal(answer: Spoken, status: number, error: string): void {
  expect([answer.status, answer.fields.error]).toEqual([status, error])
  expect(Object.keys(answer.fields)).toEqual(['error', 'message'])
}

describe.each(dialects.map((dialect) => ({ dialect, name: describeDialect(dialect) })))('$name', ({ dialect }) => {
  it('an exchange answers with the token set and the state of the dialog', async () => {
    const { code, pkce } = await allow(service, {
      application,
      parameters: { state: 'ä <&> "x"', scope: 'orders:read,orders:write' },
    })
    const form = { ...own(), code, redirect_uri: CALLBACK, code_verifier: pkce.verifier, grant_type: 'anything' }
    const { status, fields } = await say(dialect, '/auth/oauth/token', form)
    expect([status, Object.keys(fields)]).toEqual([
      200,
      ['access_token', 'refresh_token', 'expires_in', 'scope', 'state'],
    ])
    expect(fields).toEqual({
      access_token: expect.stringMatching(/^lka_0000[\w-]{56}$/),
      refresh_token: expect.stringMatching(/^lkr_0000[\w-]{50}$/),
      expires_in: '3600',
      scope: 'orders:read,orders:write',
      state: 'ä <&> "x"',
    })
    expectRefusal(await say(dialect, '/auth/oauth/token', form), 400, 'invalid_grant')
  })

  it('a refresh answers with the next token set, without a state', async () => {
    const { refreshToken, grantId } = await connect(service, { application })
    const { status, fields } = await say(dialect, '/auth/oauth/refresh', { ...own(), refresh_token: refreshToken })
    expect([status, Object.keys(fields)]).toEqual([200, ['access_token', 'refresh_token', 'expires_in', 'scope']])
    expect(fields).toMatchObject({ expires_in: '3600', scope: 'orders:read,orders:write' })
    expect((await askMe(service, fields.access_token ?? '')).status).toBe(200)
    expect(await grantLine(service, grantId)).toEqual({ generation: 2, key: 1, revocation_reason: null })
    const wider = { ...own(), refresh_token: fields.refresh_token ?? '', scope: 'money:move' }
    expectRefusal(await say(dialect, '/auth/oauth/refresh', wider), 400, 'invalid_scope')
  })

  it('a rotation answers with the next key and for how long the old one goes on; asked again, with the same', async () => {
    const { credential, grantId } = await connect(service, { application, variant: 'key' })
    const rotate = () => say(dialect, '/auth/key/rotate', { ...own(), access_key: credential })
    const { status, fields } = await rotate()
    expect([status, Object.keys(fields)]).toEqual([200, ['access_key', 'scope', 'overlap']])
    expect(fields).toMatchObject({ scope: 'orders:read,orders:write', overlap: '86400' })
    expect((await rotate()).fields).toEqual(fields)
    expect(await grantLine(service, grantId)).toEqual({ generation: 1, key: 2, revocation_reason: null })
    for (const text of [credential, fields.access_key ?? '']) expect((await askMe(service, text)).status).toBe(200)
  })

  it('a revocation answers with nothing, whatever it was', async () => {
    const [token, key] = [
      await connect(service, { application }),
      await connect(service, { application, variant: 'key' }),
    ]
    for (const [path, given] of [
      ['/auth/oauth/revoke', { token: token.credential }],
      ['/auth/oauth/revoke', { token: 'lka_unknown' }],
      ['/auth/key/revoke', { access_key: key.credential }],
      ['/auth/key/revoke', { access_key: 'lkk_unknown' }],
    ] as const) {
      const { status, fields } = await say(dialect, path, { ...own(), ...given })
      expect([status, fields]).toEqual([200, {}])
    }
    for (const { grantId } of [token, key]) {
      expect(await grantLine(service, grantId)).toMatchObject({ revocation_reason: 'revoked_by_application' })
    }
  })

  it('a report answers whether it ended something', async () => {
    const { credential, grantId } = await connect(service, { application })
    for (const revoked of ['true', 'false']) {
      const { status, fields } = await say(dialect, '/auth/report', { credential })
      expect([status, fields]).toEqual([200, { revoked }])
    }
    expect(await grantLine(service, grantId)).toMatchObject({ revocation_reason: 'credential_reported' })
  })

  it('what is missing is named; who is unknown and what is not valid is refused; nothing changes', async () => {
    const routes: [string, Record<string, string>][] = [
      ['/auth/oauth/token', { code: 'x', redirect_uri: CALLBACK }],
      ['/auth/oauth/refresh', { refresh_token: 'x' }],
      ['/auth/oauth/revoke', { token: 'x' }],
      ['/auth/key/rotate', { access_key: 'x' }],
      ['/auth/key/revoke', { access_key: 'x' }],
    ]
    const before = await restingRows(service)
    for (const [path, given] of routes) {
      for (const name of [...Object.keys(given), 'SVCappid']) {
        for (const without of [{ [name]: '' }, { [name]: undefined }]) {
          const sent = Object.entries({ ...own(), ...given, ...without }).filter(([, value]) => value !== undefined)
          const answer = await say(dialect, path, Object.fromEntries(sent) as Record<string, string>)
          expectRefusal(answer, 400, 'invalid_request')
          expect(answer.fields.message).toContain(name)
        }
      }
      const secretless = { SVCappid: application.id, ...given }
      expectRefusal(await say(dialect, path, secretless), 401, 'invalid_application')
      expectRefusal(await say(dialect, path, { ...own(), ...given, SVCsecret: 'x' }), 401, 'invalid_application')
      if (!path.endsWith('revoke'))
        expectRefusal(await say(dialect, path, { ...own(), ...given }), 400, 'invalid_grant')
    }
    expectRefusal(await say(dialect, '/auth/report', {}), 400, 'invalid_request')
    expect(await restingRows(service)).toEqual(before)
  })
})

describe('whatever the dialect', () => {
  it('a name with two values is refused, and a method that is not the route’s', async () => {
    const { refreshToken } = await connect(service, { application })
    const before = await restingRows(service)
    const form = { ...own(), refresh_token: refreshToken }
    const twice = await post(service.address, '/auth/oauth/refresh', { form, query: { refresh_token: 'x' } })
    expect([twice.status, twice.body.error]).toEqual([400, 'invalid_request'])
    for (const path of ['oauth/token', 'oauth/refresh', 'oauth/revoke', 'key/rotate', 'key/revoke', 'report']) {
      const got = await post(service.address, `/auth/${path}`, { query: form, method: 'GET' })
      expect([got.status, got.headers.allow]).toEqual([405, 'POST'])
    }
    expect(await restingRows(service)).toEqual(before)
  })

  it('a public application proves itself with its verifier, and sends no secret', async () => {
    const open = await makeDialogApplication(service, { public: true })
    const allowed = await allow(service, { application: open })
    const withSecret = await exchange(service, open, allowed, { SVCsecret: application.secret })
    expect([withSecret.status, withSecret.body.error]).toEqual([401, 'invalid_application'])
    const exchanged = await exchange(service, open, allowed)
    expect(exchanged.status).toBe(200)
    const renewed = await refresh(service, open, exchanged.body.refresh_token)
    expect(renewed.status).toBe(200)
    expect((await postNative(service, open, '/auth/oauth/revoke', { token: renewed.body.access_token })).status).toBe(
      200,
    )
    await service.context.grantCache.pull()
    expect((await askMe(service, renewed.body.access_token)).status).toBe(401)
  })

  it('an access token outlives its refresh, until its own expiry', async () => {
    const { credential, refreshToken } = await connect(service, { application })
    await service.database.advance(3_000_000)
    const renewed = await refresh(service, application, refreshToken)
    await service.context.applications.refresh()
    expect((await askMe(service, credential)).status).toBe(200)
    await service.database.advance(700_000)
    await service.context.applications.refresh()
    expect((await askMe(service, credential)).status).toBe(401)
    expect((await askMe(service, renewed.body.access_token)).status).toBe(200)
  })

  it('a replaced key goes on for a day, and then neither works nor leads to its successor', async () => {
    const { credential } = await connect(service, { application, variant: 'key' })
    const rotate = () => postNative(service, application, '/auth/key/rotate', { access_key: credential })
    const { access_key } = (await rotate()).body
    const after = async (ms: number) => {
      await service.database.advance(ms)
      await service.context.applications.refresh()
      await service.context.grantCache.pull()
      return [
        (await askMe(service, credential)).status,
        (await rotate()).status,
        (await askMe(service, access_key)).status,
      ]
    }
    expect(await after(86_300_000)).toEqual([200, 200, 200])
    expect(await after(101_000)).toEqual([401, 400, 200])
  })
})

describe.each(formats.flatMap((format) => versions.map((version) => ({ format, version }))))(
  'checking, in $format, with "$version"',
  ({ format, version }) => {
    const ask = (path: string, credential: string, query = {}) =>
      post(service.address, `${version}${path}${format === 'xml' ? '.xml' : ''}`, {
        method: 'GET',
        query,
        headers: { authorization: `Bearer ${credential}` },
      })
    const read = (text: string) => (format === 'xml' ? readXml(text) : asText(JSON.parse(text)))

    it('/me says whose it is and what it may do; /auth/verify says it in headers', async () => {
      for (const variant of ['oauth', 'key'] as const) {
        const { credential, grantId } = await connect(service, { application, variant })
        const told = {
          account: service.account.slug,
          user: service.user.id,
          application: application.id,
          scope: 'orders:read,orders:write',
          variant: variant === 'key' ? 'access_key' : 'token_set',
        }
        const { expires_in, ...rest } = read((await ask('/me', credential)).text)
        expect(rest).toEqual({ ...told, grant: grantId })
        expect(expires_in === undefined).toBe(variant === 'key')
        const verified = await ask('/auth/verify', credential)
        expect([verified.status, verified.text, verified.headers['content-length']]).toEqual([200, '', '0'])
        const named = Object.entries(told).map(([name, value]) => [`x-latchkey-${name}`, value])
        expect(verified.headers).toMatchObject(Object.fromEntries(named))
      }
    })

    it('/auth/verify lets through who carries every scope that is asked for, and says 403 to the others', async () => {
      const { credential } = await connect(service, { application, scope: 'orders:read' })
      for (const scope of ['', 'orders:read', ' orders:read,']) {
        expect((await ask('/auth/verify', credential, { scope })).status).toBe(200)
      }
      for (const scope of ['orders:write', 'orders:read,orders:write', 'orders:read orders:write', 'no:such']) {
        const { status, headers, text } = await ask('/auth/verify', credential, { scope })
        const named = scope.replace(',', ' ')
        const challenge = `Bearer error="insufficient_scope", scope="${named}"`
        expect([status, headers['www-authenticate']]).toEqual([403, challenge])
        expect(read(text)).toEqual({ error: 'insufficient_scope', message: expect.any(String) })
        expect(Object.keys(headers).filter((name) => name.startsWith('x-latchkey'))).toEqual([])
      }
    })

    it('both say 401 to what is not a living credential', async () => {
      const { refreshToken } = await connect(service, { application })
      for (const path of ['/me', '/auth/verify']) {
        for (const text of [refreshToken, 'x', '']) {
          const { status, headers, text: body } = await ask(path, text)
          const challenge = text === '' ? 'Bearer' : 'Bearer error="invalid_token"'
          expect([status, headers['www-authenticate']]).toEqual([401, challenge])
          expect(read(body)).toEqual({ error: 'invalid_credential', message: expect.any(String) })
        }
      }
    })
  },
)

describe('what a life of renewals leaves in the database', () => {
  type Table = { readonly name: string; readonly rows: number; readonly bytes: number }

  async function tables(): Promise<Table[]> {
    // In full: how many pages old versions of a row pass through depends on what else the machine does; what stays does not.
    await service.database.query('vacuum (full, analyze)')
    // An event is sealed a moment after it was recorded, whatever is renewed meanwhile; the events themselves are counted.
    const names = await service.database.query<{ name: string }>(
      `select relname as name from pg_class
       where relnamespace = 'public'::regnamespace and relkind = 'r' and relname !~ '^(audit_seals|live_device_codes)' order by 1`,
    )
    const counted = names.map(
      ({ name }) =>
        `select '${name}' as name, count(*)::int as rows, pg_total_relation_size('public.${name}')::int as bytes from public.${name}`,
    )
    return service.database.query<Table>(counted.join(' union all '))
  }

  /** Free space in a page, a page of an index, the maps beside them. */
  const SLACK_BYTES = 128 * 1024

  const REFRESHES = sized(10_000, 200)

  it(`${figure(REFRESHES)} refreshes of one grant change its row and nothing else, and the database does not grow`, {
    timeout: 180_000,
  }, async () => {
    const { refreshToken, grantId } = await connect(service, { application })
    const renew = async (token: string) => {
      const by = { applicationId: application.id, secret: application.secret }
      const result = await refreshTokenSet(service.context, { ...by, refreshToken: token, scope: null })
      if (result.outcome !== 'refreshed') throw new Error(result.outcome)
      return result.issued.refreshToken
    }
    let token = await renew(refreshToken)
    // What was counted on the way here is written down now, and not in between.
    await service.context.usage.save()
    await service.context.applications.saveUses()
    const resting = await restingRows(service)
    const before = await tables()
    for (let refreshed = 0; refreshed < REFRESHES; refreshed += 1) token = await renew(token)
    const after = await tables()

    expect(after.map(({ name, rows }) => [name, rows])).toEqual(before.map(({ name, rows }) => [name, rows]))
    const { grants: grown, ...others } = await restingRows(service)
    const { grants: was, ...rest } = resting
    expect(grown).not.toBe(was)
    expect(others).toEqual(rest)
    expect(await grantLine(service, grantId)).toEqual({ generation: REFRESHES + 2, key: 1, revocation_reason: null })
    const bytes = (of: readonly Table[]) => of.reduce((sum, each) => sum + each.bytes, 0)
    expect(bytes(after) - bytes(before)).toBeLessThanOrEqual(SLACK_BYTES)
    expect((await refresh(service, application, token)).status).toBe(200)
  })
})
