/** docs/decisions/0058-what-was-ended-stays-ended-after-a-restore.md: replay only ends. */
import { describe, expect, it, test } from 'vitest'
import type { EventLine, GenerationLine, UseLine } from '../../../src/core/restore/journal-line.ts'
import { planReplay, type Replay } from '../../../src/core/restore/replay.ts'

let events = 0
const line = (kind: EventLine['kind'], about: Partial<EventLine>): EventLine => {
  events += 1
  return { kind, event: events, at: '2026-11-17 10:00:00.000001+00', ...about }
}
const generation = (given: Partial<GenerationLine>): GenerationLine => ({
  kind: 'refresh_token',
  grant: 'grt_1',
  generation: 2,
  issuedAt: 0,
  key: 1,
  ...given,
})
const use = (grant: string, used: number): UseLine => ({ kind: 'access_token', grant, generation: used })

const NOTHING: Replay = {
  ...{ accounts: [], erasedUsers: [], disabledUsers: [], passwords: [], resetUsers: [], suspended: [] },
  ...{ deletedApplications: [], secrets: [], managementKeys: [], signingKeys: [], access: [], grants: [] },
  ...{ generations: [], uses: [], lostGrants: [] },
}

describe('what one line ends', () => {
  test.each<[EventLine, Partial<Replay>]>([
    [line('account.closed', { account: 'acc_1' }), { accounts: ['acc_1'] }],
    [line('user.erased', { account: 'acc_1', user: 'usr_1' }), { erasedUsers: ['usr_1'] }],
    [line('user.disabled', { account: 'acc_1', user: 'usr_1' }), { disabledUsers: ['usr_1'] }],
    [line('user.password_set', { account: 'acc_1', user: 'usr_1' }), { passwords: ['usr_1'] }],
    [line('user.reset', { account: 'acc_1', user: 'usr_1' }), { resetUsers: ['usr_1'] }],
    [line('application.suspended', { application: 'app_1' }), { suspended: ['app_1'] }],
    [line('application.deleted', { application: 'app_1' }), { deletedApplications: ['app_1'] }],
    [
      line('application.secret_revoked', { application: 'app_1', secret: 'sec_1' }),
      { secrets: [{ application: 'app_1', secret: 'sec_1' }] },
    ],
    [line('management_key.revoked', { account: 'acc_1', managementKey: 'mgk_1' }), { managementKeys: ['mgk_1'] }],
    [line('key.retired', { key: 3 }), { signingKeys: [3] }],
    [
      line('grant.revoked', { account: 'acc_1', user: 'usr_1', application: 'app_1', grant: 'grt_1' }),
      { grants: [{ id: 'grt_1', reason: null }] },
    ],
    [line('grant.created', { user: 'usr_1', application: 'app_1', grant: 'grt_1' }), { lostGrants: ['grt_1'] }],
    [line('grant.issued', { application: 'app_1', grant: 'grt_1' }), {}],
    [line('code.rejected', { user: 'usr_1', application: 'app_1', code: 'cod_1' }), {}],
    [
      line('user.roles_changed', { account: 'acc_1', user: 'usr_1', left: ['role:rol_1'] }),
      { access: [{ subject: 'usr_1', left: ['role:rol_1'], kind: 'user.roles_changed' }] },
    ],
    [
      line('role.removed', { account: 'acc_1', role: 'rol_1', left: [] }),
      { access: [{ subject: 'rol_1', left: [], kind: 'role.removed' }] },
    ],
    [line('account.provider_changed', { account: 'acc_1' }), {}],
  ])('$kind', (event, ended) => {
    expect(planReplay([event])).toEqual({ ...NOTHING, ...ended })
  })
})

it('of several lines about the same thing the last one counts', () => {
  const application = 'app_1'
  const suspended = line('application.suspended', { application })
  const restored = line('application.restored', { application })
  expect(planReplay([suspended, restored]).suspended).toEqual([])
  expect(planReplay([suspended, restored, line('application.suspended', { application })]).suspended).toEqual([
    application,
  ])
  const revoked = line('grant.revoked', { grant: 'grt_1', reason: 'removed_by_user' })
  expect(planReplay([revoked]).grants).toEqual([{ id: 'grt_1', reason: 'removed_by_user' }])
  expect(planReplay([revoked, line('grant.restored', { grant: 'grt_1' })]).grants).toEqual([])
  const disabled = line('user.disabled', { user: 'usr_1' })
  expect(planReplay([disabled, line('user.enabled', { user: 'usr_1' })]).disabledUsers).toEqual([])
})

it('the last one is that of the latest time, wherever it is in the file', () => {
  const application = 'app_1'
  // Ids are given out again after a restore, so a later event may have a lower one.
  const restored = line('application.restored', { application, at: '2026-11-17 10:40:00.5+00' })
  const suspended = line('application.suspended', { application, at: '2026-11-17 10:00:00+00' })
  expect(planReplay([suspended, restored, suspended]).suspended).toEqual([])
  const again = line('application.suspended', { application, at: '2026-11-17 10:40:00.75+00' })
  expect(planReplay([again, suspended, restored]).suspended).toEqual([application])
})

it('of one transaction, whose events have the same time, the last event counts', () => {
  const application = 'app_1'
  const suspended = line('application.suspended', { application })
  const restored = line('application.restored', { application })
  expect(planReplay([restored, suspended]).suspended).toEqual([])
  const again = line('application.suspended', { application })
  expect(planReplay([again, restored, suspended]).suspended).toEqual([application])
})

