/** An account's policy about applications: who may change it, and what is recorded. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { AccountPolicy } from '../../../src/core/accounts/policy.ts'
import { saveBranding } from '../../../src/flows/accounts/branding.ts'
import { readPolicy, savePolicy } from '../../../src/flows/accounts/policy.ts'
import { setApplicationPublisher } from '../../../src/flows/applications/manage.ts'
import { findAccount, readAccountLogo } from '../../../src/store/accounts/accounts.ts'
import { findAccountSession } from '../../../src/store/sign-in/sessions.ts'
import { type MadeUser, makeAccount, makeApplication, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

const OPEN: AccountPolicy = {
  deviceFlow: true,
  secondFactor: 'optional',
  unverifiedPublishers: true,
  onlyApplications: null,
}

let service: TestService
let account: { id: string; slug: string }
let administrator: MadeUser
beforeAll(async () => {
  service = await startTestService({}, { listen: false })
})
afterAll(() => service.stop())
beforeEach(async () => {
  account = await makeAccount(service.context.db)
  administrator = await makeUser(service.context.db, account.slug)
})

const policyOf = async (id: string) => (await readPolicy(service.context, id))?.policy
const events = (kind: string) =>
  service.database.query<{ by: string; detail: object }>(
    'select actor_id as by, detail from audit_events where account_id = $1 and kind = $2 order by id',
    [account.id, kind],
  )

describe('the policy', () => {
  it('of a new account allows everything', async () => {
    expect(await policyOf(account.id)).toEqual(OPEN)
    expect((await findAccount(service.context.db, account.slug))?.policy).toEqual(OPEN)
    expect(await readPolicy(service.context, 'acc_000000000000')).toBeNull()
  })

  it('is saved as a whole, for this account only, and the change is recorded', async () => {
    const other = await makeAccount(service.context.db)
    const listed = await makeApplication(service.context.db, service.config, account.slug, { name: 'Listed' })
    const wanted = {
      deviceFlow: false,
      secondFactor: 'optional' as const,
      unverifiedPublishers: true,
      onlyApplications: [listed.id],
    }
    expect(await savePolicy(service.context, administrator.id, wanted)).toEqual({ outcome: 'saved' })
    expect(await policyOf(account.id)).toEqual(wanted)
    expect(await policyOf(other.id)).toEqual(OPEN)
    expect(await events('account.policy_changed')).toEqual([
      {
        by: administrator.id,
        detail: {
          changed: {
            deviceFlow: { from: true, to: false },
            onlyApplications: { from: null, to: [listed.id] },
          },
        },
      },
    ])
  })

  it('saved unchanged records no event', async () => {
    await savePolicy(service.context, administrator.id, { ...OPEN, unverifiedPublishers: false })
    await savePolicy(service.context, administrator.id, { ...OPEN, unverifiedPublishers: false })
    expect(await events('account.policy_changed')).toHaveLength(1)
  })

  it('lists existing applications once; an empty list allows none', async () => {
    const [a, b] = [
      await makeApplication(service.context.db, service.config, account.slug),
      await makeApplication(service.context.db, service.config, account.slug),
    ]
    const onlyApplications = [b.id, a.id, a.id, 'app_000000000000', 'nonsense']
    await savePolicy(service.context, administrator.id, { ...OPEN, onlyApplications })
    expect([...((await policyOf(account.id))?.onlyApplications ?? [])].sort()).toEqual([a.id, b.id].sort())
    await savePolicy(service.context, administrator.id, { ...OPEN, onlyApplications: [] })
    expect((await policyOf(account.id))?.onlyApplications).toEqual([])
  })

  it('is shown with the applications known to the account, and their publishers', async () => {
    const { db } = service.context
    const known = await makeApplication(db, service.config, account.slug, { name: 'Known' })
    const gone = await makeApplication(db, service.config, account.slug, { name: 'Gone' })
    const elsewhere = await makeAccount(db)
    const listed = await makeApplication(db, service.config, elsewhere.slug, { name: 'Listed' })
    await makeApplication(db, service.config, elsewhere.slug, { name: 'Nobody here knows it' })
    await setApplicationPublisher(db, known.id, { status: 'own', name: null })
    await service.database.query('update applications set deleted_at = now() where id = $1', [gone.id])
    await savePolicy(service.context, administrator.id, { ...OPEN, onlyApplications: [listed.id] })
    expect((await readPolicy(service.context, account.id))?.applications).toEqual([
      { id: listed.id, name: 'Listed', publisher: { status: 'unverified', name: null } },
      { id: known.id, name: 'Known', publisher: { status: 'own', name: null } },
    ])
  })

  it('is shown with a hundred applications besides those it names, however many the account has', async () => {
    await service.database.query(
      `insert into applications (id, account_id, name, allowed_scopes, default_scopes, required_scopes, device_flow, created_at, change_number)
       select 'app_' || left(md5(n::text), 12), $1, 'Own ' || lpad(n::text, 3, '0'), '{orders:read}', '{orders:read}', '{}', true, now(),
         nextval('application_changes') from generate_series(1, 150) n`,
      [account.id],
    )
    const last = await service.database.query<{ id: string }>("select id from applications where name = 'Own 150'")
    const onlyApplications = last.map(({ id }) => id)
    await savePolicy(service.context, administrator.id, { ...OPEN, onlyApplications })
    const shown = (await readPolicy(service.context, account.id))?.applications.map(({ name }) => name)
    expect(shown).toHaveLength(101)
    expect([shown?.[0], shown?.includes('Own 149')]).toEqual(['Own 150', false])
  })

  it('takes one more application by its id, and saves nothing when there is no such application', async () => {
    const { db } = service.context
    const other = await makeApplication(db, service.config, (await makeAccount(db)).slug)
    const only: AccountPolicy = { ...OPEN, onlyApplications: [] }
    expect(await savePolicy(service.context, administrator.id, only, 'app_000000000000')).toEqual({
      outcome: 'unknown',
    })
    expect(await policyOf(account.id)).toEqual(OPEN)
    await savePolicy(service.context, administrator.id, only, other.id)
    expect(await policyOf(account.id)).toEqual({ ...OPEN, onlyApplications: [other.id] })
  })
})

/** The first bytes of a PNG are enough: this flow does not parse pictures. */
const LOGO = Buffer.from('89504e470d0a1a0a', 'hex')

