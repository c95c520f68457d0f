/** Proposals: a new name or logo of a verified application waits for an operator, and users see the old one meanwhile. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { BY_COMMAND_LINE } from '../../../src/core/audit/actor.ts'
import { changeLogo, readApplicationLogo } from '../../../src/flows/applications/logo.ts'
import { setApplicationPublisher } from '../../../src/flows/applications/manage.ts'
import { changeSettings, registerApplication } from '../../../src/flows/applications/own.ts'
import { acceptProposal, declineProposal, withdrawProposal } from '../../../src/flows/applications/proposals.ts'
import { findApplication } from '../../../src/store/applications/applications.ts'
import { listEveryProposal, readProposal, readProposedLogo } from '../../../src/store/applications/proposals.ts'
import { makeSettings } from '../../rig/application-settings.ts'
import { drawLogo } from '../../rig/corpora/logo.ts'
import { type MadeUser, makeAccount, makeScopes, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

let service: TestService
let by: MadeUser
let accountId: string
let logo: Buffer
const other = Buffer.from('another picture, as far as the table is concerned')
beforeAll(async () => {
  service = await startTestService({}, { listen: false })
  await makeScopes(service.context.db, ['orders:read'])
  logo = await drawLogo()
})
afterAll(() => service.stop())
beforeEach(async () => {
  const account = await makeAccount(service.context.db)
  accountId = account.id
  by = await makeUser(service.context.db, account.slug)
  await service.database.query('delete from application_proposals')
  // Verified names are reserved, and the tests use the same ones.
  await service.database.query('update applications set deleted_at = now()')
})

let count = 0
async function make(given: { vouched?: boolean } = {}): Promise<{ id: string; name: string }> {
  count += 1
  const name = `Display ${count}`
  const made = await registerApplication(service.context, by.id, { ...makeSettings({ name }), public: false })
  if (made.outcome !== 'registered') throw new Error(made.outcome)
  if (given.vouched !== false) await vouch(made.id)
  return { id: made.id, name }
}

const vouch = (id: string, status: 'verified' | 'own' | 'unverified' = 'verified') =>
  setApplicationPublisher(service.context.db, id, { status, name: status === 'verified' ? 'acme.example' : null })
const rename = (id: string, name: string) => changeSettings(service.context, by.id, id, makeSettings({ name }))
const upload = (id: string, picture: Buffer | null) => changeLogo(service.context, by.id, id, picture)
const seen = async (id: string) => {
  const application = await findApplication(service.context.db, id)
  const picture = await readApplicationLogo(service.context, null, id, application?.logoVersion ?? '')
  return { name: application?.name, logo: picture?.bytes ?? null }
}
const waiting = async (id: string) =>
  (await listEveryProposal(service.context.db)).find((each) => each.applicationId === id)
const versionOf = async (id: string) => (await waiting(id))?.version ?? 0
const accept = (id: string, version: number) => acceptProposal(service.context, BY_COMMAND_LINE, id, version)
const decline = (id: string, version: number, words = 'It is somebody else’s brand.') =>
  declineProposal(service.context, BY_COMMAND_LINE, id, version, words)
const eventsOf = async (id: string) => {
  const rows = await service.database.query<{ kind: string }>(
    `select kind from audit_events where application_id = $1 and kind like 'application.profile%' order by id`,
    [id],
  )
  return rows.map(({ kind }) => kind.replace('application.profile_', ''))
}

describe('an unverified application', () => {
  it('changes its name and logo at once, and users are not shown the logo', async () => {
    const { id } = await make({ vouched: false })
    expect(await rename(id, 'Renamed Display')).toEqual({ outcome: 'saved' })
    expect(await upload(id, logo)).toEqual({ outcome: 'saved' })
    expect(await waiting(id)).toBeUndefined()
    expect(await seen(id)).toEqual({ name: 'Renamed Display', logo: null })
    const { logoVersion } = (await findApplication(service.context.db, id)) ?? {}
    expect(logoVersion).toMatch(/^[0-9a-f]{12}$/)
    const own = await readApplicationLogo(service.context, accountId, id, logoVersion ?? '')
    expect(own).toEqual({ bytes: logo, lasting: true })
  })

  it('has its logo reviewed when its publisher is first verified', async () => {
    const { id, name } = await make({ vouched: false })
    await upload(id, logo)
    await vouch(id)
    expect(await seen(id)).toEqual({ name, logo: null })
    expect(await waiting(id)).toMatchObject({ name, nameNow: name, logoVersionNow: null })
    expect(await accept(id, await versionOf(id))).toEqual({ outcome: 'accepted' })
    expect(await seen(id)).toEqual({ name, logo })
    // Not again for a second verification: the logo was reviewed and could not change meanwhile.
    await vouch(id, 'unverified')
    expect(await seen(id)).toEqual({ name, logo: null })
    await vouch(id)
    expect(await seen(id)).toEqual({ name, logo })
  })
})

describe('a verified application', () => {
  it.each(['verified', 'own'] as const)(
    'goes on looking as people know it until a change is accepted: %s',
    async (status) => {
      const { id, name } = await make()
      await vouch(id, status)
      await rename(id, 'Another Display')
      await upload(id, logo)
      expect(await seen(id)).toEqual({ name, logo: null })
      const proposal = await waiting(id)
      expect(proposal).toMatchObject({
        applicationId: id,
        name: 'Another Display',
        nameNow: name,
        logoVersionNow: null,
        publisher: { status },
        proposedBy: by.email,
      })
      expect(await readProposedLogo(service.context.db, id, proposal?.version ?? 0)).toEqual(logo)
      expect(await accept(id, proposal?.version ?? 0)).toEqual({ outcome: 'accepted' })
      expect(await seen(id)).toEqual({ name: 'Another Display', logo })
      expect(await waiting(id)).toBeUndefined()
      expect(await eventsOf(id)).toEqual(['proposed', 'proposed', 'accepted'])
    },
  )

  it('changes everything else at once', async () => {
    const { id, name } = await make()
    const settings = makeSettings({ name, deviceFlow: false, redirectUris: ['https://new.example/'] })
    expect(await changeSettings(service.context, by.id, id, settings)).toEqual({ outcome: 'saved' })
    expect(await waiting(id)).toBeUndefined()
    expect(await findApplication(service.context.db, id)).toMatchObject({
      deviceFlow: false,
      redirectUris: ['https://new.example/'],
    })
  })

  it('saved again with the same name keeps the proposal; with the old name it withdraws it', async () => {
    const { id, name } = await make()
    await rename(id, 'Another Display')
    const version = await versionOf(id)
    await rename(id, 'Another Display')
    expect(await versionOf(id)).toBe(version)
    await rename(id, name)
    expect(await waiting(id)).toBeUndefined()
    expect(await eventsOf(id)).toEqual(['proposed', 'withdrawn'])
    expect(await accept(id, version)).toEqual({ outcome: 'not_found' })
  })

  it('removes its logo at once, together with a proposed one', async () => {
    const { id, name } = await make()
    await upload(id, logo)
    await accept(id, await versionOf(id))
    await rename(id, 'Another Display')
    expect(await upload(id, null)).toEqual({ outcome: 'saved' })
    expect(await seen(id)).toEqual({ name, logo: null })
    expect(await accept(id, await versionOf(id))).toEqual({ outcome: 'accepted' })
    expect(await seen(id), 'the old one does not come back').toEqual({ name: 'Another Display', logo: null })
    await upload(id, other)
    await upload(id, null)
    expect(await waiting(id)).toBeUndefined()
  })

  it('withdraws its proposal, which is deleted', async () => {
    const { id, name } = await make()
    await rename(id, 'Another Display')
    const version = await versionOf(id)
    expect(await withdrawProposal(service.context, by.id, id)).toEqual({ outcome: 'withdrawn' })
    expect(await waiting(id)).toBeUndefined()
    expect(await accept(id, version)).toEqual({ outcome: 'not_found' })
    expect(await seen(id)).toEqual({ name, logo: null })
    expect(await withdrawProposal(service.context, by.id, id)).toEqual({ outcome: 'withdrawn' })
  })

  it('shows why a proposal was declined, until dismissed or replaced', async () => {
    const { id, name } = await make()
    await rename(id, 'Another Display')
    expect(await decline(id, await versionOf(id), '  It is\nsomebody else’s.  ')).toEqual({ outcome: 'declined' })
    expect(await seen(id)).toEqual({ name, logo: null })
    expect(await waiting(id)).toBeUndefined()
    expect(await readProposal(service.context.db, id)).toMatchObject({ declinedReason: 'It is\nsomebody else’s.' })
    await rename(id, 'A Third Display')
    expect(await readProposal(service.context.db, id)).toMatchObject({ name: 'A Third Display', declinedReason: null })
    await decline(id, await versionOf(id))
    await withdrawProposal(service.context, by.id, id)
    expect(await readProposal(service.context.db, id)).toBeNull()
  })

  it('does not propose a declined logo again with the next name', async () => {
    const { id } = await make()
    await upload(id, logo)
    await decline(id, await versionOf(id))
    await rename(id, 'Another Display')
    expect(await waiting(id)).toMatchObject({ name: 'Another Display', logoVersion: null })
  })
})

describe('an operator', () => {
  it('decides an existing proposal once, and declines only with a reason', async () => {
    const { id } = await make()
    expect(await accept(id, 1)).toEqual({ outcome: 'not_found' })
    expect(await accept('app_000000000000', 1)).toEqual({ outcome: 'not_found' })
    await rename(id, 'Another Display')
    const version = await versionOf(id)
    expect(await decline(id, version, ' \n ')).toEqual({ outcome: 'no_words' })
    expect(await decline(id, version, 'x'.repeat(2001))).toEqual({ outcome: 'no_words' })
    expect(await accept(id, version + 1)).toEqual({ outcome: 'stale' })
    expect(await decline(id, version - 1)).toEqual({ outcome: 'stale' })
    expect(await decline(id, version)).toEqual({ outcome: 'declined' })
    expect(await accept(id, version)).toEqual({ outcome: 'not_found' })
    expect(await decline(id, version)).toEqual({ outcome: 'not_found' })
  })

  it('lists proposals, the oldest first, and none of a deleted application', async () => {
    const [first, second, third] = [await make(), await make(), await make()]
    for (const { id, name } of [second, first, third]) await rename(id, `${name} again`)
    await service.database.query('update applications set deleted_at = now() where id = $1', [third.id])
    expect((await listEveryProposal(service.context.db)).map(({ applicationId }) => applicationId)).toEqual([
      second.id,
      first.id,
    ])
  })
})

describe('pictures', () => {
  it('of a proposal are shown to users of its own account only', async () => {
    const { id } = await make()
    await upload(id, logo)
    const version = (await waiting(id))?.logoVersion ?? ''
    const read = (whose: string | null) => readApplicationLogo(service.context, whose, id, version)
    expect(await read(accountId)).toEqual({ bytes: logo, lasting: true })
    expect(await read(null)).toBeNull()
    expect(await read(service.account.id)).toBeNull()
  })

  it('have a new version each time, also for the same picture', async () => {
    const { id } = await make({ vouched: false })
    const versions = new Set<string | null | undefined>()
    for (let each = 0; each < 5; each += 1) {
      await upload(id, logo)
      versions.add((await findApplication(service.context.db, id))?.logoVersion)
    }
    expect(versions.size).toBe(5)
  })

  it('are no larger than 256 KiB', async () => {
    const { id } = await make()
    expect(await upload(id, Buffer.alloc(262_145))).toEqual({ outcome: 'too_large' })
  })
})
