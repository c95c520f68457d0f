/**
 * SC-06: only supported versions are run, tested and shipped. The test fails when a date below has passed: upgrade then. Dates: nodejs/Release, postgresql.org/support/versioning, redis.io and valkey.io.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { createTestDatabase, engineUrl } from '../../rig/engines/database.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..', '..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

/** Last day of support, by major version. Debian supports its Redis 7.0 and its PostgreSQL 15 until bookworm ends. */
const SUPPORTED_UNTIL: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  node: { 24: '2028-04-30' },
  postgresql: { 15: '2027-11-11', 16: '2028-11-09', 17: '2029-11-08', 18: '2030-11-14' },
  redis: { 7: '2028-06-30' },
  valkey: { 8: '2029-09-15' },
}

function expectSupported(program: string, version: string): void {
  const until = SUPPORTED_UNTIL[program]?.[Number.parseInt(version, 10)]
  expect([program, version, until === undefined ? 'unknown' : new Date() < new Date(until)]).toEqual([
    program,
    version,
    true,
  ])
}

it('SC-06: Node here, in the image, in CI and in what we ask for is supported', () => {
  const [, image = ''] = /^FROM node:(\S+)-bookworm-slim$/m.exec(read('deploy/container/Dockerfile')) ?? []
  expect(image).toMatch(/^\d+\.\d+\.\d+$/)
  for (const version of [process.versions.node, image, read('.node-version')]) expectSupported('node', version)
  for (const path of ['package.json', 'server/package.json']) {
    expect([path, JSON.parse(read(path)).engines.node]).toEqual([path, '>=24'])
  }
  expect(read('.npmrc')).toMatch(/^engine-strict=true$/m)
})

it('SC-06: PostgreSQL and Redis, those of the tests and those of deploy/compose.yaml, are supported', async () => {
  const database = await createTestDatabase()
  const [row] = await database.query<{ version: string }>("select current_setting('server_version') as version")
  await database.drop()
  expectSupported('postgresql', row?.version ?? '')
  const redis = new Redis(engineUrl('REDIS_URL'))
  expectSupported('redis', /^redis_version:(\S+)/m.exec(await redis.info('server'))?.[1] ?? '')
  redis.disconnect()
  const { services } = parse(read('deploy/compose.yaml'), { merge: true })
  expectSupported('postgresql', services.postgres.image.split(':')[1])
  expectSupported('valkey', services.valkey.image.split(':')[1])
})
