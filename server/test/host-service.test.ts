/** The keys of the host service: settings, files, and key sets at an address. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { removeFolder } from '../../tools/remove-folder.ts'
import { examineConfiguration } from '../src/cli/doctor/configuration.ts'
import { openHostService } from '../src/host-service.ts'
import { type HostKey, makeHostKey, SIGN_IN_URL, signStatement } from './rig/host-service.ts'

const folder = mkdtempSync(join(tmpdir(), 'latchkey-keys-'))
afterAll(() => removeFolder(folder))

let files = 0
function fileWith(content: unknown): string {
  files += 1
  const file = join(folder, `${files}.json`)
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

const publicUrl = 'http://localhost:8080'
const open = (signInUrl: string | null, signInKeys: string | null, base = publicUrl) =>
  openHostService({ publicUrl: base, signInUrl, signInKeys })

test('without both settings there is none, and one alone is refused', async () => {
  expect(await open(null, null)).toBeNull()
  await expect(open(SIGN_IN_URL, null)).rejects.toThrow(
    'SIGN_IN_URL is set, but SIGN_IN_KEYS is not. Set both or none.',
  )
  await expect(open(null, fileWith({}))).rejects.toThrow('SIGN_IN_KEYS is set, but SIGN_IN_URL is not.')
})

test('http is refused where Latchkey itself uses https', async () => {
  const base = 'https://service.example'
  const https = SIGN_IN_URL.replace('http:', 'https:')
  await expect(open(SIGN_IN_URL, '/keys.json', base)).rejects.toThrow('SIGN_IN_URL starts with http://')
  await expect(open(https, 'http://host.example/keys', base)).rejects.toThrow('SIGN_IN_KEYS starts with http://')
  expect(await open(https, 'https://host.example/keys', base)).not.toBeNull()
})

test('a file has public keys of the two algorithms, and at least one', async () => {
  const { jwk } = await makeHostKey()
  const { jwk: other } = await makeHostKey('ES256')
  expect(await open(SIGN_IN_URL, fileWith({ keys: [jwk, other] }))).not.toBeNull()
  const wrong: [unknown, string][] = [
    ['{', 'it is no JSON object with a list "keys"'],
    [{ jwk }, 'it is no JSON object with a list "keys"'],
    [{ keys: [] }, 'it has no keys'],
    [{ keys: [jwk, { ...jwk, d: 'secret' }] }, 'it has a private key'],
    [{ keys: [{ kty: 'oct', k: 'c2VjcmV0' }] }, 'it has a key of another type (oct )'],
    [{ keys: [{ kty: 'RSA', n: 'AQAB', e: 'AQAB' }] }, 'it has a key of another type (RSA )'],
    [{ keys: [{ ...jwk, x: 'AAAA' }] }, 'cannot be used'],
  ]
  for (const [content, reason] of wrong) {
    await expect(open(SIGN_IN_URL, fileWith(content))).rejects.toThrow(reason)
  }
  await expect(open(SIGN_IN_URL, join(folder, 'none.json'))).rejects.toThrow('ENOENT')
})

test('"latchkey doctor" tells of settings with which the service does not start', async () => {
  const findings = await examineConfiguration({ publicUrl, signInUrl: SIGN_IN_URL, signInKeys: null }, [])
  expect(findings).toMatchObject([{ what: expect.stringContaining('SIGN_IN_KEYS is not') }])
  const { jwk } = await makeHostKey()
  const right = { publicUrl, signInUrl: SIGN_IN_URL, signInKeys: fileWith({ keys: [jwk] }) }
  expect(await examineConfiguration(right, [])).toMatchObject([{ what: 'All settings are valid.' }])
})

type Served = { keys: readonly HostKey[]; status: number; body: string | null; location?: string }

/** A key set at an address, and how often it was fetched. */
async function serveKeys(keys: readonly HostKey[]) {
  const served: Served = { keys, status: 200, body: null }
  let fetched = 0
  const server = createServer((_request, response) => {
    fetched += 1
    const { location } = served
    response.writeHead(served.status, location ? { location } : {})
    response.end(served.body ?? JSON.stringify({ keys: served.keys.map(({ jwk }) => jwk) }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => new Promise((resolve) => server.close(resolve).closeAllConnections())
  onTestFinished(async () => void (await close()))
  const { port } = server.address() as AddressInfo
  return { address: `http://127.0.0.1:${port}/keys`, served, fetches: () => fetched, close }
}

/** The outcome of a good statement that is signed with this key. */
async function verifyWith(
  host: Awaited<ReturnType<typeof open>>,
  key: HostKey,
  given: object = {},
): Promise<string | undefined> {
  const now = Date.now()
  const iat = Math.floor(now / 1000)
  const audience = 'http://acme.localhost:8080'
  const about = { account: 'acme', nonce: 'challenge', email: 'ada@host.example', auth_time: iat, roles: [] }
  const claims = { iss: 'http://host.example', aud: audience, sub: '17', iat, exp: iat + 60, ...about, ...given }
  return (await host?.verify(await signStatement(key, claims), { audience, now }))?.outcome
}

test('a claim with a NUL character is invalid, one with the text of its escape is not', async () => {
  const key = await makeHostKey()
  const host = await open(SIGN_IN_URL, fileWith({ keys: [key.jwk] }))
  for (const given of [{ name: 'Ada\0' }, { sub: '\0' }, { roles: ['editor', '\0'] }])
    expect(await verifyWith(host, key, given)).toBe('invalid')
  expect(await verifyWith(host, key, { name: 'Ada \\u0000', roles: ['\\u0000'] })).toBe('verified')
})

const MINUTE = 60_000
/** Lets time pass for what is cached. */
function pass(ms: number): void {
  vi.setSystemTime(Date.now() + ms)
  onTestFinished(() => void vi.useRealTimers())
}

test('a key set at an address is fetched once, and again for an unknown key at most once a minute', async () => {
  const [first, second] = [await makeHostKey(), await makeHostKey('ES256')]
  const { address, served, fetches } = await serveKeys([first])
  const host = await open(SIGN_IN_URL, address)
  expect(await verifyWith(host, first)).toBe('verified')
  expect(await verifyWith(host, first)).toBe('verified')
  expect(fetches()).toBe(1)
  served.keys = [first, second]
  expect(await verifyWith(host, second)).toBe('invalid')
  expect(fetches()).toBe(1)
  pass(MINUTE + 1)
  expect(await verifyWith(host, second)).toBe('verified')
  expect(fetches()).toBe(2)
})

test('a key that was taken out of the set is refused ten minutes later at the latest', async () => {
  const [first, second] = [await makeHostKey(), await makeHostKey()]
  const { address, served } = await serveKeys([first, second])
  const host = await open(SIGN_IN_URL, address)
  expect(await verifyWith(host, first)).toBe('verified')
  served.keys = [second]
  pass(10 * MINUTE + 1)
  expect(await verifyWith(host, first)).toBe('invalid')
  expect(await verifyWith(host, second)).toBe('verified')
})

test.each([
  ['an error', { status: 500 }],
  ['a redirect', { status: 302, location: 'http://127.0.0.1:9/' }],
  ['a page', { body: '<html>' }],
  ['more than 64 KiB', { body: JSON.stringify({ keys: [], more: 'x'.repeat(65 * 1024) }) }],
])('while the address answers with %s, the keys fetched last stay valid', async (_what, answer) => {
  const key = await makeHostKey()
  const { address, served } = await serveKeys([key])
  const host = await open(SIGN_IN_URL, address)
  Object.assign(served, answer)
  expect(await verifyWith(host, key)).toBe('no_keys')
  Object.assign(served, { status: 200, body: null })
  expect(await verifyWith(host, key)).toBe('verified')
  Object.assign(served, answer)
  pass(11 * MINUTE)
  expect(await verifyWith(host, key)).toBe('verified')
})

test('while nobody answers, the keys fetched last stay valid', async () => {
  const key = await makeHostKey()
  const { address, close } = await serveKeys([key])
  const host = await open(SIGN_IN_URL, address)
  expect(await verifyWith(host, key)).toBe('verified')
  await close()
  pass(11 * MINUTE)
  expect(await verifyWith(host, key)).toBe('verified')
  const never = await open(SIGN_IN_URL, address)
  expect(await verifyWith(never, key)).toBe('no_keys')
})
