/** FD-24, FD-25, FD-41 … FD-45: what somebody may try to become another user, or to stay one. */
import { describe, expect, it } from 'vitest'
import { disablePerson, invitePerson } from '../../../src/flows/accounts/people.ts'
import { saveProviderSettings } from '../../../src/flows/provider/settings.ts'
import { linkAddress, requestRecovery } from '../../../src/flows/sign-in/links.ts'
import { SESSION } from '../../../src/http/web/cookies.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { decryptText } from '../../../src/secrets/provider/encrypted-text.ts'
import { listRoles } from '../../../src/store/accounts/roles.ts'
import { insertLink } from '../../../src/store/sign-in/links.ts'
import { ADA, asHost, signInAtProvider, startProvider } from '../../rig/identity-provider.ts'
import { makeAccount, makeUser } from '../../rig/make.ts'
import { makeManagementKey, manageClient } from '../../rig/manage.ts'
import { useProviderScene } from '../../rig/provider-scene.ts'
import { signInAs } from '../../rig/signed-in.ts'
import { textOf } from '../../rig/web.ts'
import { mailsOf } from '../../rig/witness.ts'

const { t } = wordsFor('en')
const PASSWORD = 'a long enough pass phrase'

const scene = useProviderScene()

const { connect, browser } = scene
const statusOf = async (claims = {}, from = '/sign-in/provider') => {
  const web = browser()
  const { status } = await signInAtProvider(scene.provider, web, claims, from)
  return [status, web.cookies.has(SESSION)]
}
const REFUSED = [403, false]
const SIGNED_IN = [303, true]
const countUsers = async () => {
  const [row] = await scene.service.database.query<{ count: string }>(
    'select count(*) from users where account_id = $1',
    [scene.account.id],
  )
  return Number(row?.count)
}

describe('FD-70: an account whose policy requires a second factor', () => {
  it('FD-70: refuses users whom its provider let in without one, and its own users are asked as before', async () => {
    await connect()
    const enter = async (claims: Record<string, unknown>) => {
      const web = browser()
      await signInAtProvider(scene.provider, web, claims)
      return web
    }
    const before = await enter({ amr: ['pwd'] })
    expect((await before.send('GET', '/applications')).status).toBe(200)
    await scene.service.database.query('update accounts set second_factor_required_at = now() where id = $1', [
      scene.account.id,
    ])
    expect((await before.send('GET', '/applications')).status).toBe(403)
    expect((await (await enter({ amr: ['pwd', 'mfa'] })).send('GET', '/applications')).status).toBe(200)
    expect((await (await enter({ acr: 'phr' })).send('GET', '/applications')).status).toBe(200)
    await scene.service.database.query('update accounts set second_factor_required_at = null where id = $1', [
      scene.account.id,
    ])
  })
})

