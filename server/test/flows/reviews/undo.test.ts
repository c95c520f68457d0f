/** Undoing a decision: restores every credential, for three days, and nothing else. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { options } from '../../../src/config.ts'
import { BY_COMMAND_LINE } from '../../../src/core/audit/actor.ts'
import { UNDOABLE_MS } from '../../../src/core/reviews/review.ts'
import { issueFirst } from '../../../src/flows/grants/issue.ts'
import { reportCredential } from '../../../src/flows/grants/revoke-credential.ts'
import { listReviews } from '../../../src/flows/reviews/list.ts'
import { undoDecision } from '../../../src/flows/reviews/undo.ts'
import { resetUser } from '../../../src/flows/sign-in/reset-user.ts'
import { sweep } from '../../../src/flows/sweep.ts'
import { lockUserForChange } from '../../../src/store/accounts/users.ts'
import { askMe, type Connected, connect } from '../../rig/connect.ts'
import { grantEvents, postNative } from '../../rig/credentials.ts'
import { post } from '../../rig/device.ts'
import { refresh } from '../../rig/dialog.ts'
import { makeUser } from '../../rig/make.ts'
import { Deciding } from '../../rig/scenes/deciding.ts'
import { advance } from '../../rig/scenes/fleet.ts'
import { switchTestModeOff, switchTestModeOn } from '../../rig/test-mode.ts'

const HOUR = 3_600_000

let world: Deciding
let service: Deciding['service']
beforeAll(async () => {
  world = await Deciding.start()
  service = world.service
})
afterAll(() => service.stop())
beforeEach(() => world.takeAnother())

describe('revoking all grants', () => {
  const ask = async ({ credential }: Connected) => (await askMe(service, credential)).status

  it('revokes them in every process, and undoing it restores those credentials only', async () => {
    const token = await connect(service, { application: world.application })
    const key = await connect(service, { application: world.application, variant: 'key' })
    const removed = await connect(service, { application: world.application })
    const remembered = [await ask(token), await ask(key), await ask(removed)]
    expect(remembered).toEqual([200, 200, 200])
    await service.database.query(
      "update grants set revoked_at = now(), revocation_reason = 'removed_by_user' where id = $1",
      [removed.grantId],
    )

    expect(await world.decide({ decision: 'keep_and_revoke' })).toBe('decided')
    expect((await world.read()).decisions[0]).toMatchObject({ revoked: 2 })
    expect([await ask(token), await ask(key)]).toEqual([401, 401])
    expect((await refresh(service, world.application, token.refreshToken)).status).toBe(400)

    expect(await world.undo()).toBe('undone')
    expect([await ask(token), await ask(key), await ask(removed)]).toEqual([200, 200, 401])
    expect((await refresh(service, world.application, token.refreshToken)).status).toBe(200)
    expect((await world.read()).suspended).toBe(false)
    expect(await grantEvents(service, token.grantId)).toEqual([
      { kind: 'grant.revoked', detail: { reason: 'revoked_by_review', decision: expect.stringMatching(/^dec_/) } },
      { kind: 'grant.restored', detail: { decision: expect.stringMatching(/^dec_/) } },
    ])
  })

  it('is undone also if the device repeated its last poll meanwhile', async () => {
    const key = await connect(service, { application: world.application, variant: 'key' })
    expect(await world.decide({ decision: 'keep_and_revoke' })).toBe('decided')
    const issued = await service.context.db.transaction((tx) =>
      issueFirst(service.context, tx, key.grantId, Date.now(), true),
    )
    expect(issued).toBeNull()
    expect(await world.undo()).toBe('undone')
    expect(await ask(key)).toBe(200)
  })

  it('is final for grants revoked otherwise meanwhile: by a new password, a report, the application itself', async () => {
    const clerk = await makeUser(service.context.db, service.account.slug)
    const [reset, reported, returned, kept] = [
      await connect(service, { application: world.application, user: clerk }),
      await connect(service, { application: world.application }),
      await connect(service, { application: world.application, variant: 'key' }),
      await connect(service, { application: world.application, variant: 'key', user: clerk }),
    ]
    expect(await world.decide({ decision: 'keep_and_revoke' })).toBe('decided')
    await service.context.db.transaction(async (tx) => {
      await lockUserForChange(tx, clerk.id)
      await resetUser(tx, BY_COMMAND_LINE, clerk.id)
    })
    const found = await postNative(service, world.application, '/auth/key/revoke', { access_key: returned.credential })
    expect(found.status).toBe(200)
    expect(await reportCredential(service.context, reported.credential)).toBe(false)
    expect(await world.undo()).toBe('undone')
    expect([await ask(reset), await ask(reported), await ask(returned), await ask(kept)]).toEqual([401, 401, 401, 200])
  })

  it('is for good where it was granted in test mode, and test mode ended meanwhile', async () => {
    const test_secret = await switchTestModeOn(service, world.application)
    const device = service.device('key', world.application)
    const code = await device.code()
    const form = { ...device.credentials, test_secret, user_code: code.user_code, decision: 'grant' }
    expect((await post(service.address, '/auth/test/decision', { form })).status).toBe(200)
    const credential = (await device.poll(code.device_code)).body.access_key ?? ''
    expect(await world.decide({ decision: 'keep_and_revoke' })).toBe('decided')
    await switchTestModeOff(service, world.application)
    expect(await world.undo()).toBe('undone')
    expect((await askMe(service, credential)).status).toBe(401)
  })
})

it('keeps the grants for as long as it can be undone, whatever the retention period', async () => {
  const key = await connect(service, { application: world.application, variant: 'key' })
  expect(await world.decide({ decision: 'keep_and_revoke' })).toBe('decided')
  const [decision] = (await world.read()).decisions
  await advance(service, UNDOABLE_MS - 60_000)
  const shortest = options.grantRetentionMs.parse('7')
  expect(() => options.grantRetentionMs.parse('6')).toThrow()
  await sweep(service.context.db, { ...service.config, grantRetentionMs: shortest })
  expect(await world.undo(world.operator, decision?.id)).toBe('undone')
  expect((await askMe(service, key.credential)).status).toBe(200)
})

describe('undoing', () => {
  it('is possible for three days', async () => {
    await world.decide()
    const [decision] = (await world.read()).decisions
    await advance(service, 72 * HOUR - 60_000)
    expect((await world.read()).decisions[0]?.undoable).toBe(true)
    await advance(service, 60_000)
    expect((await world.read()).decisions[0]?.undoable).toBe(false)
    expect(await world.undo(world.operator, decision?.id)).toBe('too_late')
    expect((await world.read()).suspended).toBe(true)
  })

  it('is possible for the last decision only, and once', async () => {
    await world.decide()
    const first = (await world.read()).decisions[0]?.id ?? ''
    await world.decide({ decision: 'reinstate' })
    const last = (await world.read()).decisions[0]?.id ?? ''
    expect((await world.read()).decisions.map(({ undoable }) => undoable)).toEqual([true, false])
    expect(await world.undo(world.operator, first)).toBe('too_late')
    const both = await Promise.all(
      [world.operator, world.second].map(({ id }) => undoDecision(service.context, id, last)),
    )
    expect(both.map(({ outcome }) => outcome).sort()).toEqual(['not_found', 'undone'])
    expect((await world.read()).suspended).toBe(true)
    expect(await world.undo(world.operator, first)).toBe('undone')
    expect(await world.undo(world.operator, 'dec_000000000000')).toBe('not_found')
  })

  it('reopens the review, unless there is a newer one', async () => {
    await world.report()
    const about = (await world.read()).review?.id
    await world.decide({ decision: 'reinstate' })
    const decided = (await world.read()).decisions[0]?.id ?? ''
    expect(await world.undo()).toBe('undone')
    expect((await world.read()).review).toMatchObject({ id: about, closedAt: null })
    await world.decide({ decision: 'reinstate' })
    await advance(service, 60_000)
    await world.report()
    expect((await world.read()).review).toMatchObject({ closedAt: null })
    expect((await world.read()).review?.id).not.toBe(about)
    expect(await world.undo(world.operator, decided)).toBe('not_found')
    expect(await world.undo(world.operator, (await world.read()).decisions[0]?.id)).toBe('undone')
    const open = (await listReviews(service.context, 'open')).lines
    expect(open.filter(({ applicationId }) => applicationId === world.application.id)).toHaveLength(1)
  })
})
