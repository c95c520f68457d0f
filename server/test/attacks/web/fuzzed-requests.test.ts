/**
 * AP-19, AP-25, AP-26: requests made of pieces that break parsers, statements and keys, to every route but those of the management API
 * (attacks/manage/fuzzed-requests.test.ts), as a stranger, as an application and as an
 * administrator. None ends the process, is answered by an internal error or adds a header to the answer, and nothing is stored or found that should not be.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { routes } from '../../../src/http/routes.ts'
import { pageRoutes } from '../../../src/http/web/account-routes.ts'
import { SESSION } from '../../../src/http/web/cookies.ts'
import { connect } from '../../rig/connect.ts'
import { makeUser } from '../../rig/make.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { signInAs } from '../../rig/signed-in.ts'
import { figure, sized } from '../../rig/size.ts'
import { countRows } from '../../rig/witness.ts'
import { anyOf, type Dice, HEADERS, sendFuzzed, VALUES } from './fuzzing.ts'

const PER_ROUTE = sized(10_000, 5)
const TOTAL = sized(5_000_000, 2_000)

let service: TestService
let server: ServerProcess
/** Headers and fields that are right, so that requests get further than the first check. */
let right: { host: string; account: string; cookie: string; bearer: string; fields: readonly string[] }
beforeAll(async () => {
  service = await startTestService()
  const environment = {
    ...{ DATABASE_URL: service.database.url, PUBLIC_URL: service.config.publicUrl },
    ...{ CODE_REQUESTS_PER_NETWORK: '0', CODE_REQUESTS_PER_APPLICATION: '0', DIALOGS_PER_NETWORK: '0' },
    ...{ OVERLOAD_DELAY: '0', SIGN_IN_ADDRESSES_PER_NETWORK: '3' },
  }
  server = await startServerProcess(environment)
  const { host } = new URL(service.config.publicUrl)
  const administrator = await makeUser(service.context.db, service.account.slug)
  const web = await signInAs(service, administrator)
  const { credential, refreshToken, deviceCode } = await connect(service)
  const { SVCappid, SVCsecret } = service.device().credentials
  right = {
    host,
    account: `${service.account.slug}.${host}`,
    cookie: `${SESSION}=${web.cookies.get(SESSION)}`,
    bearer: credential,
    fields: [
      ...[`SVCappid=${SVCappid}&SVCsecret=${SVCsecret}`, `client_id=${SVCappid}&client_secret=${SVCsecret}`],
      ...[`device_code=${deviceCode}`, `refresh_token=${refreshToken}`, `scope=orders:read`, `token=${credential}`],
      ...['grant_type=refresh_token', 'response_type=code', 'code=lkc_0000'],
    ],
  }
})
afterAll(async () => {
  await server?.kill('SIGTERM')
  await service?.stop()
})

const NAMES = [
  ...['SVCappid', 'SVCsecret', 'device_code', 'state', 'scope', 'client_id', 'redirect_uri', 'response_type', 'code'],
  ...['grant_type', 'refresh_token', 'token', 'access_key', 'request_uri', 'code_challenge', 'code_verifier', 'email'],
  ...[
    'password',
    'next',
    'step',
    'after',
    'q',
    'from',
    'to',
    'kind',
    'user',
    'role',
    'application',
    'name',
    'language',
  ],
  ...['__proto__', 'constructor', 'a[]', 'a[0]', 'a.b', '', '$ne'],
]
const TYPES = [
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/json',
  'text/plain',
  '',
]

type Target = { readonly method: string; readonly path: string; readonly account: boolean }

function writeRequest({ method, path, account }: Target, dice: Dice): Buffer {
  const any = <T>(values: readonly T[]): T => anyOf(dice, values)
  const fields = () =>
    Array.from({ length: dice(6) }, () =>
      dice(3) === 0 ? any(right.fields) : `${any(NAMES)}=${any(VALUES)}${any(VALUES)}`,
    ).join('&')
  const spelling = dice(12) === 0 ? any(['.xml', '/', '//', '%2f', '.XML', ';x', '%00', '/../x']) : ''
  const query = dice(2) === 0 ? '' : `?${fields().replaceAll(' ', '%20')}`
  const verb = dice(10) === 0 ? any(['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE']) : method
  const body = verb === 'GET' || verb === 'TRACE' ? '' : fields()
  const type = dice(4) === 0 ? any(TYPES) : TYPES[0]
  const lines = [
    `${verb} ${dice(20) === 0 ? '/1' : ''}${path}${spelling}${query} HTTP/1.1`,
    `Host: ${dice(20) === 0 ? any(['', 'x', '[::1]', 'a..b', '\u00ff']) : account ? right.account : right.host}`,
    ...(account && dice(3) > 0
      ? [`Cookie: ${right.cookie}`, 'Sec-Fetch-Site: same-origin', `Origin: http://${right.account}`]
      : []),
    ...(dice(6) === 0 ? [`Authorization: Bearer ${right.bearer}`] : []),
    ...Array.from({ length: dice(3) }, () => any(HEADERS)),
    ...(body === '' ? [] : [`Content-Type: ${type}`]),
    `Content-Length: ${Buffer.byteLength(body, 'latin1')}`,
  ]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`, 'latin1')
}

it(`AP-19, AP-25, AP-26: ${figure(TOTAL)} requests made of what breaks parsers, ${figure(PER_ROUTE)} or more to every route, end in no internal error and in one head`, {
  timeout: sized(8 * 3_600_000, 120_000),
}, async () => {
  const endpoints: readonly Target[] = routes.map(({ method, path }) => ({ method, path, account: false }))
  const pages = pageRoutes.map(({ method, path }) => ({ method, path, account: true }))
  const targets = [...endpoints, ...pages]
  /** Every route in turn, and then, for the rest, endpoints, which are quicker. */
  const targetOf = (at: number) =>
    (at < PER_ROUTE * targets.length ? targets[at % targets.length] : endpoints[at % endpoints.length]) as Target
  const before = [await countRows(service, 'users'), await countRows(service, 'grants')]
  const { failed, statuses } = await sendFuzzed(server.address, TOTAL, (at, dice) => writeRequest(targetOf(at), dice))
  expect(failed.slice(0, 3)).toEqual([])
  // Some requests passed the parsers, and each was answered: no connection was closed without an answer.
  expect([...statuses.keys()]).toEqual(expect.arrayContaining([200, 303, 400, 401, 403, 404, 405, 415]))
  expect(statuses.get(0) ?? 0).toBe(0)
  expect(server.log()).not.toContain('"event":"unexpected"')
  expect([await countRows(service, 'users'), await countRows(service, 'grants')]).toEqual(before)
  expect((await fetch(`${server.address}/health/ready`)).status).toBe(200)
})
