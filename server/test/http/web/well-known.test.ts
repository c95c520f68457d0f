/** Well-known addresses: the contact for reports of vulnerabilities (RFC 9116), and where the password is changed (W3C). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { post } from '../../rig/device.ts'
import { makeHost, type TestHost } from '../../rig/host-service.ts'
import { needs } from '../../rig/origins/needs.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { signInAs } from '../../rig/signed-in.ts'

const DAY = 24 * 60 * 60 * 1_000
const SECURITY_CONTACT = 'mailto:security@service.example'
const SECURITY_POLICY_URL = 'https://service.example/security'

let service: TestService
let without: TestService
let host: TestHost
beforeAll(async () => {
  service = await startTestService({ SECURITY_CONTACT, SECURITY_POLICY_URL }, { clock: true })
  host = await makeHost()
  without = await startTestService({ SECURITY_POLICY_URL, ...host.environment })
})
afterAll(async () => {
  await service.stop()
  await without.stop()
  host.remove()
})

const base = ({ config }: TestService) => new URL(config.publicUrl).host
const get = (of: TestService, path: string, at = base(of), headers = {}) =>
  post(of.address, `/.well-known/${path}`, { method: 'GET', headers: { host: at, ...headers } })
const accountHost = (of: TestService) => `${of.account.slug}.${base(of)}`

const fieldsOf = (text: string) =>
  Object.fromEntries(
    text
      .trim()
      .split('\n')
      .map((line) => line.split(': ')),
  )

describe('security.txt', () => {
  it('names whom to tell, where its rules are, and until when this holds', async () => {
    const { status, headers, text } = await get(service, 'security.txt')
    expect([status, headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8'])
    const { Expires, ...others } = fieldsOf(text)
    expect(others).toEqual({
      Contact: SECURITY_CONTACT,
      Canonical: `${service.config.publicUrl}/.well-known/security.txt`,
      Policy: SECURITY_POLICY_URL,
      'Preferred-Languages': 'en',
    })
    expect(Expires).toMatch(/^\d{4}-\d\d-\d\dT00:00:00\.000Z$/)
    const days = (Date.parse(Expires) - Date.now()) / DAY
    expect(Math.ceil(days)).toBe(30)
  })

  it('is renewed by the day, without a change of the configuration', async () => {
    const expiresAt = async () => Date.parse(fieldsOf((await get(service, 'security.txt')).text).Expires)
    const before = await expiresAt()
    await service.database.advance(DAY)
    await service.context.applications.refresh()
    expect(await expiresAt()).toBe(before + DAY)
  })

  it('is one for the service: an account’s host leads to it', async () => {
    const { status, headers } = await get(service, 'security.txt', accountHost(service))
    expect([status, headers.location]).toEqual([303, `${service.config.publicUrl}/.well-known/security.txt`])
  })

  it('does not exist where no contact is configured', async () => {
    for (const at of [base(without), accountHost(without)])
      expect((await get(without, 'security.txt', at)).status).toBe(404)
  })
})

describe('change-password', () => {
  it('leads to the form on an account’s host', needs('password'), async () => {
    const web = await signInAs(service, service.user)
    const page = await web.get('/.well-known/change-password')
    expect([page.status, page.text.includes('action="/security/password"')]).toEqual([200, true])
  })

  it('does not exist where users have no password here', async () => {
    expect((await get(without, 'change-password', accountHost(without))).status).toBe(404)
  })

  it('says on the base host, where nobody has a password, which host to ask', async () => {
    const { status, body } = await get(service, 'change-password')
    expect([status, body.error_description]).toEqual([
      421,
      expect.stringContaining(`http://acme.${base(service)}/.well-known/change-password`),
    ])
  })

  it('can be relied on: an address that nobody defined answers 404', async () => {
    const nobodys = 'resource-that-should-not-exist-whose-status-code-should-not-be-200'
    for (const at of [base(service), accountHost(service)]) expect((await get(service, nobodys, at)).status).toBe(404)
  })
})
