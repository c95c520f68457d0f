/**
 * "When omitted, the default scope set configured for the application applies": whole, or the request is refused. A default
 * set that the device flow could not grant cannot be configured. docs/interface/credentials.md, "Scopes".
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { changeSettings, registerApplication } from '../../src/flows/applications/own.ts'
import { wordsFor } from '../../src/pages/ui/words.ts'
import { makeRegistration, makeSettings } from '../rig/application-settings.ts'
import { createApplication, createScope } from '../rig/create.ts'
import { post } from '../rig/device.ts'
import { CALLBACK, type MadeApplication, makeApplication } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { signInAs } from '../rig/signed-in.ts'
import { textOf } from '../rig/web.ts'
import { everyRow } from '../rig/witness.ts'

const { t } = wordsFor('en')
const SCOPES = ['orders:read', 'orders:write', 'money:move']
const DEFAULTS = ['orders:write', 'orders:read']

let service: TestService
beforeAll(async () => {
  service = await startTestService()
  await createScope(service.context.db, { name: 'money:move', title: 'Move money', deviceFlow: false })
})
afterAll(() => service.stop())

async function make(given: Parameters<typeof makeApplication>[3] = {}): Promise<MadeApplication> {
  const wish = { allowedScopes: SCOPES, defaultScopes: DEFAULTS, ...given }
  const application = await makeApplication(service.context.db, service.config, service.account.slug, wish)
  await service.context.applications.refresh()
  return application
}

describe.each(['oauth', 'key'] as const)('a code request, %s variant', (variant) => {
  it.each<[string, Record<string, string>]>([
    ['without scope', {}],
    ['with scope=', { scope: '' }],
    ['with scope=,', { scope: ',' }],
    ['with scope= and spaces', { scope: ' , ' }],
  ])('%s asks for the whole default set, and that is granted', async (_what, sent) => {
    const device = service.device(variant, await make())
    const code = await device.code(sent)
    expect(await service.grant(code.user_code)).toBe('granted')
    expect((await device.poll(code.device_code)).body.scope).toBe(DEFAULTS.join(','))
  })

  it('is refused, and not narrowed, when the stored default set has a scope that no typed code may lead to', async () => {
    const application = await make()
    await service.database.query(
      `update applications set default_scopes = '{orders:read,money:move}', change_number = nextval('application_changes')
       where id = $1`,
      [application.id],
    )
    await service.context.applications.refresh()
    const before = await everyRow(service)
    const device = service.device(variant, application)
    for (const sent of [{}, { scope: '' }, { scope: ',' }]) {
      const { status, body } = await device.request(sent)
      expect([status, body.error]).toEqual([400, 'invalid_scope'])
    }
    const { id, secret } = application
    const form = { client_id: id, client_secret: secret }
    const standard = await post(service.address, '/oauth/device_authorization', { form })
    expect([standard.status, standard.body.error]).toEqual([400, 'invalid_scope'])
    expect(await everyRow(service)).toEqual(before)
    // What it names itself, and may have, is not concerned.
    expect((await device.request({ scope: 'orders:read' })).status).toBe(200)
  })
})

describe('a default set with a scope that no typed code may lead to', () => {
  const wish = makeSettings({ allowedScopes: SCOPES, defaultScopes: ['orders:read', 'money:move'] })
  const unfit = { outcome: 'unfit', problem: { field: 'scopes', problem: 'not_by_device', names: ['money:move'] } }

  it('is refused when an application with the device flow is registered, with the reason', async () => {
    const { context, config, account, user } = service
    const before = await everyRow(service)
    expect(await createApplication(context.db, config.keys, makeRegistration(account.slug, wish))).toEqual({
      outcome: 'refused',
      reason: expect.stringMatching(
        /^No typed code may lead to money:move, so .* cannot have it in its default scopes\./,
      ),
    })
    expect(await registerApplication(context, user.id, { ...wish, public: false })).toEqual(unfit)
    expect(await everyRow(service)).toEqual(before)
  })

  it('is refused at every later change: of the default set, and of the way in which it is connected', async () => {
    const { context, user } = service
    const device = await make()
    expect(await changeSettings(context, user.id, device.id, wish)).toEqual(unfit)
    const dialog = await make({ deviceFlow: false, redirectUris: [CALLBACK], defaultScopes: wish.defaultScopes })
    const before = await everyRow(service)
    expect(await changeSettings(context, user.id, dialog.id, { ...wish, redirectUris: [CALLBACK] })).toEqual(unfit)
    expect(await everyRow(service)).toEqual(before)
  })

  it('is refused on the page of the console, in words, and what was typed stays', async () => {
    const application = await make()
    const web = await signInAs(service, service.user)
    const path = '/developer/application/settings'
    await web.get(`${path}?application=${application.id}`)
    const fields = { name: 'Till', device_flow: 'on', 'use.orders:read': 'default', 'use.money:move': 'default' }
    const page = await web.submit(path, fields)
    expect(page.status).toBe(400)
    expect(textOf(page.text)).toContain(t('scope_choice.problem_not_by_code'))
  })

  it('is all right for an application that has only the dialog, and the dialog grants it whole', async () => {
    const { context, user } = service
    const only = { ...wish, public: false, deviceFlow: false, redirectUris: [CALLBACK] }
    expect((await registerApplication(context, user.id, only)).outcome).toBe('registered')
  })

  it('cannot come about later: a scope that exists is not made again as another one', async () => {
    const again = await createScope(service.context.db, { name: 'orders:read', title: 'See orders', deviceFlow: false })
    expect(again.outcome).toBe('refused')
    const [row] = await service.database.query("select device_flow from scopes where name = 'orders:read'")
    expect(row).toEqual({ device_flow: true })
  })
})
