/** UC-23: who learns that a device was connected; nobody but the user who granted its code does. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { signDecision, verifyDecision } from '../../../src/secrets/web-texts.ts'
import { markRevoked } from '../../../src/store/grants/grants.ts'
import { makeAccount } from '../../rig/make.ts'
import { ask } from '../../rig/scenes/asked.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { makeSignedInUser } from '../../rig/signed-in.ts'
import { textOf, type Web } from '../../rig/web.ts'
import { collected } from '../../rig/witness.ts'

const CONNECTED = wordsFor('en').t('decided.connected')

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

async function granted() {
  const { user, web, code, device, form } = await ask(service)
  await web.send('POST', '/connect/decision', { ...form, decision: 'allow' })
  const collect = async () => {
    const { status } = await device.poll(code.device_code)
    await collected(service, code.user_code)
    return status
  }
  return { user, web, collect, ref: form.ref ?? '' }
}

const told = async (web: Web, ref: string) => (await web.get(`/connect/delivery?ref=${ref}`)).text
const shown = async (web: Web, ref: string) => textOf((await web.get(`/connect/decision?ref=${ref}`)).text)

const NO = '{"connected":false}'
const YES = '{"connected":true}'

it('the user who granted the code is told when its device has collected the credentials, not before', async () => {
  const { web, collect, ref } = await granted()
  expect([await told(web, ref), await shown(web, ref)]).toEqual([NO, expect.not.stringContaining(CONNECTED)])
  expect(await collect()).toBe(200)
  expect([await told(web, ref), await shown(web, ref)]).toEqual([YES, expect.stringContaining(CONNECTED)])
})

it('UC-23: nobody else is told, in the same account or another, with this address or one of their own', async () => {
  const { user, collect, ref } = await granted()
  expect(await collect()).toBe(200)
  const key = verifyDecision(service.config.keys, ref, user.id)
  if (!key) throw new Error('the reference of the user who decided is valid')
  const elsewhere = { account: await makeAccount(service.context.db) }
  for (const other of [await makeSignedInUser(service), await makeSignedInUser(service, elsewhere)]) {
    // Not even with a reference that only the service can sign.
    for (const tried of [ref, signDecision(service.config.keys, key, other.user.id), '', 'none']) {
      expect([await told(other.web, tried), await shown(other.web, tried)]).toEqual([
        NO,
        expect.not.stringContaining(CONNECTED),
      ])
    }
  }
  const stranger = await service.web().send('GET', `/connect/delivery?ref=${ref}`)
  expect([stranger.status, stranger.text]).toEqual([303, ''])
})

it('a device whose access was removed is not connected, whether it had collected its credentials or not', async () => {
  for (const collects of ['before', 'after']) {
    const { user, web, collect, ref } = await granted()
    if (collects === 'before') expect(await collect()).toBe(200)
    const [grant] = await service.database.query<{ id: string }>('select id from grants where user_id = $1', [user.id])
    await service.context.db.transaction((tx) => markRevoked(tx, grant?.id ?? '', 'removed_by_user'))
    if (collects === 'after') expect(await collect()).toBe(400)
    expect([await told(web, ref), await shown(web, ref)]).toEqual([NO, expect.not.stringContaining(CONNECTED)])
  }
})

it('only the page that waits for the device may make requests, and only to its own origin', async () => {
  const { web, collect, ref } = await granted()
  const policy = async () => (await web.get(`/connect/decision?ref=${ref}`)).headers['content-security-policy']
  expect(await policy()).toContain("; connect-src 'self';")
  await collect()
  expect(await policy()).not.toContain('connect-src')
})
