/**
 * SC-06: only supported versions are run, tested and shipped. A major version leaves the list when its maker stops supporting
 * it: nodejs/Release, postgresql.org/support/versioning, redis.io, valkey.io.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { createTestDatabase, engineUrl } from '../../rig/engines/database.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..', '..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

/** Major versions. Debian supports its Redis 7.0 and its PostgreSQL 15 until bookworm ends. */
const SUPPORTED: Readonly<Record<string, readonly number[]>> = {
  node: [24, 26],
  postgresql: [15, 16, 17, 18],
  redis: [7],
  valkey: [8],
}

function expectSupported(program: string, version: string): void {
  expect(SUPPORTED[program], `${program} ${version}`).toContain(Number.parseInt(version, 10))
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
