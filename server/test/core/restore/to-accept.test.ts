/** What a restore leaves to an operator, by name. */
import { expect, it } from 'vitest'
import { type EventLine, unrepeatableKinds } from '../../../src/core/restore/journal-line.ts'
import { namesToAccept, type Open } from '../../../src/core/restore/to-accept.ts'

const names = (open: Partial<Open>) => namesToAccept({ gaps: [], unproven: 0, superseded: [], lost: [], ...open })
const line = (kind: EventLine['kind'], about: Partial<EventLine> = {}): EventLine => ({
  ...{ kind, event: 1, at: '2026-11-17 10:00:00.000001+00', account: 'acc_1', user: 'usr_1', application: 'app_1' },
  ...about,
})

it('is nothing if all was repeated', () => {
  expect(names({ lost: [line('user.disabled'), line('user.roles_changed')] })).toEqual([])
})

it('are gaps, lines without a proof, and what was changed since', () => {
  expect(names({ gaps: [{ writer: 'w', number: 7 }], unproven: 2, superseded: [line('user.roles_changed')] })).toEqual([
    'gap:w:7',
    'unproven:2',
    'user.roles_changed:usr_1',
  ])
})

it('are all events that cannot be repeated, each once', () => {
  const lost = unrepeatableKinds.map((kind) => line(kind))
  expect(names({ lost: [...lost, ...lost] })).toEqual([
    'account.provider_changed:acc_1',
    'application.test_mode_ended:app_1',
    'application.vetting_withdrawn:app_1',
    'user.recovery_code_used:usr_1',
    'user.recovery_codes_created:usr_1',
  ])
})

it('are changed e-mail addresses', () => {
  expect(names({ lost: [line('user.updated', { address: true }), line('user.updated', { user: 'usr_2' })] })).toEqual([
    'user.address:usr_1',
  ])
})
