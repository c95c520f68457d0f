/** Builders for the tests of the developer console's pages. */

import { ownApplicationPage } from '../../src/pages/applications/application.tsx'
import type { OwnApplicationModel } from '../../src/pages/applications/application-model.ts'
import { developerListPage } from '../../src/pages/applications/list.tsx'
import { type ApplicationLogoModel, applicationLogoPage } from '../../src/pages/applications/logo.tsx'
import {
  type ApplicationPublisherModel,
  applicationPublisherPage,
} from '../../src/pages/applications/publisher-page.tsx'
import { type RegisterModel, registerApplicationPage } from '../../src/pages/applications/register.tsx'
import type { ScopeChoice } from '../../src/pages/applications/scope-choice.tsx'
import { type ApplicationSettingsModel, applicationSettingsPage } from '../../src/pages/applications/settings.tsx'
import { type TestSecretModel, testSecretPage } from '../../src/pages/applications/test-mode.tsx'
import { consentPage } from '../../src/pages/device/consent.tsx'
import { dialogConsentPage } from '../../src/pages/dialog/consent.tsx'
import type { Frame } from '../../src/pages/ui/frame.ts'
import { samplesFor } from '../../src/pages/ui/samples.tsx'
import { type SecretShownModel, secretShownPage } from '../../src/pages/ui/secret-shown.tsx'
import type { DeliveryRow } from '../../src/pages/webhooks/log.tsx'
import { webhookSecretPage } from '../../src/pages/webhooks/secret.tsx'
import { type WebhooksModel, webhooksPage } from '../../src/pages/webhooks/webhooks.tsx'
import { makeConsent, makeDialogConsent } from './make-consent.ts'

const BY_NAME = { search: '', sort: 'name', descending: false, after: null } as const

export const ID = 'app_k3v9m2x7q4tz'
export const SECRET = 'lks_fJdhthPJewnGZTDPFPlaWiEaoEgB0xLTvZ45gaTkzd0'
const TEST_SECRET = 'lkt_fJdhthPJewnGZTDPFPlaWiEaoEgB0xLTvZ45gaTkzd0'
export const REDIRECT = 'https://app.acme.example/back?shop=7'
export const HOOK = 'https://hooks.acme.example/latchkey'
export const WEBHOOK_SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD0BuKZq3nQYE='
const PUBLIC_URL = 'https://service.example'
const AT = Date.UTC(2026, 10, 15, 14, 32)

export const scopes: readonly ScopeChoice[] = [
  { name: 'calendars:read', title: 'See your calendars', dangerous: false, byCode: true, use: 'required' },
  { name: 'orders', title: 'Order screens', dangerous: true, byCode: false, use: 'default' },
  { name: 'screens', title: 'Switch screens on and off', dangerous: false, byCode: true, use: 'no' },
]

const samples = samplesFor(PUBLIC_URL, ID, { code: true, redirect: REDIRECT, public: false })

export function makeRegister(given: Partial<RegisterModel> = {}): RegisterModel {
  return { step: 'kind', name: 'Acme Signage', kind: 'web', scopes, redirects: REDIRECT, problem: null, ...given }
}

export function makeSecretShown(given: Partial<SecretShownModel> = {}): SecretShownModel {
  return { id: ID, name: 'Acme Signage', secret: SECRET, registered: true, samples, ...given }
}

function makeTestSecret(given: Partial<TestSecretModel> = {}): TestSecretModel {
  return { id: ID, name: 'Acme Signage', secret: TEST_SECRET, endsAt: AT, public: false, samples, ...given }
}

export function makeSettingsModel(given: Partial<ApplicationSettingsModel> = {}): ApplicationSettingsModel {
  return {
    id: ID,
    name: 'Acme Signage',
    deviceFlow: true,
    pkce: 'offered',
    scopes,
    redirects: REDIRECT,
    secondLook: false,
    problem: null,
    ...given,
  }
}

export function makeOwnApplication(given: Partial<OwnApplicationModel> = {}): OwnApplicationModel {
  return {
    id: ID,
    name: 'Acme Signage',
    logo: null,
    publisher: { status: 'unverified', name: null },
    proposal: null,
    createdOn: AT,
    suspended: false,
    vetting: { outsideGrants: 42, maxOutsideGrants: 100, requestedAt: null, vettedAt: null },
    public: false,
    deviceFlow: true,
    testEndsAt: null,
    redirects: [REDIRECT, 'http://localhost:3000/back'],
    scopes: scopes.filter(({ use }) => use !== 'no'),
    secrets: [
      { id: 'sec_new', label: 'Server in Hamburg', createdOn: AT, lastUsedOn: null },
      { id: 'sec_old', label: null, createdOn: AT - 86_400_000, lastUsedOn: AT },
    ],
    maxSecrets: 3,
    samples,
    notice: null,
    problem: null,
    ...given,
  }
}

