/** Records as `core/` sees them, without storage: one builder per noun. Frozen, so that a step that mutates one throws. */
import type { DeviceCode } from '../../src/core/device/code.ts'
import type { GrantWithSecret } from '../../src/secrets/credentials.ts'

export const NOW = Date.parse('2026-03-01T12:00:00Z')
export const EXPIRES_AT = NOW + 900_000

export function makeDeviceCode(given: Partial<DeviceCode> = {}): DeviceCode {
  return Object.freeze({
    id: '01958f00-0000-7000-8000-000000000001',
    applicationId: 'app_000000000000',
    variant: 'token_set',
    scopes: ['orders:read'],
    state: 'till 4',
    expiresAt: EXPIRES_AT,
    status: 'pending',
    claimedBy: null,
    claimedAs: null,
    takenFrom: null,
    movedFrom: [],
    closedBy: null,
    entryClosed: false,
    alsoEntered: null,
    grantId: null,
    delivery: null,
    ...given,
  })
}

export function makeGrant(given: Partial<GrantWithSecret> = {}): GrantWithSecret {
  return Object.freeze({
    id: 'grt_00000000000000000000',
    secret: '6f1f7f3e-6a57-4f8e-9d0b-3a1c2b4d5e6f',
    accountId: 'acc_000000000000',
    userId: 'usr_000000000000',
    applicationId: 'app_000000000000',
    variant: 'token_set',
    scopes: ['orders:read'],
    keyId: 1,
    createdAt: NOW,
    generation: 1,
    usedGeneration: 1,
    keyGeneration: 1,
    issuedAt: null,
    keyRotatedAt: null,
    revokedAt: null,
    testEndsAt: null,
    ...given,
  })
}
