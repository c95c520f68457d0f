/** `latchkey key`: what an operator types when a signing key is to go, its words, its JSON and its exit status. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createKey } from '../../src/secrets/keyset.ts'
import { makeAuthenticator } from '../rig/factors/second-factor.ts'
import { makeEnvironment } from '../rig/make.ts'
import { runCommand } from '../rig/process/command.ts'
import { startTestService, type TestService } from '../rig/service.ts'

const [KEY_1, KEY_2] = [createKey(1), createKey(2)]

let service: TestService
beforeAll(async () => {
  service = await startTestService({ LATCHKEY_KEYS: KEY_1 }, { listen: false })
  await makeAuthenticator(service, service.user)
})
afterAll(() => service.stop())

const key = (...args: string[]) => {
  const environment = makeEnvironment({ DATABASE_URL: service.database.url, LATCHKEY_KEYS: `${KEY_2},${KEY_1}` })
  return runCommand(['key', ...args], { environment })
}

it('a number that is no key is refused', async () => {
  for (const args of [
    ['create', '--id', '256'],
    ['announce', 'x'],
    ['retire', '0'],
  ]) {
    expect(await key(...args)).toMatchObject({ status: 1, stderr: expect.stringContaining('from 1 to 255') })
  }
})

it('counts, refuses and says what to do, tells the owners, and retires by force', async () => {
  const needed = 'Key 1 is needed by 1 application secrets, 1 authenticators.'
  expect(await key('retire', '1', '--dry-run')).toMatchObject({ status: 0, stdout: `${needed}\n` })
  const refused = await key('retire', '1')
  expect([refused.status, refused.stderr.trim()]).toEqual([
    1,
    `${needed} "latchkey key announce 1" notifies their owners; --force revokes them.`,
  ])
  expect(await key('retire', '2', '--force')).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/is the signing key/),
  })

  const told = await key('announce', '1', '--json')
  expect(JSON.parse(told.stdout)).toEqual({ id: 1, authenticatorOwners: 1, recoveryCodeOwners: 0, administrators: 1 })
  const mails = await service.database.query('select kind, detail from mails order by kind')
  expect(mails).toEqual([
    { kind: 'authenticator_to_renew', detail: {} },
    { kind: 'credentials_to_renew', detail: { count: 1, applications: [expect.stringContaining('Application')] } },
  ])

  const forced = await key('retire', '1', '--force', '--json')
  expect([forced.status, JSON.parse(forced.stdout)]).toMatchObject([
    0,
    { id: 1, applicationSecrets: 1, authenticators: 1 },
  ])
  expect(await key('retire', '1', '--dry-run'), 'authenticators stay, and match nothing').toMatchObject({
    stdout: 'Key 1 is needed by 1 authenticators.\n',
  })
})
