/** UC-08 to UC-10: forms, frames and codes from other sites. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { type CodeRecord, post } from '../../rig/device.ts'
import { makeUser } from '../../rig/make.ts'
import { ask, someDevice } from '../../rig/scenes/asked.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { makeSignedInUser } from '../../rig/signed-in.ts'
import { formFields, textOf } from '../../rig/web.ts'
import { codeRow, countRows, entriesOf, UNTOUCHED } from '../../rig/witness.ts'

const { t } = wordsFor('en')

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

const stillAsked = async ({ user, code }: { user: { id: string }; code: CodeRecord }) =>
  expect(await codeRow(service, code.user_code)).toMatchObject({ ...UNTOUCHED, claimed_by: user.id })

describe('forms from other sites', () => {
  const elsewhere = (): Record<string, Record<string, string>> => ({
    'another site': { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    'another site, without a word about itself': { origin: 'https://evil.example' },
    'a sibling account': {
      origin: `http://sibling.${new URL(service.config.publicUrl).host}`,
      'sec-fetch-site': 'same-site',
    },
    'a sibling account, in an old browser': { origin: `http://sibling.${new URL(service.config.publicUrl).host}` },
    'the host above': { origin: service.config.publicUrl, 'sec-fetch-site': 'same-site' },
    'a sandboxed frame': { origin: 'null', 'sec-fetch-site': 'cross-site' },
    'an address that was typed': { 'sec-fetch-site': 'none' },
    nowhere: {},
  })

  it.each(['/connect/code', '/connect/decision', '/connect/switch'])(
    'UC-08: %s takes no form from another origin, whatever its fields and cookies',
    async (path) => {
      const { user, web, code, form } = await ask(service)
      const fresh = await (await someDevice(service)).code()
      const switching = formFields(web.last?.text ?? '', '/connect/switch')
      const entering = formFields((await web.get('/connect/code')).text, '/connect/code')
      const fields = {
        '/connect/code': { ...entering, code: fresh.user_code },
        '/connect/decision': { ...form, decision: 'allow' },
        '/connect/switch': switching,
      }[path] as Record<string, string>
      const cookie = Array.from(web.cookies, ([name, value]) => `${name}=${value}`).join('; ')
      const before = await countRows(service, 'grants', 'audit_events', 'code_entries', 'sessions')
      for (const [from, headers] of Object.entries(elsewhere())) {
        const answer = await post(service.address, path, {
          form: fields,
          headers: { host: web.host, cookie, ...headers },
        })
        expect([from, answer.status, answer.headers['set-cookie']]).toEqual([from, 403, undefined])
      }
      expect(await countRows(service, 'grants', 'audit_events', 'code_entries', 'sessions')).toEqual(before)
      await stillAsked({ user, code })
      expect(await codeRow(service, fresh.user_code)).toMatchObject(UNTOUCHED)

      const accepted = await web.send('POST', path, fields)
      expect(accepted.status, 'the very same form from our own page').toBe(303)
    },
  )

  it.each(['GET', 'HEAD'] as const)(
    'UC-08: %s never decides, enters or hands back, whatever its query says',
    async (method) => {
      const { user, web, code, form } = await ask(service)
      const fresh = await (await someDevice(service)).code()
      const before = await countRows(service, 'grants', 'audit_events', 'code_entries', 'sessions', 'mails')
      const queries = {
        '/connect/decision': { ...form, decision: 'allow' },
        '/connect/switch': form,
        '/connect/code': {
          ...formFields((await web.get('/connect/code')).text, '/connect/code'),
          code: fresh.user_code,
        },
        '/sign-out': form,
      }
      for (const [path, query] of Object.entries(queries)) {
        await web.send(method as 'GET', `${path}?${new URLSearchParams(query)}`)
      }
      expect(await countRows(service, 'grants', 'audit_events', 'code_entries', 'sessions', 'mails')).toEqual(before)
      await stillAsked({ user, code })
      expect(await codeRow(service, fresh.user_code)).toMatchObject(UNTOUCHED)
    },
  )

  it('UC-09: no page before a decision can be framed', async () => {
    const { web, path } = await ask(service)
    for (const page of [await web.get('/connect/code'), await web.get(path), await web.send('POST', path, {})]) {
      expect(page.headers['content-security-policy']).toContain("frame-ancestors 'none'")
      expect(page.headers['x-frame-options']).toBe('DENY')
    }
  })
})

describe('codes in an address', () => {
  it.each(['user_code', 'code', 'app-code', 'typed', 'value'])(
    'UC-10: an address with ?%s= fills in nothing',
    async (name) => {
      const { user, web } = await makeSignedInUser(service)
      const code = await service.device().code()
      for (const path of [
        `/connect/code?${name}=${code.user_code}`,
        `/connect/code?${name}=${code.user_code}#${code.user_code}`,
      ]) {
        const page = await web.get(path)
        expect(page.status).toBe(200)
        expect(page.text).toMatch(/<input id="app-code"[^>]* value(="")?[ />]/)
        const field = /<input id="app-code"[^>]*>/.exec(page.text)?.[0]
        expect(field).toContain('autocomplete="off"')
        expect(field).not.toContain(code.user_code)
      }
      expect(await codeRow(service, code.user_code)).toMatchObject(UNTOUCHED)
      expect(await entriesOf(service, user)).toEqual([])
    },
  )

  it('UC-10: signing in before such an address does not fill in the code either', async () => {
    const password = 'a quiet green harbour'
    const user = await makeUser(service.context.db, service.account.slug, { password })
    const code = await service.device().code()
    const web = service.web()
    const page = await web.signIn(user.email, password, `/connect/code?code=${code.user_code}`)
    expect(textOf(page.text)).toContain(t('enter_code.heading'))
    expect(/<input id="app-code"[^>]*>/.exec(page.text)?.[0]).not.toContain(code.user_code)
    expect(await codeRow(service, code.user_code)).toMatchObject(UNTOUCHED)
  })

  it('UC-10: a form posted from another site, or without our token, is not shown filled in', async () => {
    const { web } = await makeSignedInUser(service)
    const code = await service.device().code()
    const foreign = await web.send(
      'POST',
      '/connect/code',
      { code: code.user_code },
      { origin: 'https://evil.example' },
    )
    const unsigned = await web.send('POST', '/connect/code', { code: code.user_code })
    for (const page of [foreign, unsigned]) {
      expect(page.status).toBe(403)
      expect(page.text).not.toContain(code.user_code)
    }
    expect(await codeRow(service, code.user_code)).toMatchObject(UNTOUCHED)
  })

  it('UC-10: an application never receives an address with its code in it', async () => {
    for (const variant of ['oauth', 'key'] as const) {
      const answer = await service.device(variant).code()
      expect(answer.verification_url).toBe('')
      expect(Object.keys(answer)).toEqual([
        'device_code',
        'user_code',
        'verification_url',
        'expires_in',
        'interval',
        'state',
      ])
      expect(await codeRow(service, answer.user_code)).toMatchObject(UNTOUCHED)
    }
  })
})
