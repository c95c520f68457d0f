/** Models of the two consent pages. */
import type { ConsentModel } from '../../src/pages/device/consent-model.ts'
import type { DialogConsentModel } from '../../src/pages/dialog/consent.tsx'

export function makeConsent(given: Partial<ConsentModel> = {}): ConsentModel {
  return {
    ref: 'ref',
    shown: 'calendars,screens',
    application: 'Acme Signage',
    publisher: { status: 'verified', name: 'acme.example' },
    logo: null,
    userCode: '432 324 981',
    age: 130_000,
    remaining: 720_000,
    variant: 'token_set',
    unusedDays: 60,
    maxDays: 365,
    request: { address: '203.0.113.9', place: 'Hamburg', network: 'AS 64496', origin: 'same', says: 'Living room' },
    can: [{ name: 'calendars', title: 'See your calendars', dangerous: false }],
    lacking: [
      { name: 'orders', title: 'Order screens', dangerous: true, roles: ['Billing', 'Owner'], required: false },
    ],
    prevented: null,
    retype: false,
    crowded: false,
    shared: false,
    problem: null,
    ...given,
  }
}

export function makeDialogConsent(given: Partial<DialogConsentModel> = {}): DialogConsentModel {
  const { application, publisher, unusedDays, maxDays, can, lacking } = makeConsent()
  return {
    request: 'request',
    shown: 'calendars,screens',
    application,
    publisher,
    logo: null,
    returnTo: 'app.acme.example',
    unusedDays,
    maxDays,
    can,
    lacking,
    prevented: null,
    problem: null,
    ...given,
  }
}
