/** The page of an account's identity provider: what can be wrong with the connection, what is saved, what is recorded. */
import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { ProviderProblem } from '../../../src/core/provider/provider.ts'
import { createProviders } from '../../../src/flows/provider/client.ts'
import { saveProviderSettings, testProviderSettings } from '../../../src/flows/provider/settings.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { listRoles } from '../../../src/store/accounts/roles.ts'
import {
  asHost,
  connectProvider,
  makeOwnAdministrator,
  PROVIDER_ENVIRONMENT,
  signInAtProvider,
  startProvider,
  type TestProvider,
} from '../../rig/identity-provider.ts'
import { makeAccount, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { signInAs } from '../../rig/signed-in.ts'
import { textOf } from '../../rig/web.ts'

const { t } = wordsFor('en')

let service: TestService
let provider: TestProvider
let account: { id: string; slug: string }
beforeAll(async () => {
  service = await startTestService({ ...PROVIDER_ENVIRONMENT, LOG_LEVEL: 'silent' })
})
beforeEach(async () => {
  provider = await startProvider()
  account = await makeAccount(service.context.db)
  return () => provider.stop()
})
afterAll(() => service.stop())

const connect = (wanted = {}) => connectProvider(service, provider, wanted, account)
const test = async () => {
  const result = await testProviderSettings(service.context, asHost(account), Date.now())
  return result.outcome === 'tested' ? result.problem : result.outcome
}

describe('the test of a connection', () => {
  it('finds nothing wrong with a good provider, and signs nobody in', async () => {
    await connect({ state: 'off' })
    expect(await test()).toBeNull()
    expect(provider.asked).toEqual(['/.well-known/openid-configuration', '/jwks', '/token'])
  })

  it.each<[ProviderProblem, Record<string, unknown>]>([
    ['issuer_mismatch', { issuer: 'https://other.example' }],
    ['no_code_flow', { response_types_supported: ['id_token'] }],
    ['no_code_flow', { code_challenge_methods_supported: ['plain'] }],
    ['no_algorithm', { id_token_signing_alg_values_supported: ['HS256', 'none'] }],
    ['no_client_auth', { token_endpoint_auth_methods_supported: ['private_key_jwt'] }],
    ['endpoint', { token_endpoint: undefined }],
  ])('says %s for a document with %j', async (problem, document) => {
    await connect({ state: 'off' })
    provider.document = document
    expect(await test()).toBe(problem)
  })

  const answers = (status: number, type: string, body: string) => (_: unknown, response: ServerResponse) => {
    response.writeHead(status, { 'content-type': type }).end(body)
  }
  const DOCUMENT = '/.well-known/openid-configuration'
  it.each<[ProviderProblem, string, ReturnType<typeof answers>]>([
    ['no_document', DOCUMENT, answers(404, 'text/html', '')],
    ['no_document', DOCUMENT, answers(500, 'application/json', '{}')],
    ['malformed', DOCUMENT, answers(200, 'text/html', '<p>')],
    ['malformed', DOCUMENT, answers(200, 'application/json', 'no json')],
    ['malformed', DOCUMENT, answers(200, 'application/json', '{"issuer":7}')],
    ['no_keys', '/jwks', answers(200, 'application/json', '{"keys":[]}')],
    ['no_keys', '/jwks', answers(404, 'text/html', '')],
    ['client_refused', '/token', answers(401, 'application/json', '{"error":"invalid_client"}')],
    ['client_refused', '/token', answers(400, 'application/json', '{"error":"unauthorized_client"}')],
    ['malformed', '/token', answers(200, 'text/html', 'hello')],
  ])('says %s if %s answers otherwise', async (problem, path, answer) => {
    await connect({ state: 'off' })
    provider.instead.set(path, answer)
    expect(await test()).toBe(problem)
  })

  it('says unreachable if nothing listens, and secret_lost if the key that encrypted the secret is gone', async () => {
    await connect({ state: 'off' })
    const { context } = service
    const keys = { ...context.config.keys, byId: new Map() }
    const without = { ...context, config: { ...context.config, keys } }
    const lost = await testProviderSettings(without, asHost(account), Date.now())
    expect(lost).toEqual({ outcome: 'tested', problem: 'secret_lost' })
    const providers = createProviders(context.outbound)
    const client = { issuer: 'http://127.0.0.1:1025', clientId: 'a', clientSecret: 'b' }
    expect(await providers.test(client, 'https://a.example', Date.now())).toBe('unreachable')
  })

  it('is on the page, which says what to do', async () => {
    const { administrators } = await connect({ state: 'off' })
    const web = await signInAs(service, administrators[0], { account })
    await web.get('/account/provider')
    expect(textOf((await web.submit('/account/provider/test')).text)).toContain(t('provider.notice_tested'))
    provider.document = { id_token_signing_alg_values_supported: ['none'] }
    const page = await web.submit('/account/provider/test')
    expect([page.status, textOf(page.text).includes(t('provider_problem.no_algorithm'))]).toEqual([400, true])
    expect(textOf(page.text)).toContain(t('provider.logout_text', { hours: 12 }))
  })
})

describe('saving', () => {
  const save = async (by: { id: string }, wanted: object) => {
    const [stored] = await service.database.query<{ issuer: string }>(
      'select issuer from identity_providers where account_id = $1',
      [account.id],
    )
    const given = {
      state: 'off',
      issuer: stored?.issuer ?? provider.issuer,
      clientId: provider.clientId,
      clientSecret: provider.clientSecret,
      domains: '',
      admission: 'invited',
      defaultRole: '',
      roleClaim: '',
      roleValues: new Map<string, string>(),
      breakGlass: [],
      ...wanted,
    } as const
    return saveProviderSettings(service.context, asHost(account), by.id, given, Date.now())
  }

  it('switches on only what passes the test', async () => {
    const by = await makeOwnAdministrator(service, account)
    provider.document = { issuer: 'https://other.example' }
    expect(await save(by, { state: 'optional' })).toEqual({ outcome: 'failed', problem: 'issuer_mismatch' })
    expect(await save(by, {})).toEqual({ outcome: 'saved' })
    expect(await save(by, { state: 'optional', clientSecret: '' })).toEqual({
      outcome: 'failed',
      problem: 'issuer_mismatch',
    })
    provider.document = {}
    expect(await save(by, { state: 'optional', clientSecret: '' })).toEqual({ outcome: 'saved' })
  })

  it('accepts the address of the discovery document for the issuer, and a slash at the end', async () => {
    const by = await makeOwnAdministrator(service, account)
    for (const issuer of [`${provider.issuer}/.well-known/openid-configuration`, `${provider.issuer}/`]) {
      expect(await save(by, { issuer, state: 'optional' })).toEqual({ outcome: 'saved' })
      const [row] = await service.database.query('select issuer from identity_providers where account_id = $1', [
        account.id,
      ])
      expect(row).toEqual({ issuer: provider.issuer })
    }
  })

  it('names the field that is wrong', async () => {
    const by = await makeOwnAdministrator(service, account)
    const roles = await listRoles(service.context.db, account.id)
    const everything = roles.find((role) => role.holdsEveryScope)?.id ?? ''
    const unfit = (problem: string) => ({ outcome: 'unfit', problem })
    expect(await save(by, { clientId: ' ' })).toEqual(unfit('client_id'))
    expect(await save(by, { clientSecret: '' })).toEqual(unfit('client_secret'))
    expect(await save(by, { domains: 'no domain!' })).toEqual(unfit('domains'))
    expect(await save(by, { admission: 'domain' })).toEqual(unfit('domain_needed'))
    expect(await save(by, { defaultRole: everything })).toEqual(unfit('default_role'))
    expect(await save(by, { defaultRole: 'rol_of_another' })).toEqual(unfit('default_role'))
    expect(await save(by, { roleValues: new Map([[everything, 'admins']]) })).toEqual(unfit('role_claim'))
    expect(await save(by, { state: 'required' })).toEqual(unfit('break_glass'))
    expect(await save(by, { issuer: 'nowhere' })).toEqual({ outcome: 'failed', problem: 'address' })
  })

  it('is for administrators of the account only', async () => {
    const clerk = await makeUser(service.context.db, account.slug, { holds: [] })
    const stranger = await makeOwnAdministrator(service, await makeAccount(service.context.db))
    expect(await save(clerk, {})).toEqual({ outcome: 'forbidden' })
    expect(await save(stranger, {})).toEqual({ outcome: 'forbidden' })
  })

  it('needs an own administrator who can sign in without the provider', async () => {
    const invited = await makeUser(service.context.db, account.slug)
    expect(await save(invited, {})).toEqual({ outcome: 'unfit', problem: 'no_own_administrator' })
  })

  it('is recorded with what changed, and not if nothing did', async () => {
    const by = await makeOwnAdministrator(service, account)
    await save(by, {})
    await save(by, { clientSecret: '', domains: 'corp.example' })
    await save(by, { clientSecret: '', domains: 'corp.example' })
    const events = await service.database.query<{ detail: object }>(
      "select detail from audit_events where account_id = $1 and kind = 'account.provider_changed' order by at, id",
      [account.id],
    )
    expect(events.map(({ detail }) => detail)).toMatchObject([
      { changed: { issuer: { from: null, to: provider.issuer } }, secret: 'replaced' },
      { changed: { domains: { from: [], to: ['corp.example'] } } },
    ])
    expect(events).toHaveLength(2)
  })

  it('tells how many sessions ended', async () => {
    const { administrators } = await connect()
    await signInAtProvider(provider, service.web({}, account.slug))
    expect(await save(administrators[0], { clientSecret: '' })).toEqual({ outcome: 'saved' })
    const events = await service.database.query<{ detail: object }>(
      "select detail from audit_events where account_id = $1 and kind = 'account.provider_changed' order by at, id",
      [account.id],
    )
    expect(events.at(-1)?.detail).toMatchObject({ changed: { state: { from: 'optional', to: 'off' } }, sessions: 1 })
  })
})
