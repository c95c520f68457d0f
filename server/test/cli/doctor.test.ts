/** `latchkey doctor`: a set-up that is well is called so, and each way in which it can be broken is named, with its fix. */
import { once } from 'node:events'
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../../tools/free-port.ts'
import { removeFolder } from '../../../tools/remove-folder.ts'
import { createKey } from '../../src/secrets/keyset.ts'
import { TEST_KEYS } from '../rig/make.ts'
import { startHttpProxy } from '../rig/network/http-proxy.ts'
import { runCommand } from '../rig/process/command.ts'
import { NOBODY, type SetUp, startSetUp } from '../rig/process/doctor.ts'
import { startTestService, type TestService } from '../rig/service.ts'

let setUp: SetUp
let service: TestService
const doctor: SetUp['doctor'] = (changed) => setUp.doctor(changed)
beforeAll(async () => {
  setUp = await startSetUp()
  service = setUp.service
})
afterAll(() => setUp.stop())

describe('a set-up that is well', () => {
  it('is called so, with status 0', async () => {
    const { status, severity, findings } = await doctor()
    expect(findings.filter((each) => each.severity !== 'ok')).toEqual([])
    expect([status, severity]).toEqual([0, 'ok'])
    expect(findings.map(({ check }) => check)).toEqual([
      'configuration',
      'postgresql',
      'clocks',
      'migrations',
      'role',
      'keys',
      'partitions',
      'redis',
      'public address',
      'account addresses',
      'mail',
    ])
  })

  it('in words: one line each, and no colour where it is not a terminal', async () => {
    const { status, stdout } = await runCommand(['doctor'], { environment: setUp.environment({}) })
    expect(status).toBe(0)
    expect(stdout).toMatch(/^ok {7}postgresql {9}PostgreSQL \d+\.\d+ is reachable\.$/m)
    expect(stdout).toContain(`ok       public address     The service answers at ${service.config.publicUrl}.\n`)
    expect(stdout.trimEnd().split('\n').at(-1)).toBe('No problems found.')
    expect(stdout).not.toContain('\u001b')
  })

  it('says nothing that is secret', async () => {
    const { stdout } = await runCommand(['doctor'], {
      environment: setUp.environment({ REDIS_URL: `redis://:hush@${NOBODY}` }),
    })
    expect(stdout).not.toContain('hush')
    expect(stdout).not.toContain(TEST_KEYS.slice(2))
  })
})

describe('a wrong key', () => {
  it('with the right number is told by the newest seal', async () => {
    const { status, found } = await doctor({ LATCHKEY_KEYS: createKey(1) })
    expect(status).toBe(2)
    expect(found('keys')).toEqual([
      {
        check: 'keys',
        severity: 'broken',
        what: 'Key 1 has a different value than before: the newest seal of the audit log does not match it.',
        remedy: expect.stringMatching(/^Restore the previous value of key 1 .* run "latchkey audit verify"\.$/),
      },
    ])
  })

  it('that was taken out is told with all that it made', async () => {
    const { status, found } = await doctor({ LATCHKEY_KEYS: createKey(7) })
    expect(status).toBe(2)
    expect(found('keys').map(({ what }) => what)).toEqual([
      'Key 1 is not in LATCHKEY_KEYS. Invalid without it: 1 application secrets.',
      'The newest seal of the audit log was made with key 1, which is not in LATCHKEY_KEYS.',
    ])
    expect(found('keys')[0]?.remedy).toContain('Append key 1 to LATCHKEY_KEYS')
  })

  it('that is only in front of the right one is fine', async () => {
    expect((await doctor({ LATCHKEY_KEYS: `${createKey(9)},${TEST_KEYS}` })).found('keys')).toMatchObject([
      { severity: 'ok', what: 'Key 9 signs; 9, 1 verify.' },
    ])
  })
})