describe('an e-mail address', () => {
  it('FD-24: that is not verified, or is of another domain, lets nobody in', async () => {
    await connect()
    const before = await countUsers()
    for (const claims of [
      { email_verified: false },
      { email_verified: undefined },
      { email_verified: 'true' },
      { email_verified: 1 },
      { email: undefined },
      { email: 'ada@corp.example.evil.example' },
      { email: 'ada@evilcorp.example' },
      { email: 'ada@sub.corp.example' },
      { email: 'ada@corp.example@evil.example' },
      { email: ['ada@corp.example'] },
    ]) {
      expect([claims, ...(await statusOf(claims as object))]).toEqual([claims, ...REFUSED])
    }
    expect(await countUsers()).toBe(before)
    expect(await statusOf({ email: 'Ada@CORP.example' })).toEqual(SIGNED_IN)
    // The domains apply to every sign-in, also of users who came in before.
    expect(await statusOf({ email_verified: false })).toEqual(REFUSED)
    expect(await statusOf({ email: 'ada@elsewhere.example' })).toEqual(REFUSED)
    expect(await statusOf()).toEqual(SIGNED_IN)
  })

  it('FD-24: verified in the user info does not vouch for another one in the ID token', async () => {
    await connect({ roleClaim: 'groups' })
    scene.provider.userInfo = { ...ADA, sub: ADA.sub, email: 'mallory@corp.example', email_verified: true, groups: [] }
    expect(await statusOf({ email: 'boss@corp.example', email_verified: false })).toEqual(REFUSED)
    expect(await statusOf({ email: 'boss@corp.example', email_verified: undefined })).toEqual(REFUSED)
  })

  it('FD-24: of a user info about somebody else is not taken', async () => {
    await connect()
    scene.provider.userInfo = { ...ADA, sub: 'somebody-else' }
    expect(await statusOf({ email: undefined, email_verified: undefined })).toEqual(REFUSED)
    scene.provider.userInfo = ADA
    expect(await statusOf({ email: undefined, email_verified: undefined })).toEqual(SIGNED_IN)
  })

  it('FD-25: that an own user has does not open that user, and changes nothing about them', async () => {
    await connect()
    const victim = await makeUser(scene.service.context.db, scene.account.slug, { email: ADA.email })
    await scene.service.database.query("update users set password_digest = 'none' where id = $1", [victim.id])
    expect(await statusOf()).toEqual(REFUSED)
    // Refused because of the address, before a session is tried, which the user's own origin would not allow.
    const { text } = await signInAtProvider(scene.provider, browser())
    const about = { name: `Account ${scene.account.slug}`, host: new URL(scene.provider.issuer).host }
    expect(textOf(text)).toContain(t('provider_refused.conflict', about))
    const [row] = await scene.service.database.query('select origin, subject from users where id = $1', [victim.id])
    expect(row).toEqual({ origin: 'own', subject: null })
  })

  it('FD-25: that another user of the provider has does not open that one, nor is it taken over', async () => {
    await connect()
    expect(await statusOf()).toEqual(SIGNED_IN)
    expect(await statusOf({ sub: 'mallory' })).toEqual(REFUSED)
    expect(await statusOf({ sub: 'mallory', email: 'mallory@corp.example' })).toEqual(SIGNED_IN)
    expect(await statusOf({ sub: 'mallory' })).toEqual(REFUSED)
  })
})

describe('an invitation', () => {
  const invite = async (email: string) => {
    const { administrators } = await connect({ admission: 'invited', domains: '' })
    const roles = await listRoles(scene.service.context.db, scene.account.id)
    const roleIds = roles.map((role) => role.id)
    await invitePerson(scene.service.context, administrators[0].id, { email, roleIds, language: 'en' })
    const [link] = await scene.service.database.query<{ id: string }>(
      'select id from links where account_id = $1 and used_at is null',
      [scene.account.id],
    )
    const address = new URL(linkAddress(scene.service.context, scene.account.slug, link?.id ?? ''))
    return `/sign-in/provider?link=${encodeURIComponent(address.searchParams.get('token') ?? '')}`
  }

  it('FD-42: links nobody whose address is another or not verified, and stays usable for the right person', async () => {
    const from = await invite(ADA.email)
    expect(await statusOf({ sub: 'mallory', email: 'mallory@corp.example' }, from)).toEqual(REFUSED)
    expect(await statusOf({ sub: 'mallory', email_verified: false }, from)).toEqual(REFUSED)
    expect(await statusOf({ sub: 'mallory' })).toEqual(REFUSED)
    expect(await statusOf({}, from)).toEqual(SIGNED_IN)
    expect(await statusOf({ sub: 'mallory' }, from)).toEqual(REFUSED)
  })

  it('FD-42: a made-up link links nobody', async () => {
    await invite(ADA.email)
    expect(await statusOf({}, '/sign-in/provider?link=lkl_made-up')).toEqual(REFUSED)
  })

  it('FD-42: a recovery link of a user with a password of their own links nobody', async () => {
    await connect({ admission: 'invited', domains: '' })
    const victim = await makeUser(scene.service.context.db, scene.account.slug, { email: ADA.email })
    await scene.service.database.query("update users set password_digest = 'none' where id = $1", [victim.id])
    const id = crypto.randomUUID()
    const link = { id, kind: 'recovery', accountId: scene.account.id, userId: victim.id, grantId: null } as const
    await scene.service.context.db.transaction((tx) => insertLink(tx, { ...link, lifetimeMs: 60_000 }))
    const token = new URL(linkAddress(scene.service.context, scene.account.slug, id)).searchParams.get('token') ?? ''
    expect(await statusOf({}, `/sign-in/provider?link=${encodeURIComponent(token)}`)).toEqual(REFUSED)
    const page = await browser().send('GET', `/link?token=${encodeURIComponent(token)}`)
    expect(page.text).not.toContain('/sign-in/provider')
  })
})

