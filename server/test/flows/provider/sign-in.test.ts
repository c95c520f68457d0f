/** Sign-in at an account's identity provider: who comes in, as whom, and with which roles. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { invitePerson, sendPersonLink } from '../../../src/flows/accounts/people.ts'
import { linkAddress } from '../../../src/flows/sign-in/links.ts'
import { SESSION } from '../../../src/http/web/cookies.ts'
import { listRoles } from '../../../src/store/accounts/roles.ts'
import {
  ADA,
  connectProvider,
  makeRole,
  PROVIDER_ENVIRONMENT,
  signInAtProvider,
  startProvider,
  type TestProvider,
} from '../../rig/identity-provider.ts'
import { makeAccount } from '../../rig/make.ts'
import { makeManagementKey, manageClient } from '../../rig/manage.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { textOf } from '../../rig/web.ts'

let service: TestService
let provider: TestProvider
beforeAll(async () => {
  service = await startTestService({ ...PROVIDER_ENVIRONMENT, LOG_LEVEL: 'silent' }, { clock: true })
})
beforeEach(async () => {
  provider = await startProvider()
  return () => provider.stop()
})
afterAll(() => service.stop())

const newAccount = () => makeAccount(service.context.db)
const userOf = async (accountId: string, email = ADA.email) => {
  const [user] = await service.database.query<{ id: string; origin: string; issuer: string; subject: string }>(
    'select id, origin, issuer, subject from users where account_id = $1 and email = $2',
    [accountId, email],
  )
  return user
}
const rolesOf = async (userId: string) => {
  const rows = await service.database.query<{ name: string }>(
    'select r.name from user_roles ur join roles r on r.id = ur.role_id where ur.user_id = $1 order by 1',
    [userId],
  )
  return rows.map(({ name }) => name)
}
const kindsOf = async (accountId: string) => {
  const rows = await service.database.query<{ kind: string }>(
    'select kind from audit_events where account_id = $1 order by at, id',
    [accountId],
  )
  return rows.map(({ kind }) => kind)
}

describe('anybody of the domains', () => {
  it('comes in as a user with the default role, and as the same user again', async () => {
    const account = await newAccount()
    const role = await makeRole(service.context.db, account.slug, ['orders:read'])
    await connectProvider(service, provider, { defaultRole: role.id }, account)
    const web = service.web({}, account.slug)
    const answer = await signInAtProvider(provider, web, {}, '/sign-in/provider?next=%2Fapplications')
    expect([answer.status, answer.location, web.cookies.has(SESSION)]).toEqual([303, '/applications', true])
    const user = await userOf(account.id)
    expect(user).toMatchObject({ origin: 'provider', issuer: provider.issuer, subject: 'ada-17' })
    expect(await rolesOf(user?.id ?? '')).toEqual([role.name])
    const again = service.web({}, account.slug)
    expect((await signInAtProvider(provider, again, { email: 'ada.l@corp.example' })).status).toBe(303)
    expect((await userOf(account.id, 'ada.l@corp.example'))?.id).toBe(user?.id)
    expect(textOf((await again.get('/security')).text)).toContain(`You sign in at ${new URL(provider.issuer).host}`)
  })

  it('keeps the known address while the provider says another one that it has not verified', async () => {
    const account = await newAccount()
    await connectProvider(service, provider, {}, account)
    const web = () => service.web({}, account.slug)
    await signInAtProvider(provider, web())
    await service.database.query(
      `update identity_providers set admission = 'invited', domains = '{}' where account_id = $1`,
      [account.id],
    )
    const claims = { email: 'boss@corp.example', email_verified: false }
    expect((await signInAtProvider(provider, web(), claims)).status).toBe(303)
    expect([await userOf(account.id, claims.email), (await userOf(account.id))?.subject]).toEqual([undefined, ADA.sub])
    expect((await signInAtProvider(provider, web(), { ...claims, email_verified: true })).status).toBe(303)
    expect((await userOf(account.id, claims.email))?.subject).toBe(ADA.sub)
  })

  it('has a session that ends after twelve hours', async () => {
    const account = await newAccount()
    await connectProvider(service, provider, {}, account)
    const web = service.web({}, account.slug)
    await signInAtProvider(provider, web)
    const [session] = await service.database.query<{ hours: number }>(
      'select extract(epoch from expires_at - created_at)::int / 3600 as hours from sessions where account_id = $1',
      [account.id],
    )
    expect(session?.hours).toBe(12)
  })

  it('gets address and groups from the user info if the ID token has none', async () => {
    const account = await newAccount()
    const role = await makeRole(service.context.db, account.slug, ['orders:read'])
    const roleValues = new Map([[role.id, 'buyers']])
    await connectProvider(service, provider, { roleClaim: 'groups', roleValues }, account)
    provider.userInfo = { ...ADA, groups: ['buyers', 'others'] }
    const claims = { email: undefined, email_verified: undefined }
    expect((await signInAtProvider(provider, service.web({}, account.slug), claims)).status).toBe(303)
    expect(await rolesOf((await userOf(account.id))?.id ?? '')).toEqual([role.name])
  })
})

describe('roles by a claim', () => {
  it('are what the claim says, at every sign-in', async () => {
    const account = await newAccount()
    const [buyer, clerk] = [
      await makeRole(service.context.db, account.slug, ['orders:read']),
      await makeRole(service.context.db, account.slug, ['orders:write']),
    ]
    const everything = (await listRoles(service.context.db, account.id)).find((role) => role.holdsEveryScope)
    const roleValues = new Map([
      [buyer.id, 'buyers'],
      [everything?.id ?? '', 'admins'],
    ])
    await connectProvider(service, provider, { roleClaim: 'groups', roleValues, defaultRole: clerk.id }, account)
    const come = async (groups: unknown) => {
      await signInAtProvider(provider, service.web({}, account.slug), { groups })
      return rolesOf((await userOf(account.id))?.id ?? '')
    }
    expect(await come(['buyers', 'admins', 'unknown'])).toEqual([everything?.name, buyer.name].sort())
    expect(await come('buyers')).toEqual([buyer.name])
    expect(await come(['unknown'])).toEqual([clerk.name])
    expect(await come(undefined)).toEqual([clerk.name])
  })
})

describe('an administrator by a claim', () => {
  it('is mailed to all others, as a new user and whenever the claim makes one of a known user', async () => {
    const account = await newAccount()
    const everything = (await listRoles(service.context.db, account.id)).find((role) => role.holdsEveryScope)
    const roleValues = new Map([[everything?.id ?? '', 'admins']])
    const { administrators } = await connectProvider(service, provider, { roleClaim: 'groups', roleValues }, account)
    const [other] = administrators
    const come = (groups: readonly string[]) => signInAtProvider(provider, service.web({}, account.slug), { groups })
    const mails = () =>
      service.database.query(
        "select detail from mails where user_id = $1 and kind = 'administrator_made' order by id",
        [other?.id],
      )
    const before = (await mails()).length
    await come(['admins'])
    const { id = '' } = (await userOf(account.id)) ?? {}
    expect((await mails()).slice(before)).toEqual([{ detail: { user: id, by: 'identity_provider' } }])
    await come([])
    await come(['admins'])
    await come(['admins'])
    expect((await mails()).length).toBe(before + 2)
  })
})

describe('the last administrator', () => {
  it('stays one, whatever the claim says, and another one does not', async () => {
    const account = await newAccount()
    const everything = (await listRoles(service.context.db, account.id)).find((role) => role.holdsEveryScope)
    const roleValues = new Map([[everything?.id ?? '', 'admins']])
    const { administrators } = await connectProvider(service, provider, { roleClaim: 'groups', roleValues }, account)
    const come = async (groups: readonly string[]) => {
      await signInAtProvider(provider, service.web({}, account.slug), { groups })
      return rolesOf((await userOf(account.id))?.id ?? '')
    }
    expect(await come(['admins'])).toEqual([everything?.name])
    const others = administrators.map(({ id }) => id)
    await service.database.query('delete from user_roles where user_id = any($1)', [others])
    expect(await come([])).toEqual([everything?.name])
    await service.database.query('insert into user_roles (user_id, role_id, granted_at) values ($1, $2, now())', [
      others[0],
      everything?.id,
    ])
    expect(await come([])).toEqual([])
  })
})

describe('an invited user', () => {
  const invite = async (account: { id: string; slug: string }, by: string, email = ADA.email) => {
    const roles = await listRoles(service.context.db, account.id)
    const roleIds = roles.filter((role) => role.holdsEveryScope).map((role) => role.id)
    await invitePerson(service.context, by, { email, roleIds, language: 'en' })
    return newestLink(account)
  }
  const newestLink = async (account: { id: string; slug: string }) => {
    const [link] = await service.database.query<{ id: string }>(
      'select id from links where account_id = $1 and used_at is null order by created_at desc limit 1',
      [account.id],
    )
    return new URL(linkAddress(service.context, account.slug, link?.id ?? ''))
  }

  it('is linked by the link in the mail and the verified address, and the link is used up', async () => {
    const account = await newAccount()
    const wanted = { state: 'required', admission: 'invited', domains: '' } as const
    const { administrators } = await connectProvider(service, provider, wanted, account)
    const link = await invite(account, administrators[0].id)
    const web = service.web({}, account.slug)
    const page = await web.send('GET', `${link.pathname}${link.search}`)
    expect(textOf(page.text)).toContain(`Continue to ${new URL(provider.issuer).host}`)
    expect(page.text).not.toContain('type="password"')
    const from = `/sign-in/provider?link=${encodeURIComponent(link.searchParams.get('token') ?? '')}`
    expect((await signInAtProvider(provider, web, {}, from)).status).toBe(303)
    expect(await userOf(account.id)).toMatchObject({ origin: 'provider', subject: 'ada-17' })
    expect(await kindsOf(account.id)).toContain('user.linked')
    expect((await web.send('GET', `${link.pathname}${link.search}`)).status).toBe(404)
    expect((await signInAtProvider(provider, service.web({}, account.slug))).status).toBe(303)
  })

  it('is told to open the link if they come without it, and not linked', async () => {
    const account = await newAccount()
    const { administrators } = await connectProvider(service, provider, {}, account)
    await invite(account, administrators[0].id)
    const answer = await signInAtProvider(provider, service.web({}, account.slug))
    expect([answer.status, textOf(answer.text).includes('Open the link in the invitation')]).toEqual([403, true])
    expect(await userOf(account.id)).toMatchObject({ origin: 'own' })
  })

  it('keeps the external id that SCIM gave, when linked and when reset', async () => {
    const account = await newAccount()
    const { administrators } = await connectProvider(service, provider, {}, account)
    const link = await invite(account, administrators[0].id)
    const { key } = await makeManagementKey(service, { account: account.slug })
    const call = manageClient(service.address, key)
    const found = async () => {
      const { body } = await call('GET', `/scim/2/Users?filter=${encodeURIComponent('externalId eq "00u1"')}`)
      return body.Resources.map((user: { userName: string }) => user.userName)
    }
    const user = await userOf(account.id)
    await call('PATCH', `/accounts/${account.id}/users/${user?.id}`, { external_id: '00u1' })
    const from = `/sign-in/provider?link=${encodeURIComponent(link.searchParams.get('token') ?? '')}`
    expect((await signInAtProvider(provider, service.web({}, account.slug), {}, from)).status).toBe(303)
    expect([(await userOf(account.id))?.origin, await found()]).toEqual(['provider', [ADA.email]])
    await sendPersonLink(service.context, administrators[0].id, user?.id ?? '', 'en')
    expect([(await userOf(account.id))?.origin, await found()]).toEqual(['own', [ADA.email]])
  })

  it('can be invited again after their sign-in was reset, for example when the issuer changed', async () => {
    const account = await newAccount()
    const { administrators } = await connectProvider(service, provider, {}, account)
    await signInAtProvider(provider, service.web({}, account.slug))
    const user = await userOf(account.id)
    const sent = await sendPersonLink(service.context, administrators[0].id, user?.id ?? '', 'en')
    expect(sent.outcome).toBe('sent')
    expect(await userOf(account.id)).toMatchObject({ origin: 'own', issuer: null, subject: null })
    const token = (await newestLink(account)).searchParams.get('token') ?? ''
    const web = service.web({}, account.slug)
    const from = `/sign-in/provider?link=${encodeURIComponent(token)}`
    expect((await signInAtProvider(provider, web, { sub: 'other' }, from)).status).toBe(303)
    expect(await userOf(account.id)).toMatchObject({ id: user?.id, subject: 'other' })
  })
})

describe('the state of the provider', () => {
  it('off: nobody comes in, and no page offers it', async () => {
    const account = await newAccount()
    await connectProvider(service, provider, { state: 'off' }, account)
    const web = service.web({}, account.slug)
    expect((await web.send('GET', '/sign-in/provider')).status).toBe(404)
    expect((await web.get('/sign-in')).text).not.toContain('/sign-in/provider')
  })

  it('optional: both ways are offered', async () => {
    const account = await newAccount()
    await connectProvider(service, provider, {}, account)
    const { text } = await service.web({}, account.slug).get('/sign-in')
    expect([text.includes('href="/sign-in/provider?next=%2F"'), text.includes('type="password"')]).toEqual([true, true])
  })

  it('required: only the provider is offered, and own users but two cannot sign in', async () => {
    const account = await newAccount()
    const { administrators } = await connectProvider(service, provider, { state: 'required' }, account)
    const web = service.web({}, account.slug)
    const { text } = await web.get('/sign-in')
    expect([text.includes('/sign-in/provider?next='), text.includes('type="password"')]).toEqual([true, false])
    expect((await web.get('/sign-in?own=1')).text).toContain('type="password"')
    expect(administrators).toHaveLength(2)
  })
})

describe('a recent sign-in', () => {
  it('after many grants is a new one', async () => {
    const account = await newAccount()
    await connectProvider(service, provider, {}, account)
    const web = service.web({}, account.slug)
    await signInAtProvider(provider, web, {})
    const { text } = await web.get('/confirm?next=%2Fsecurity&anew=1')
    const [, address = ''] = /href="(\/sign-in\/provider[^"]*)"/.exec(text) ?? []
    const { location } = await web.send('GET', address.replaceAll('&amp;', '&'))
    expect(new URL(location ?? '').searchParams.get('prompt')).toBe('login')
  })

  it('is asked for with max_age, and sensitive pages open after it', async () => {
    const account = await newAccount()
    const roles = await listRoles(service.context.db, account.id)
    const everything = roles.find((role) => role.holdsEveryScope)
    const roleValues = new Map([[everything?.id ?? '', 'admins']])
    await connectProvider(service, provider, { roleClaim: 'groups', roleValues }, account)
    const web = service.web({}, account.slug)
    await signInAtProvider(provider, web, { groups: ['admins'], amr: ['mfa'], auth_time: undefined })
    const asked = await web.get('/account/policy')
    expect(textOf(asked.text)).toContain('This step needs a recent sign-in')
    const from = '/sign-in/provider?next=%2Faccount%2Fpolicy&recent=1'
    const { location } = await web.send('GET', from)
    expect(Number(new URL(location ?? '').searchParams.get('max_age'))).toBeGreaterThan(0)
    expect(
      (await web.send('GET', provider.authorize(location, { ...ADA, groups: ['admins'], amr: ['mfa'] }))).status,
    ).toBe(303)
    expect((await web.send('GET', '/account/policy')).status).toBe(200)
  })
})
