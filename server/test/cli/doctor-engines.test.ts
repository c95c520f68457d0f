/** `latchkey doctor` and the engines: which one does not answer, what it lacks, and what its role may not do. */
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createRedis } from '../../../tools/engine-processes.ts'
import { freePort } from '../../../tools/free-port.ts'
import { monthAgo } from '../rig/audit.ts'
import { createTestDatabase } from '../rig/engines/database.ts'
import { makeHome } from '../rig/process/command.ts'
import { NOBODY, type SetUp, startSetUp } from '../rig/process/doctor.ts'
import type { TestService } from '../rig/service.ts'

let setUp: SetUp
let service: TestService
const doctor: SetUp['doctor'] = (changed) => setUp.doctor(changed)
beforeAll(async () => {
  setUp = await startSetUp()
  service = setUp.service
})
afterAll(() => setUp.stop())

describe('an engine that does not answer', () => {
  it('PostgreSQL: nothing works without it', async () => {
    const { status, found, findings } = await doctor({ DATABASE_URL: `postgres://latchkey:hush@${NOBODY}/latchkey` })
    expect(status).toBe(2)
    expect(found('postgresql')).toEqual([
      {
        check: 'postgresql',
        severity: 'broken',
        what: `PostgreSQL is unreachable: connect ECONNREFUSED ${NOBODY}.`,
        remedy: 'Start it, or correct the host and port in DATABASE_URL.',
      },
    ])
    expect(findings.map(({ check }) => check)).not.toContain('migrations')
  })

  it('PostgreSQL without this database', async () => {
    const url = Object.assign(new URL(service.database.url), { pathname: '/nowhere' }).toString()
    expect((await doctor({ DATABASE_URL: url })).found('postgresql')).toMatchObject([
      { severity: 'broken', what: 'The database in DATABASE_URL does not exist.' },
    ])
  })

  it('Redis: the service works, but not as it should', async () => {
    const { status, found } = await doctor({ REDIS_URL: `redis://${NOBODY}` })
    expect(status).toBe(1)
    expect(found('redis')).toEqual([
      {
        check: 'redis',
        severity: 'warning',
        what: `Redis is unreachable (connect ECONNREFUSED ${NOBODY}): each process paces polls and counts limits on its own.`,
        remedy: 'Start it, or correct REDIS_URL.',
      },
    ])
  })

  it('the mail server', async () => {
    const { status, found } = await doctor({ SMTP_URL: `smtp://${NOBODY}` })
    expect(status).toBe(2)
    expect(found('mail')).toMatchObject([{ severity: 'broken', what: expect.stringContaining('ESOCKET') }])
  })
})

it('a Redis that refuses writes when it is full is told how to make room', async () => {
  const home = makeHome()
  const redis = createRedis(home.folder, await freePort())
  redis.start()
  onTestFinished(() => {
    redis.stop('SIGKILL')
    home.remove()
  })
  const client = new Redis(redis.url)
  await client.config('SET', 'maxmemory', '16mb')
  client.disconnect()
  expect((await doctor({ REDIS_URL: redis.url })).found('redis')).toMatchObject([
    { severity: 'warning', remedy: expect.stringContaining('config set maxmemory-policy volatile-ttl') },
  ])
})

describe('the role of the service', () => {
  const role = `doctor_${randomBytes(6).toString('hex')}`
  const as = () => Object.assign(new URL(service.database.url), { username: role, password: role }).toString()
  beforeAll(async () => {
    const script = new URL('../../../deploy/postgresql/service-role.sql', import.meta.url)
    await service.database.query(readFileSync(script, 'utf8').replaceAll('latchkey_service', role))
    await service.database.query(`alter role ${role} password '${role}'; grant usage on schema test_clock to ${role};
      grant select on all tables in schema test_clock to ${role}`)
  })
  afterAll(async () => {
    await service.database.query(`drop owned by ${role}`)
    await service.database.query(`drop role ${role}`)
  })

  it('that owns nothing and lacks nothing is as it should be', async () => {
    expect((await doctor({ DATABASE_URL: as() })).found('role')).toMatchObject([
      { severity: 'ok', what: `The role ${role} does not own the tables and has all required privileges.` },
    ])
  })

  it('that lacks rights is told which, and the script that gives them', async () => {
    await service.database.query(`revoke select on grants, mails from ${role};
      revoke execute on function make_device_code_partition(timestamptz) from ${role}, public`)
    const { status, found } = await doctor({ DATABASE_URL: as() })
    expect(status).toBe(2)
    expect(found('role')).toEqual([
      {
        check: 'role',
        severity: 'broken',
        what: `The role ${role} lacks privileges: grants, mails, making partitions.`,
        remedy: 'As the owner, run: psql "$OWNER_URL" -v ON_ERROR_STOP=1 -f deploy/postgresql/service-role.sql',
      },
    ])
  })
})

describe('the schema', () => {
  it('a pending migration is named with its command', async () => {
    const newest =
      readdirSync(new URL('../../migrations/', import.meta.url))
        .sort()
        .at(-1) ?? ''
    const behind = await createTestDatabase()
    onTestFinished(behind.drop)
    await behind.query('delete from migrations where name = $1', [newest])
    const { status, found } = await doctor({ DATABASE_URL: behind.url })
    expect(status).toBe(2)
    expect(found('migrations')).toEqual([
      {
        check: 'migrations',
        severity: 'broken',
        what: `The database lacks ${newest}.`,
        remedy: 'Run "latchkey migrate".',
      },
    ])
  })

  it('that runs out of months for the audit log is told', async () => {
    const late = await createTestDatabase()
    onTestFinished(late.drop)
    const take = async (months: number) => {
      const month = monthAgo(months).replace('-', '')
      await late.query(`drop table audit_events_${month}, audit_seals_${month}`)
      const { status, found } = await doctor({ DATABASE_URL: late.url })
      return { status, partitions: found('partitions') }
    }
    expect(await take(-1)).toMatchObject({
      status: 1,
      partitions: [
        {
          severity: 'warning',
          what: expect.stringContaining('Partitions of the audit log are missing for 1 of the next months'),
        },
      ],
    })
    expect(await take(0)).toMatchObject({
      status: 2,
      partitions: [{ severity: 'broken', remedy: 'Run "latchkey sweep", or start the service.' }],
    })
  })

  it('of a newer version is told, and partitions that nobody made', async () => {
    const ahead = await createTestDatabase()
    onTestFinished(ahead.drop)
    await ahead.query("insert into migrations values ('0999_later.sql', now())")
    const { status, found } = await doctor({ DATABASE_URL: ahead.url })
    expect(status).toBe(1)
    expect(found('migrations')[0]?.what).toContain(
      'migrated by a newer version: this version does not include 0999_later.sql',
    )
    expect(found('partitions')).toMatchObject([
      { severity: 'warning', remedy: expect.stringContaining('latchkey sweep') },
    ])
  })
})