describe('a provider that is required', () => {
  it('FD-41: an own user with the right password does not get in, an administrator for emergencies does', async () => {
    const clerk = await makeUser(scene.service.context.db, scene.account.slug, { holds: [], password: PASSWORD })
    const emergency = await makeUser(scene.service.context.db, scene.account.slug, { password: PASSWORD })
    const before = await signInAs(scene.service, clerk, { account: scene.account })
    expect((await before.send('GET', '/applications')).status).toBe(200)
    const { administrators } = await connect()
    const settings = { state: 'required', breakGlass: [administrators[0].id, emergency.id] } as const
    const [first] = administrators
    const given = (await connect()).given
    const wanted = { ...given, ...settings, clientSecret: '' }
    const saved = await saveProviderSettings(scene.service.context, asHost(scene.account), first.id, wanted, Date.now())
    expect(saved).toEqual({ outcome: 'saved' })
    // The session from before is over, too.
    expect((await before.send('GET', '/applications')).location).toContain('/sign-in')
    const enter = async (email: string) => {
      const web = browser()
      await web.get('/sign-in?own=1')
      await web.submit('/sign-in', { email, password: PASSWORD })
      return web.cookies.has(SESSION)
    }
    expect([await enter(clerk.email), await enter(emergency.email)]).toEqual([false, true])
    await requestRecovery(scene.service.context, asHost(scene.account, 'required'), clerk.email, 'en')
    expect(await mailsOf(scene.service, clerk)).toEqual([])
  })

  it('FD-41: a user of the provider has no password, passkey, second factor or recovery here', async () => {
    await connect()
    const web = browser()
    await signInAtProvider(scene.provider, web)
    for (const path of ['/security/authenticator', '/second-factor']) {
      expect((await web.send('GET', path)).status).toBe(404)
    }
    for (const path of ['/security/password', '/security/passkeys', '/security/authenticator', '/confirm']) {
      expect((await web.send('POST', path, {})).status).toBe(404)
    }
    const [user] = await scene.service.database.query<{ id: string }>('select id from users where subject = $1', [
      ADA.sub,
    ])
    await requestRecovery(scene.service.context, asHost(scene.account, 'optional'), ADA.email, 'en')
    expect(await mailsOf(scene.service, { id: user?.id ?? '', email: ADA.email })).toEqual([])
    const password = scene.service.database.query("update users set password_digest = 'none' where subject = $1", [
      ADA.sub,
    ])
    await expect(password).rejects.toThrow('users_elsewhere_has_no_password')
  })

  it('FD-41: it needs two administrators of the account who can sign in here', async () => {
    const { administrators, given } = await connect()
    const [first, second] = administrators
    const clerk = await makeUser(scene.service.context.db, scene.account.slug, { holds: [] })
    const stranger = await makeUser(scene.service.context.db, (await makeAccount(scene.service.context.db)).slug)
    const tryWith = (breakGlass: readonly string[]) =>
      saveProviderSettings(
        scene.service.context,
        asHost(scene.account),
        first.id,
        { ...given, state: 'required', breakGlass },
        0,
      )
    for (const wrong of [[], [first.id], [first.id, first.id], [first.id, clerk.id], [first.id, stranger.id]]) {
      expect(await tryWith(wrong)).toEqual({ outcome: 'unfit', problem: 'break_glass' })
    }
    expect(await tryWith([first.id, second.id])).toEqual({ outcome: 'saved' })
  })
})

it('FD-43: a user who is disabled here does not come back by the provider, which changes nothing about them', async () => {
  const { administrators } = await connect()
  expect(await statusOf()).toEqual(SIGNED_IN)
  const [user] = await scene.service.database.query<{ id: string }>(
    'select id from users where account_id = $1 and subject = $2',
    [scene.account.id, ADA.sub],
  )
  await disablePerson(scene.service.context, administrators[0].id, user?.id ?? '')
  const stored = () => scene.service.database.query('select * from users where id = $1', [user?.id])
  const before = await stored()
  expect(await statusOf()).toEqual(REFUSED)
  expect(await statusOf({ sub: 'another-subject' })).toEqual(REFUSED)
  expect(await statusOf({ name: 'Somebody', email: 'somebody@corp.example' })).toEqual(REFUSED)
  expect(await stored()).toEqual(before)
})