describe('the branding', () => {
  it('is saved and read again, and the change is recorded', async () => {
    const looks = { name: ' Acme & Sons ', colour: '#0A5CC2', logo: LOGO }
    expect(await saveBranding(service.context, administrator.id, looks)).toEqual({ outcome: 'saved' })
    expect(await findAccount(service.context.db, account.slug)).toMatchObject({
      name: 'Acme & Sons',
      colour: '#0a5cc2',
    })
    expect(await readAccountLogo(service.context.db, account.id)).toEqual(LOGO)
    expect(await events('account.branding_changed')).toEqual([
      { by: administrator.id, detail: { changed: ['name', 'colour', 'logo'] } },
    ])
  })

  it('keeps the logo unless it is replaced or removed', async () => {
    const looks = { name: 'Acme', colour: null, logo: LOGO }
    await saveBranding(service.context, administrator.id, looks)
    await saveBranding(service.context, administrator.id, { ...looks, logo: undefined })
    expect(await readAccountLogo(service.context.db, account.id)).toEqual(LOGO)
    await saveBranding(service.context, administrator.id, { ...looks, logo: null })
    expect(await readAccountLogo(service.context.db, account.id)).toBeNull()
  })

  it('has a version of the logo, a new one with each picture that is uploaded', async () => {
    const version = async () => (await findAccountSession(service.context.db, account.slug, null))?.account.logoVersion
    const save = (logo: Buffer | null | undefined, name = 'Acme') =>
      saveBranding(service.context, administrator.id, { name, colour: null, logo })
    expect(await version()).toBeNull()
    await save(LOGO)
    const first = await version()
    expect(first).toMatch(/^[0-9a-f]{12}$/)
    await save(undefined, 'Acme & Sons')
    expect(await version()).toBe(first)
    // The version says nothing about the bytes: with a digest of them, two pictures could be drawn that share one.
    await save(LOGO)
    const second = await version()
    expect(second).toMatch(/^[0-9a-f]{12}$/)
    expect(second).not.toBe(first)
    await save(Buffer.concat([LOGO, LOGO]))
    expect([first, second]).not.toContain(await version())
    await save(null)
    expect(await version()).toBeNull()
  })

  it.each([
    ['name', { name: ' ' }],
    ['name', { name: 'Acme\nBcc: all' }],
    ['colour', { colour: 'red' }],
    ['colour', { colour: '#0a5cc2;}' }],
    ['logo', { logo: Buffer.alloc(262_145) }],
  ] as const)('a %s that cannot be one (%j) changes nothing', async (problem, given) => {
    const looks = { name: 'Acme', colour: null, logo: undefined, ...given }
    expect(await saveBranding(service.context, administrator.id, looks)).toEqual({ outcome: problem })
    expect(await findAccount(service.context.db, account.slug)).toMatchObject({
      name: `Account ${account.slug}`,
      colour: null,
    })
    expect(await readAccountLogo(service.context.db, account.id)).toBeNull()
    expect(await events('account.branding_changed')).toEqual([])
  })
})

describe('who may change policy and branding', () => {
  it.each([
    ['who holds scopes only', async () => makeUser(service.context.db, account.slug, { holds: [] })],
    [
      'who was disabled',
      async () => {
        await service.database.query('update users set disabled_at = now() where id = $1', [administrator.id])
        return administrator
      },
    ],
    ['who does not exist', async () => ({ id: 'usr_000000000000', email: '' })],
  ])('nobody %s', async (_, make) => {
    const by = (await make()).id
    expect(await savePolicy(service.context, by, { ...OPEN, deviceFlow: false })).toEqual({ outcome: 'forbidden' })
    const looks = { name: 'Ours now', colour: null, logo: LOGO }
    expect(await saveBranding(service.context, by, looks)).toEqual({ outcome: 'forbidden' })
    expect(await findAccount(service.context.db, account.slug)).toMatchObject({
      name: `Account ${account.slug}`,
      policy: OPEN,
    })
    expect(await readAccountLogo(service.context.db, account.id)).toBeNull()
  })
})
