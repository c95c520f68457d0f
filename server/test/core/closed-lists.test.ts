/** A column with a closed list of values accepts exactly the members of its TypeScript type. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { publisherStatuses } from '../../src/core/applications/application.ts'
import { actorKinds, interfaces } from '../../src/core/audit/actor.ts'
import type { DeviceCode, FinalOutcome, Variant } from '../../src/core/device/code.ts'
import { revocationReasons } from '../../src/core/grants/revocation-reason.ts'
import { operatorChangeOutcomes, operatorChanges } from '../../src/core/operator/operator-change.ts'
import { admissions, providerStates } from '../../src/core/provider/provider.ts'
import { decisions, reasons, reviewReasons } from '../../src/core/reviews/review.ts'
import type { Verdict } from '../../src/core/reviews/suspension.ts'
import type { Origin } from '../../src/core/sign-in/origin.ts'
import type { Entry } from '../../src/store/sign-in/attempts.ts'
import type { disableEndpoint } from '../../src/store/webhooks/endpoints.ts'

/** Does not compile if a member of the union is missing or added. */
const members = <Union extends string>(each: Record<Union, true>) => Object.keys(each).sort()

const variants = members<Variant>({ token_set: true, access_key: true })

const LISTS: Record<string, readonly string[]> = {
  applications_publisher_status_check: [...publisherStatuses].sort(),
  audit_events_actor_kind_check: [...actorKinds].sort(),
  audit_events_via_check: [...interfaces].sort(),
  code_entries_outcome_check: members<Entry['outcome']>({ claimed: true, missed: true, known: true }),
  device_codes_also_entered_check: members<NonNullable<DeviceCode['alsoEntered']>>({
    colleague: true,
    another_account: true,
  }),
  device_codes_outcome_check: members<FinalOutcome>({ accepted: true, rejected: true, expired: true }),
  device_codes_status_check: members<DeviceCode['status']>({
    pending: true,
    accepted: true,
    rejected: true,
    used: true,
  }),
  device_codes_variant_check: variants,
  grants_revocation_reason_check: [...revocationReasons].sort(),
  grants_variant_check: variants,
  operator_changes_change_check: [...operatorChanges].sort(),
  operator_changes_outcome_check: [...operatorChangeOutcomes].sort(),
  review_decisions_decision_check: [...decisions].sort(),
  review_decisions_reason_check: [...reasons].sort(),
  reviews_reason_check: [...reviewReasons].sort(),
  reviews_verdict_check: members<Verdict>({ fine: true, observe: true, warn: true, review: true, suspend: true }),
  webhook_endpoints_disabled_reason_check: members<Parameters<typeof disableEndpoint>[2]>({
    removed: true,
    gone: true,
  }),
  users_origin_check: members<Origin>({ own: true, host: true, provider: true }),
  identity_providers_state_check: [...providerStates].sort(),
  identity_providers_admission_check: [...admissions].sort(),
}

test('each check constraint lists the members of its type, and every such constraint is compared', () => {
  const schema = readFileSync(new URL('../../schema.sql', import.meta.url), 'utf8')
  const checks = schema.matchAll(/CONSTRAINT (\w+) CHECK \(\(\w+ = ANY \(ARRAY\[([^\]]*)\]\)\)\)/g)
  const found = Array.from(checks, ([, name = '', list = '']) => [
    name,
    Array.from(list.matchAll(/'([\w.]+)'/g), ([, member = '']) => member).sort(),
  ])
  expect(Object.fromEntries(found)).toEqual(LISTS)
})