it('FD-66: a key that gives a user the subject of another as external id does not let that one in as this user', async () => {
  await connect()
  expect(await statusOf()).toEqual(SIGNED_IN)
  const { key } = await makeManagementKey(scene.service, { account: scene.account.slug })
  const call = manageClient(scene.service.address, key)
  const idOf = async (subject: string) => {
    const [user] = await scene.service.database.query<{ id: string }>(
      'select id from users where account_id = $1 and subject = $2',
      [scene.account.id, subject],
    )
    return user?.id
  }
  const ada = await idOf(ADA.sub)
  const changed = await call('PATCH', `/accounts/${scene.account.id}/users/${ada}`, { external_id: 'eve-18' })
  expect([changed.status, changed.body.external_id]).toEqual([200, 'eve-18'])
  expect(await statusOf({ sub: 'eve-18', email: 'eve@corp.example' })).toEqual(SIGNED_IN)
  expect([undefined, ada]).not.toContain(await idOf('eve-18'))
  expect(await statusOf()).toEqual(SIGNED_IN)
  expect(await idOf(ADA.sub)).toBe(ada)
})

describe('the client secret', () => {
  it('FD-44: is not sent to another issuer than it was entered for', async () => {
    const { administrators, given } = await connect()
    const attacker = await startProvider()
    const wanted = { ...given, issuer: attacker.issuer, clientSecret: '' }
    const [first] = administrators
    expect(
      await saveProviderSettings(scene.service.context, asHost(scene.account), first.id, wanted, Date.now()),
    ).toEqual({
      outcome: 'unfit',
      problem: 'client_secret',
    })
    expect(attacker.asked).toEqual([])
    await attacker.stop()
  })

  it('FD-44: is on no page and in no event, and is encrypted for its account', async () => {
    const { administrators } = await connect()
    const web = await signInAs(scene.service, administrators[0], { account: scene.account })
    expect((await web.get('/account/provider')).text).not.toContain(scene.provider.clientSecret)
    const events = await scene.service.database.query('select detail from audit_events where account_id = $1', [
      scene.account.id,
    ])
    expect(JSON.stringify(events)).not.toContain(scene.provider.clientSecret)
    const [row] = await scene.service.database.query<{ encrypted: Buffer }>(
      'select client_secret as encrypted from identity_providers where account_id = $1',
      [scene.account.id],
    )
    const { keys } = scene.service.config
    const encrypted = row?.encrypted ?? Buffer.alloc(0)
    expect(encrypted.includes(scene.provider.clientSecret)).toBe(false)
    expect(decryptText(keys, 'provider-secret', scene.account.id, encrypted)).toBe(scene.provider.clientSecret)
    expect(decryptText(keys, 'provider-secret', 'acc_another00000', encrypted)).toBeNull()
    expect(decryptText(keys, 'provider-sign-in', scene.account.id, encrypted)).toBeNull()
    encrypted[encrypted.length - 1] = (encrypted.at(-1) ?? 0) ^ 1
    expect(decryptText(keys, 'provider-secret', scene.account.id, encrypted)).toBeNull()
  })
})

describe('a session', () => {
  it('FD-45: ends when the issuer changes or the provider is switched off; the subject is another user then', async () => {
    const { administrators, given } = await connect()
    const other = await startProvider()
    const web = browser()
    await signInAtProvider(scene.provider, web)
    expect((await web.send('GET', '/applications')).status).toBe(200)
    const change = (wanted: object) =>
      saveProviderSettings(
        scene.service.context,
        asHost(scene.account),
        administrators[0].id,
        { ...given, ...wanted },
        Date.now(),
      )
    expect(await change({ issuer: other.issuer })).toEqual({ outcome: 'saved' })
    expect((await web.send('GET', '/applications')).location).toContain('/sign-in')
    // The same subject and address at the new issuer: not the user of the former one.
    const there = browser()
    expect((await signInAtProvider(other, there)).status).toBe(403)
    expect((await signInAtProvider(other, there, { email: 'ada2@corp.example' })).status).toBe(303)
    expect(await change({ issuer: other.issuer, state: 'off' })).toEqual({ outcome: 'saved' })
    expect((await there.send('GET', '/applications')).location).toContain('/sign-in')
    await other.stop()
  })
})
