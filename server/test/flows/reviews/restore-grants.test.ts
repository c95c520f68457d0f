/** A decision that revokes all grants, and one that restores them: every credential, for three days, and nothing else. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { options } from '../../../src/config.ts'
import { BY_COMMAND_LINE } from '../../../src/core/audit/actor.ts'
import { RESTORABLE_MS } from '../../../src/core/reviews/review.ts'
import { issueFirst } from '../../../src/flows/grants/issue.ts'
import { reportCredential } from '../../../src/flows/grants/revoke-credential.ts'
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

let world: Deciding
let service: Deciding['service']
beforeAll(async () => {
  world = await Deciding.start()
  service = world.service
})
afterAll(() => service.stop())
beforeEach(() => world.takeAnother())

/** Of each test’s own application. */
const restore = () => world.decide({ decision: 'reinstate_and_restore', reason: 'mistaken' })

describe('revoking all grants', () => {
  const ask = async ({ credential }: Connected) => (await askMe(service, credential)).status

  it('revokes them in every process, and another decision restores those credentials only', async () => {
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
    expect((await world.read()).decisions[0]).toMatchObject({ grants: 2 })
    expect([await ask(token), await ask(key)]).toEqual([401, 401])
    expect((await refresh(service, world.application, token.refreshToken)).status).toBe(400)

    expect(await restore()).toBe('decided')
    expect([await ask(token), await ask(key), await ask(removed)]).toEqual([200, 200, 401])
    expect((await refresh(service, world.application, token.refreshToken)).status).toBe(200)
    expect((await world.read()).suspended).toBe(false)
    expect(await grantEvents(service, token.grantId)).toEqual([
      { kind: 'grant.revoked', detail: { reason: 'revoked_by_review', decision: expect.stringMatching(/^dec_/) } },
      { kind: 'grant.restored', detail: { decision: expect.stringMatching(/^dec_/) } },
    ])
  })

  it('is restored also if the device repeated its last poll meanwhile', async () => {
    const key = await connect(service, { application: world.application, variant: 'key' })
    expect(await world.decide({ decision: 'keep_and_revoke' })).toBe('decided')
    const issued = await service.context.db.transaction((tx) =>
      issueFirst(service.context, tx, key.grantId, Date.now(), true),
    )
    expect(issued).toBeNull()
    expect(await restore()).toBe('decided')
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
    expect(await restore()).toBe('decided')
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
    expect(await restore()).toBe('decided')
    expect((await askMe(service, credential)).status).toBe(401)
  })
})

describe('restoring', () => {
  it('is possible for three days, whatever the retention period of grants', async () => {
    const key = await connect(service, { application: world.application, variant: 'key' })
    expect(await world.decide({ decision: 'keep_and_revoke' })).toBe('decided')
    await advance(service, RESTORABLE_MS - 60_000)
    const shortest = options.grantRetentionMs.parse('7')
    expect(() => options.grantRetentionMs.parse('6')).toThrow()
    await sweep(service.context.db, { ...service.config, grantRetentionMs: shortest })
    expect((await world.read()).restorable).toBe(1)
    expect(await restore()).toBe('decided')
    expect((await askMe(service, key.credential)).status).toBe(200)
  })

  it('is not possible later: the decision only reinstates the application', async () => {
    const key = await connect(service, { application: world.application, variant: 'key' })
    expect(await world.decide({ decision: 'keep_and_revoke' })).toBe('decided')
    await advance(service, RESTORABLE_MS)
    expect((await world.read()).restorable).toBe(0)
    expect(await restore()).toBe('decided')
    expect(await world.read()).toMatchObject({ suspended: false, decisions: [{ grants: 0 }, { grants: 1 }] })
    expect((await askMe(service, key.credential)).status).toBe(401)
  })

  it('needs a decision of its own, and covers all that were revoked lately', async () => {
    const first = await connect(service, { application: world.application })
    expect(await world.decide({ decision: 'keep_and_revoke' })).toBe('decided')
    expect(await world.decide({ decision: 'reinstate' })).toBe('decided')
    const second = await connect(service, { application: world.application })
    expect(await world.decide({ decision: 'keep_and_revoke' })).toBe('decided')
    const ask = () =>
      Promise.all([first, second].map(async ({ credential }) => (await askMe(service, credential)).status))
    expect(await ask()).toEqual([401, 401])
    expect(await restore()).toBe('decided')
    expect(await ask()).toEqual([200, 200])
    expect(await world.read()).toMatchObject({ restorable: 0, decisions: [{ grants: 2 }, {}, {}, {}] })
  })
})
