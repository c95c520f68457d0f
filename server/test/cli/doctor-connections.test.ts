/** `latchkey doctor` warns of engines on another machine that are reached in the clear or let everybody in. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { examinePostgresUrl, examineRedisUrl } from '../../src/cli/doctor/connections.ts'
import { type SetUp, startSetUp } from '../rig/process/doctor.ts'

let setUp: SetUp
beforeAll(async () => {
  setUp = await startSetUp()
})
afterAll(() => setUp.stop())

const CLEAR = 'in the clear'
const OPEN = 'has no password'
const OPEN_SENTINEL = 'has no sentinel_password'

const problemsOf = (findings: ReturnType<typeof examineRedisUrl>) =>
  findings.map(({ what }) => [CLEAR, OPEN, OPEN_SENTINEL].find((words) => what.includes(words)) ?? what)

it.each([
  ['postgres://latchkey@localhost/latchkey', []],
  ['postgres://latchkey@127.0.0.1:5432/latchkey', []],
  ['postgres://latchkey@[::1]/latchkey', []],
  ['postgres:///latchkey?host=/var/run/postgresql', []],
  ['postgres://latchkey@%2Fvar%2Frun%2Fpostgresql/latchkey', []],
  ['postgres://latchkey:x@db.internal/latchkey?sslmode=verify-full', []],
  ['postgres://latchkey@db.internal/latchkey?sslmode=verify-full&sslcert=/etc/latchkey/client.pem', []],
  ['postgres://latchkey:x@db.internal/latchkey', [CLEAR]],
  ['postgres://latchkey:x@db.internal/latchkey?sslmode=disable', [CLEAR]],
  ['postgres://latchkey:x@db.internal/latchkey?sslmode=no-verify', [CLEAR]],
  ['postgres://latchkey:x@10.0.0.7/latchkey', [CLEAR]],
  ['postgres://latchkey:x@127.0.0.1.example/latchkey', [CLEAR]],
  ['postgres://latchkey@db.internal/latchkey', [CLEAR, OPEN]],
  ['postgres://latchkey@localhost/latchkey?host=db.internal', [CLEAR, OPEN]],
])('%s: %j', (url, problems) => {
  expect(problemsOf(examinePostgresUrl(url, false))).toEqual(problems)
})

it.each([
  ['redis://localhost:6379', []],
  ['redis://127.0.0.1', []],
  ['redis+cluster://[::1]:7000', []],
  ['rediss://latchkey:x@redis.internal', []],
  ['rediss+cluster://latchkey:x@redis.internal', []],
  ['redis://latchkey:x@redis.internal', [CLEAR]],
  ['rediss://redis.internal', [OPEN]],
  ['redis+cluster://10.0.0.8', [CLEAR, OPEN]],
  ['redis+cluster://127.0.0.1,10.0.0.8', [CLEAR, OPEN]],
  ['redis+sentinel://127.0.0.1,localhost/mymaster', []],
  ['rediss+sentinel://latchkey:x@one.internal,two.internal/mymaster?sentinel_password=y', []],
  ['redis+sentinel://latchkey:x@one.internal/mymaster', [CLEAR, OPEN_SENTINEL]],
])('%s: %j', (url, problems) => {
  expect(problemsOf(examineRedisUrl(url))).toEqual(problems)
})

it('the command says so, with what to do, and without the password', async () => {
  const { findings, found } = await setUp.doctor({
    DATABASE_URL: 'postgres://latchkey:hush@db.invalid/latchkey',
    REDIS_URL: 'redis://redis.invalid:6379',
    PUBLIC_URL: 'https://service.invalid',
  })
  expect(found('postgresql')).toMatchObject([
    { severity: 'broken' },
    { severity: 'warning', remedy: expect.stringContaining('sslmode=verify-full') },
  ])
  expect(found('redis').slice(-2)).toMatchObject([
    { severity: 'warning', remedy: expect.stringContaining('rediss://') },
    { severity: 'warning', remedy: expect.stringContaining('deploy/redis/latchkey.conf') },
  ])
  expect(JSON.stringify(findings)).not.toContain('hush')
})

it('not in an evaluation set-up, whose engines are containers of the same machine', async () => {
  const { found } = await setUp.doctor({ DATABASE_URL: 'postgres://latchkey:latchkey@postgres.invalid/latchkey' })
  expect(found('postgresql')).toMatchObject([{ severity: 'broken' }])
})

it('a password in PGPASSWORD is one: the command does not ask for another', async () => {
  const given = { DATABASE_URL: 'postgres://latchkey@db.invalid/latchkey', PUBLIC_URL: 'https://service.invalid' }
  const open = (findings: readonly { readonly what: string }[]) => findings.filter(({ what }) => what.includes(OPEN))
  expect(open((await setUp.doctor(given)).found('postgresql'))).toHaveLength(1)
  expect(open((await setUp.doctor({ ...given, PGPASSWORD: 'hush' })).found('postgresql'))).toEqual([])
})