export function makeDelivery(given: Partial<DeliveryRow> = {}): DeliveryRow {
  return {
    id: '7',
    eventId: 'evt_1f81eb5251984599803e771906343485',
    kind: 'grant.created',
    url: HOOK,
    happenedAt: AT,
    attempts: 3,
    status: 'waiting',
    last: { tookMs: 9_480, answer: 503 },
    nextAt: AT + 600_000,
    ...given,
  }
}

export function makeWebhooks(given: Partial<WebhooksModel> = {}): WebhooksModel {
  const endpoint = { id: 'whk_live', url: HOOK, createdOn: AT, bothUntil: AT + 86_400_000, gone: false }
  return {
    id: ID,
    name: 'Acme Signage',
    endpoints: [endpoint, { ...endpoint, id: 'whk_gone', url: `${HOOK}/old`, bothUntil: null, gone: true }],
    maxEndpoints: 5,
    deliveries: [
      makeDelivery(),
      makeDelivery({
        id: '6',
        status: 'delivered',
        attempts: 1,
        last: { tookMs: 38, answer: 204 },
        nextAt: null,
      }),
      makeDelivery({
        id: '5',
        status: 'given_up',
        attempts: 8,
        last: { tookMs: 10_000, answer: 'timeout' },
        nextAt: null,
      }),
      makeDelivery({ id: '4', status: 'off', attempts: 0, last: null, nextAt: null }),
    ],
    maxDeliveries: 50,
    url: '',
    notice: null,
    problem: null,
    ...given,
  }
}

const RECORD = {
  domain: 'acme.example',
  name: '_latchkey.acme.example',
  value: 'latchkey-publisher=3f1c0a7b9d2e4f5061728394a5b6c7d8',
}

function makePublisher(given: Partial<ApplicationPublisherModel> = {}): ApplicationPublisherModel {
  return {
    id: ID,
    name: 'Acme Signage',
    publisher: { status: 'unverified', name: null },
    operatorsWord: false,
    provenAt: null,
    missingSince: null,
    typed: '',
    record: null,
    problem: null,
    result: null,
    notice: null,
    ...given,
  }
}

function makeLogo(given: Partial<ApplicationLogoModel> = {}): ApplicationLogoModel {
  const model = { id: ID, name: 'Acme Signage', logo: null, unverified: true, secondLook: false, problem: null }
  return { ...model, ...given }
}

/** Pages about publisher, name and logo. */
function everyChangePage(frame: Frame, name: string): Readonly<Record<string, string>> {
  const verified = { status: 'verified', name: 'acme.example' } as const
  const waiting = { name, logo: { address: '/logo' }, since: AT, declinedReason: null }
  const declined = { name: null, logo: { address: null }, since: AT, declinedReason: name }
  const show = (given: Partial<ApplicationPublisherModel>) =>
    applicationPublisherPage(frame, makePublisher({ name, ...given }))
  return {
    publisherNone: show({ typed: name, problem: 'not_a_domain' }),
    publisherRecord: show({ typed: 'acme.example', record: RECORD, result: { outcome: 'other', found: [name] } }),
    publisherTooMany: show({ record: RECORD, result: { outcome: 'too_many', minutes: 3 } }),
    publisherProven: show({ publisher: verified, provenAt: AT, record: RECORD, notice: 'proven' }),
    publisherMissing: show({ publisher: verified, provenAt: AT, missingSince: AT, record: RECORD }),
    publisherSaid: show({ publisher: { status: 'own', name: null }, operatorsWord: true }),
    applicationLogo: applicationLogoPage(frame, makeLogo({ name })),
    applicationLogoWrong: applicationLogoPage(
      frame,
      makeLogo({
        name,
        logo: '/logo',
        unverified: false,
        secondLook: true,
        problem: { kind: 'pixels', width: 1025, height: 3 },
      }),
    ),
    ownApplicationWaiting: ownApplicationPage(frame, makeOwnApplication({ name, logo: '/logo', proposal: waiting })),
    ownApplicationDeclined: ownApplicationPage(
      frame,
      makeOwnApplication({ name, publisher: verified, proposal: declined, notice: 'logo' }),
    ),
  }
}

