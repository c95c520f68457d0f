/** docs/decisions/0058-what-was-ended-stays-ended-after-a-restore.md: replay only ends. */
import { expect, it } from 'vitest'
import { type EventLine, type GenerationLine, parseLine } from '../../../src/core/restore/journal-line.ts'
import { planReplay } from '../../../src/core/restore/replay.ts'

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

it('of several lines about the same thing the last one counts', () => {
  const application = 'app_1'
  const suspended = line('application.suspended', { application })
  const restored = line('application.restored', { application })
  expect(planReplay([suspended, restored]).suspended).toEqual([])
  expect(planReplay([suspended, restored, suspended]).suspended).toEqual([application])
  const revoked = line('grant.revoked', { grant: 'grt_1', reason: 'removed_by_user' })
  expect(planReplay([revoked]).grants).toEqual([{ id: 'grt_1', reason: 'removed_by_user' }])
  expect(planReplay([revoked, line('grant.restored', { grant: 'grt_1' })]).grants).toEqual([])
  const disabled = line('user.disabled', { user: 'usr_1' })
  expect(planReplay([disabled, line('user.enabled', { user: 'usr_1' })]).disabledUsers).toEqual([])
})

it('nothing is ended by a line that gives access', () => {
  const giving = [
    line('grant.created', { grant: 'grt_1' }),
    line('grant.issued', { grant: 'grt_1' }),
    line('application.restored', { application: 'app_1' }),
    line('user.enabled', { user: 'usr_1' }),
  ]
  const { lostGrants, ...ended } = planReplay(giving)
  expect(lostGrants).toEqual(['grt_1'])
  expect(Object.values(ended).flat()).toEqual([])
})

it('secrets are ended by their ids, of a rotation and of a revocation', () => {
  const application = 'app_1'
  const rotated = line('application.secret_rotated', { application, revokedSecrets: ['sec_1', 'sec_2'] })
  const revoked = line('application.secret_revoked', { application, secret: 'sec_3' })
  expect(planReplay([rotated, revoked]).secrets.map(({ secret }) => secret)).toEqual(['sec_1', 'sec_2', 'sec_3'])
})

it('of a credential the newest generation counts, in whatever order processes wrote', () => {
  const [older, newer] = [generation({ generation: 4 }), generation({ generation: 5 })]
  const key = generation({ kind: 'access_key' })
  expect(planReplay([newer, older, key]).generations).toEqual([newer, key])
})

it('a line that was cut off, is empty or of an unknown kind is ignored', () => {
  expect(['', '{"kind":"grant.revoked","gra', '{"kind":"comet"}', 'words'].map(parseLine)).toEqual([
    null,
    null,
    null,
    null,
  ])
  expect(parseLine('{"kind":"access_token","grant":"grt_1","generation":2}')).toMatchObject({ generation: 2 })
})
