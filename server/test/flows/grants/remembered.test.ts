/** Storage of the grant cache: bounded, however many grants are used. */
import { expect, it } from 'vitest'
import { createRemembered } from '../../../src/flows/grants/remembered.ts'
import { makeGrant } from '../../rig/records.ts'

it('remembers 20,000 grants at most: the oldest is evicted', () => {
  const remembered = createRemembered()
  const names = Array.from({ length: 20_001 }, (_, at) => String(at))
  for (const id of names) {
    const holder = { userDisabled: false, accountClosed: false, applicationDeleted: false }
    const state = {
      grant: makeGrant({ id }),
      holder,
      accountExternalId: null,
      userExternalId: null,
      accountSlug: 'acme',
      heldScopes: [],
      allowedScopes: [],
      usedOn: null,
    }
    remembered.set(`secret of ${id}`, { state: { ...state, now: 0 }, readAt: 0 })
  }
  expect(names.filter((id) => remembered.get(`secret of ${id}`) === undefined)).toEqual(['0'])
})