/** `application` is used as the name of an application or the label of a secret. */
export function everyDeveloperPage(frame: Frame, application = 'Acme Signage'): Readonly<Record<string, string>> {
  const name = application
  const hostile = { uri: application, reason: 'not_an_address' } as const
  const listed = {
    id: ID,
    name,
    logo: null,
    createdOn: AT,
    suspended: true,
    testMode: true,
    code: true,
    dialog: true,
    public: false,
    grants: 2,
  }
  const other = { ...listed, id: 'app_other', suspended: false, code: false, dialog: false, public: true, grants: 0 }
  const preview = { ...frame, path: `/developer/application/preview?application=${ID}&by=code` }
  const max = makeOwnApplication().secrets.map((secret) => ({ ...secret, label: application }))
  return {
    developerList: developerListPage(frame, { wish: BY_NAME, applications: { lines: [listed, other], after: ID } }),
    developerListEmpty: developerListPage(frame, { wish: BY_NAME, applications: { lines: [], after: null } }),
    registerKind: registerApplicationPage(frame, makeRegister({ name, kind: null, problem: 'kind' })),
    registerName: registerApplicationPage(frame, makeRegister({ name, redirects: application, problem: 'name' })),
    registerScopes: registerApplicationPage(
      frame,
      makeRegister({ step: 'scopes', kind: 'device', name, problem: 'scopes' }),
    ),
    registerRedirects: registerApplicationPage(
      frame,
      makeRegister({ step: 'redirects', name, redirects: application, problem: hostile }),
    ),
    secretShown: secretShownPage(frame, makeSecretShown({ name })),
    secretAdded: secretShownPage(frame, makeSecretShown({ name, registered: false })),
    testSecret: testSecretPage(frame, makeTestSecret({ name })),
    ownApplicationTested: ownApplicationPage(
      frame,
      makeOwnApplication({ name, testEndsAt: AT, problem: 'test_mode_on' }),
    ),
    secretNone: secretShownPage(frame, makeSecretShown({ name, secret: null })),
    ownApplication: ownApplicationPage(
      frame,
      makeOwnApplication({ name, suspended: true, secrets: max, problem: 'last', redirects: [application] }),
    ),
    ownApplicationFull: ownApplicationPage(
      frame,
      makeOwnApplication({ name, maxSecrets: 2, secrets: max, notice: 'revoked' }),
    ),
    ownApplicationPublic: ownApplicationPage(frame, makeOwnApplication({ name, public: true, secrets: [] })),
    applicationSettings: applicationSettingsPage(
      frame,
      makeSettingsModel({ name, redirects: application, problem: hostile }),
    ),
    ...everyChangePage(frame, name),
    applicationSettingsTaken: applicationSettingsPage(
      frame,
      makeSettingsModel({ name, secondLook: true, problem: 'taken' }),
    ),
    registerTooMany: registerApplicationPage(frame, makeRegister({ name, problem: 'too_many_unvetted' })),
    registerTaken: registerApplicationPage(frame, makeRegister({ name, problem: 'taken' })),
    applicationSettingsScopes: applicationSettingsPage(frame, makeSettingsModel({ name, problem: 'scopes' })),
    webhooks: webhooksPage(frame, makeWebhooks({ name, notice: 'resent' })),
    webhooksWrong: webhooksPage(frame, makeWebhooks({ name, url: application, problem: 'private' })),
    webhooksFull: webhooksPage(frame, makeWebhooks({ name, maxEndpoints: 1, problem: 'too_many' })),
    webhooksNone: webhooksPage(frame, makeWebhooks({ name, endpoints: [], deliveries: [] })),
    webhookSecret: webhookSecretPage(frame, { id: ID, name, url: HOOK, secret: WEBHOOK_SECRET, notice: 'added' }),
    webhookSecretRetired: webhookSecretPage(frame, { id: ID, name, url: application, secret: null, notice: null }),
    previewCode: consentPage(preview, makeConsent({ application, logo: '/logo', preview: true })),
    previewDialog: dialogConsentPage({ ...preview, dialog: true }, makeDialogConsent({ application, preview: true })),
  }
}

/** Forms that post to a path. */
export const formsOf = (html: string, action: string) =>
  Array.from(html.matchAll(/<form\b.*?<\/form>/gs), ([form]) => form).filter((form) =>
    form.includes(`action="${action}"`),
  )

/** Names of a form's fields. */
export const fieldsOf = (form: string) =>
  Array.from(form.matchAll(/<(?:input|select|textarea)\b[^>]*\sname="([^"]*)"/g), ([, name]) => name)
