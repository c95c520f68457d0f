/**
 * Code and passkey on one page, for a browser that has a passkey.
 * docs/interface/device-flow.md, "The user decides".
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { PASSKEY, SESSION } from '../../src/http/web/cookies.ts'
import { wordsFor } from '../../src/pages/ui/words.ts'
import { addPasskeyHere, usePasskeyHere } from '../rig/factors/add-factor.ts'
import { createSoftPasskey, type SoftPasskey } from '../rig/factors/soft-passkey.ts'
import { makeUser } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { textOf, unescapeHtml, type Web } from '../rig/web.ts'
import { digestOf } from '../rig/witness.ts'

const { t } = wordsFor('en')
const PASSWORD = 'a quiet green harbour'
const ACTION = '/connect/code/passkey'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

/** A browser in which a user added a passkey, and that is signed out; with the page for codes. */
async function openSignedOut(): Promise<{ web: Web; passkey: SoftPasskey }> {
  const user = await makeUser(service.context.db, service.account.slug, { holds: ['orders:read'], password: PASSWORD })
  const web = service.web()
  await web.signIn(user.email, PASSWORD)
  await web.get('/security')
  const { passkey } = await addPasskeyHere(web)
  await web.get('/')
  await web.submit('/sign-out')
  await web.get('/connect/code')
  return { web, passkey }
}

/** Answers the challenge of the page that is shown. */
function enter(web: Web, passkey: SoftPasskey, code: string) {
  const options = JSON.parse(unescapeHtml(/ options="([^"]*)"/.exec(web.last?.text ?? '')?.[1] ?? ''))
  return web.submit(ACTION, { code, answer: passkey.get(options, web.origin) })
}

it('one form signs in and leads to the decision', async () => {
  const { web, passkey } = await openSignedOut()
  expect(web.last?.text).toContain(`action="${ACTION}"`)
  expect(/<input[^>]*id="app-code"[^>]*>/.exec(web.last?.text ?? '')?.[0]).toMatch(/ value /)
  const { user_code } = await service.device('oauth').code()
  const consent = await enter(web, passkey, user_code)
  expect([consent.status, web.cookies.has(SESSION)]).toEqual([200, true])
  expect(consent.text).toContain('value="allow"')
})

it('a code with a mistake is shown again at the page for codes, signed in, with a form that works', async () => {
  const { web, passkey } = await openSignedOut()
  const again = await enter(web, passkey, '123 456')
  expect([again.status, web.cookies.has(SESSION)]).toEqual([400, true])
  expect(again.text).toContain('value="123 456"')
  const { user_code } = await service.device('oauth').code()
  expect((await web.submit('/connect/code', { code: user_code })).text).toContain('value="allow"')
})

it('a passkey that does not fit signs nobody in, enters no code, and the page keeps what was typed', async () => {
  const { web } = await openSignedOut()
  const { user_code } = await service.device('oauth').code()
  const refused = await enter(web, createSoftPasskey(), user_code)
  expect([refused.status, web.cookies.has(SESSION)]).toEqual([400, false])
  expect(textOf(refused.text)).toContain(t('sign_in.problem_passkey'))
  expect(refused.text).toContain(`value="${user_code}"`)
  const claims = await service.database.query(
    'select from device_codes where user_code_digest = $1 and claimed_by is null',
    [digestOf(service, user_code)],
  )
  expect(claims).toHaveLength(1)
})

it('a form from elsewhere enters no code', async () => {
  const { web, passkey } = await openSignedOut()
  const options = JSON.parse(unescapeHtml(/ options="([^"]*)"/.exec(web.last?.text ?? '')?.[1] ?? ''))
  const form = { code: '123456789', answer: passkey.get(options, web.origin) }
  const { status } = await web.send('POST', ACTION, form, {
    origin: 'https://other.example',
    'sec-fetch-site': 'cross-site',
  })
  expect([status, web.cookies.has(SESSION)]).toEqual([403, false])
})

it('other pages and other ways to sign in stay as they are', async () => {
  const { web, passkey } = await openSignedOut()
  for (const path of ['/sign-in', '/sign-in?next=%2Fsecurity', '/sign-in?next=%2Fconnect%2Fcode&another']) {
    expect((await web.get(path)).text, path).toContain('id="password"')
  }
  expect(web.last?.text).toContain(`href="${service.config.publicUrl}/activate?another"`)
  web.cookies.delete(PASSKEY)
  expect((await web.get('/connect/code')).text).toContain('id="password"')
  await usePasskeyHere(web, passkey)
  expect(web.cookies.has(PASSKEY)).toBe(true)
})