it('a line about something else settles nothing', () => {
  const ended = [
    line('application.suspended', { application: 'app_1' }),
    line('grant.revoked', { grant: 'grt_1' }),
    line('user.disabled', { user: 'usr_1' }),
  ]
  const others = [
    line('application.restored', { application: 'app_2' }),
    line('grant.restored', { grant: 'grt_2' }),
    line('user.enabled', { user: 'usr_2' }),
    line('user.password_set', { user: 'usr_1' }),
    line('grant.created', { application: 'app_1', grant: 'grt_1' }),
  ]
  expect(planReplay([...ended, ...others])).toMatchObject({
    suspended: ['app_1'],
    grants: [{ id: 'grt_1', reason: null }],
    disabledUsers: ['usr_1'],
  })
})

it('nothing is ended by a line that gives access', () => {
  const giving = [
    line('grant.created', { grant: 'grt_1' }),
    line('grant.issued', { grant: 'grt_1' }),
    line('application.restored', { application: 'app_1' }),
    line('user.enabled', { user: 'usr_1' }),
  ]
  expect(planReplay(giving)).toEqual({ ...NOTHING, lostGrants: ['grt_1'] })
})

it('a line without the thing it is about ends nothing', () => {
  const kinds = [
    'account.closed',
    'user.erased',
    'application.deleted',
    'management_key.revoked',
    'grant.revoked',
  ] as const
  expect(planReplay(kinds.map((kind) => line(kind, {})))).toEqual(NOTHING)
})

it('each id is listed once, in ascending order', () => {
  const closed = ['acc_2', 'acc_3', 'acc_1', 'acc_2'].map((account) => line('account.closed', { account }))
  expect(planReplay(closed).accounts).toEqual(['acc_1', 'acc_2', 'acc_3'])
})

describe('secrets', () => {
  const application = 'app_1'

  it('are ended by their ids, of a rotation and of a revocation', () => {
    const rotated = line('application.secret_rotated', { application, revokedSecrets: ['sec_1', 'sec_2'] })
    const revoked = line('application.secret_revoked', { application, secret: 'sec_3' })
    expect(planReplay([rotated, revoked]).secrets).toEqual(
      ['sec_1', 'sec_2', 'sec_3'].map((secret) => ({ application, secret })),
    )
  })

  it('are not ended by other events, and not without an application', () => {
    const others = [
      line('application.suspended', { application, secret: 'sec_1', revokedSecrets: ['sec_2'] }),
      line('application.secret_revoked', { secret: 'sec_3' }),
    ]
    expect(planReplay(others).secrets).toEqual([])
  })
})

it('signing keys are ended by their numbers, and by nothing else', () => {
  const lines = [
    line('key.retired', { key: 2 }),
    line('key.retired', {}),
    line('grant.issued', { key: 3 }),
    line('key.retired', { key: 0 }),
  ]
  expect(planReplay([...lines, generation({ key: 9 })]).signingKeys).toEqual([2, 0])
})

describe('generations', () => {
  test('a refresh token that was issued again keeps its last time and key', () => {
    const [issued, again] = [generation({ key: 1, issuedAt: 1 }), generation({ key: 2, issuedAt: 2 })]
    expect(planReplay([issued, again]).generations).toEqual([again])
  })

  it('of a credential the newest counts, in whatever order processes wrote', () => {
    const [older, newer] = [generation({ generation: 4 }), generation({ generation: 5 })]
    const key = generation({ kind: 'access_key' })
    expect(planReplay([newer, older, key]).generations).toEqual([newer, key])
    expect(planReplay([older, key, newer]).generations).toEqual([newer, key])
  })

  it('are those of each grant, also the first one', () => {
    const lines = [generation({ generation: 1 }), generation({ grant: 'grt_2', generation: 1 })]
    expect(planReplay(lines)).toEqual({ ...NOTHING, generations: lines })
  })

  it('that were used are apart from those that were issued', () => {
    const lines = [use('grt_1', 3), generation({ generation: 2 }), use('grt_2', 1), use('grt_1', 2), use('grt_2', 4)]
    expect(planReplay(lines)).toEqual({
      ...NOTHING,
      generations: [generation({ generation: 2 })],
      uses: [use('grt_1', 3), use('grt_2', 4)],
    })
  })
})

describe('access', () => {
  const changed = (kind: EventLine['kind'], left: readonly string[], about: Partial<EventLine> = { user: 'usr_1' }) =>
    line(kind, { ...about, left })

  it('is what the last event about a subject left, of whatever kind it is', () => {
    const lines = [changed('user.roles_changed', ['role:rol_1', 'passkey:1']), changed('user.passkey_removed', [])]
    const last = { subject: 'usr_1', left: [], kind: 'user.passkey_removed' }
    expect(planReplay(lines).access).toEqual([last])
    expect(planReplay(lines.toReversed()).access).toEqual([last])
  })

  it('is listed in the order in which subjects are locked', () => {
    const lines = ['usr_2', 'usr_1', 'usr_3'].map((user) => changed('user.updated', [], { user }))
    expect(planReplay(lines).access.map(({ subject }) => subject)).toEqual(['usr_1', 'usr_2', 'usr_3'])
  })

  it('is not taken by a line that does not say what was left, and not without a subject', () => {
    const others = [line('user.updated', { user: 'usr_1' }), changed('role.changed', [], { account: 'acc_1' })]
    expect(planReplay([...others, changed('user.disabled', [])]).access).toEqual([])
  })
})