describe('a host that does not match', () => {
  it('the service at PUBLIC_URL calls itself something else', async () => {
    const publicUrl = `http://127.0.0.1:${service.config.port}`
    const { status, found } = await doctor({ PUBLIC_URL: publicUrl })
    expect(status).toBe(2)
    expect(found('public address')).toEqual([
      {
        check: 'public address',
        severity: 'broken',
        what: `The service at ${publicUrl} has the issuer ${service.config.publicUrl}: it runs with a different PUBLIC_URL.`,
        remedy: `Use the same PUBLIC_URL, ${service.config.publicUrl} or ${publicUrl}, for every process and this command.`,
      },
    ])
  })

  it('a proxy that changes Host hides the accounts', async () => {
    let inner: TestService | null = null
    const proxy = await startHttpProxy(() => inner?.address ?? '', { changeHost: true })
    onTestFinished(proxy.close)
    const publicUrl = `http://localhost:${new URL(proxy.address).port}`
    inner = await startTestService({ PUBLIC_URL: publicUrl })
    onTestFinished(inner.stop)
    const { status, found } = await doctor({ DATABASE_URL: inner.database.url, PUBLIC_URL: publicUrl })
    const { slug } = inner.account
    expect(status).toBe(2)
    expect(found('public address')).toMatchObject([{ severity: 'ok' }])
    expect(found('account addresses')).toEqual([
      {
        check: 'account addresses',
        severity: 'broken',
        what: `Requests for ${publicUrl.replace('//', `//${slug}.`)} arrive at the service with another Host header: the proxy changes it.`,
        remedy: expect.stringContaining('Configure the proxy to pass the Host header unchanged, port included'),
      },
    ])
  })

  it('an address has no room for accounts in front of it', async () => {
    const port = await freePort()
    const numeric = await startTestService({ PORT: String(port), PUBLIC_URL: `http://127.0.0.1:${port}` })
    onTestFinished(numeric.stop)
    const { status, found } = await doctor({
      DATABASE_URL: numeric.database.url,
      PUBLIC_URL: numeric.config.publicUrl,
    })
    expect(status).toBe(2)
    expect(found('account addresses')).toMatchObject([
      { remedy: 'Set PUBLIC_URL to a host name, for example localhost on this machine.' },
    ])
  })

  it('something else answers there', async () => {
    const other = createServer((_, response) => response.end('<h1>It works!</h1>')).listen(0, 'localhost')
    await once(other, 'listening')
    onTestFinished(() => void other.close())
    const publicUrl = `http://localhost:${(other.address() as AddressInfo).port}`
    const { status, found } = await doctor({ PUBLIC_URL: publicUrl })
    expect(status).toBe(2)
    expect(found('public address')).toMatchObject([
      { what: `The server at PUBLIC_URL, ${publicUrl}, is not Latchkey: HTTP 200.` },
    ])
  })

  it('nobody answers there: perhaps the service is merely not started', async () => {
    const { status, found } = await doctor({ PUBLIC_URL: `http://${NOBODY}` })
    expect(status).toBe(1)
    expect(found('public address')[0]?.remedy).toContain('Start the service with "latchkey serve"')
  })

  it('the service there uses another database', async () => {
    const other = await startTestService({}, { listen: false })
    onTestFinished(other.stop)
    const { found } = await doctor({ DATABASE_URL: other.database.url })
    expect(found('account addresses')).toMatchObject([
      { severity: 'broken', remedy: 'Use the same DATABASE_URL for every process and this command.' },
    ])
  })
})

describe('the configuration', () => {
  it('what cannot be read is listed, and the rest is examined all the same', async () => {
    const { status, found } = await doctor({ LATCHKEY_KEYS: '1:short', PORT: 'eighty' })
    expect(status).toBe(2)
    expect(found('configuration').map(({ what }) => what)).toEqual([
      'PORT is not a whole number from 0 to 65535.',
      'LATCHKEY_KEYS is invalid: each key is written as id:key, a number and 43 base64url characters.',
    ])
    expect(found('configuration')[0]?.remedy).toBe('Correct it and start again. Example: PORT=8080')
    expect(found('migrations')).toMatchObject([{ severity: 'ok' }])
    expect(found('keys')).toEqual([])
  })

  it('a revocation journal that cannot be written is told; one that does not exist yet is fine, and is not created', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'journal-'))
    onTestFinished(() => removeFolder(folder))
    const [journal, absent] = [join(folder, 'revocations.jsonl'), join(folder, 'absent', 'revocations.jsonl')]
    expect((await doctor({ REVOCATION_JOURNAL: journal })).found('configuration')).toMatchObject([{ severity: 'ok' }])
    expect(existsSync(journal)).toBe(false)
    writeFileSync(journal, '')
    expect((await doctor({ REVOCATION_JOURNAL: journal })).found('configuration')).toMatchObject([{ severity: 'ok' }])
    for (const [path, code] of [
      [absent, 'ENOENT'],
      [folder, 'EISDIR'],
    ]) {
      const { status, found } = await doctor({ REVOCATION_JOURNAL: `${path}` })
      expect(status).toBe(2)
      expect(found('configuration')).toEqual([
        {
          check: 'configuration',
          severity: 'broken',
          what: `REVOCATION_JOURNAL, ${path}, cannot be read and written (${code}).`,
          remedy: 'Create its folder, and let the user of the service write to it and to the file.',
        },
      ])
    }
  })

  it('what is right on a laptop only is said elsewhere', async () => {
    const given = { PUBLIC_URL: 'https://service.invalid', OUTBOUND_PRIVATE: 'true' }
    const { found } = await doctor(given)
    expect(found('configuration').map(({ what }) => what.split(':')[0])).toEqual([
      'TRUST_PROXY is not set',
      'OUTBOUND_PRIVATE is true',
    ])
    expect(found('role')).toMatchObject([{ severity: 'warning', remedy: expect.stringContaining('service-role.sql') }])
    expect(found('public address')[0]?.what).toMatch(/service\.invalid, is unreachable \((ENOTFOUND|EAI_AGAIN)\)/)
  })
})

it('clocks that differ are named, and from half a minute on it is broken', async () => {
  await service.database.advance(10_000)
  const { status, found } = await doctor()
  expect(status).toBe(1)
  expect(found('clocks')).toMatchObject([
    { severity: 'warning', what: "The clock of PostgreSQL is 10 s ahead of this machine's." },
  ])
  await service.database.advance(-310_000)
  const worse = await doctor()
  await service.database.advance(300_000)
  expect(worse.status).toBe(2)
  expect(worse.found('clocks')).toEqual([
    {
      check: 'clocks',
      severity: 'broken',
      what: "The clock of PostgreSQL is 300 s behind this machine's: authenticator codes are rejected.",
      remedy: expect.stringContaining('Synchronize the clocks'),
    },
  ])
})
