/** Builders for tests of pages: a frame, models, and every page. */

import { ownMatters } from '../../src/core/accounts/attention.ts'
import { brandingPage } from '../../src/pages/accounts/branding.tsx'
import { homePage } from '../../src/pages/accounts/home.tsx'
import { invitePage } from '../../src/pages/accounts/invite.tsx'
import { peoplePage } from '../../src/pages/accounts/people.tsx'
import { personPage } from '../../src/pages/accounts/person.tsx'
import { policyPage } from '../../src/pages/accounts/policy.tsx'
import { rolePage } from '../../src/pages/accounts/role.tsx'
import { rolesPage } from '../../src/pages/accounts/roles.tsx'
import { serviceHomePage } from '../../src/pages/accounts/service-home.tsx'
import { codeWithPasskeyPage } from '../../src/pages/device/code-with-passkey.tsx'
import { consentPage } from '../../src/pages/device/consent.tsx'
import { decidedPage } from '../../src/pages/device/decided.tsx'
import { enterCodePage } from '../../src/pages/device/enter-code.tsx'
import { type ChooseAccountModel, chooseAccountPage } from '../../src/pages/dialog/choose-account.tsx'
import { dialogConsentPage } from '../../src/pages/dialog/consent.tsx'
import { type DialogProblemModel, dialogProblemPage } from '../../src/pages/dialog/problem.tsx'
import { accountApplicationsPage } from '../../src/pages/grants/account-applications.tsx'
import { applicationsPage } from '../../src/pages/grants/applications.tsx'
import type { GrantLine } from '../../src/pages/grants/grant-line.tsx'
import { removeApplicationPage } from '../../src/pages/grants/remove-application.tsx'
import { removeByLinkPage } from '../../src/pages/grants/remove-by-link.tsx'
import { authenticatorPage } from '../../src/pages/sign-in/authenticator.tsx'
import { choosePasswordPage } from '../../src/pages/sign-in/choose-password.tsx'
import { confirmPage } from '../../src/pages/sign-in/confirm.tsx'
import { linkGonePage } from '../../src/pages/sign-in/link-gone.tsx'
import { recoverPage } from '../../src/pages/sign-in/recover.tsx'
import { recoveryCodesPage } from '../../src/pages/sign-in/recovery-codes.tsx'
import { secondFactorPage } from '../../src/pages/sign-in/second-factor.tsx'
import { secondStepPage } from '../../src/pages/sign-in/second-step.tsx'
import { securityPage } from '../../src/pages/sign-in/security.tsx'
import { signInPage } from '../../src/pages/sign-in/sign-in.tsx'
import type { Frame } from '../../src/pages/ui/frame.ts'
import { refusalPage } from '../../src/pages/ui/refusal.tsx'
import { wordsFor } from '../../src/pages/ui/words.ts'
import { everyPageAtHost } from './make-at-host.ts'
import { everyAuditPage } from './make-audit.ts'
import { makeConsent, makeDialogConsent } from './make-consent.ts'
import { everyDeveloperPage } from './make-developer.ts'
import { everyManagePage } from './make-manage.ts'
import { everyOperatorPage } from './make-operator.ts'
import { everyProviderPage } from './make-provider.ts'

export function makeFrame(given: Partial<Frame> = {}): Frame {
  return {
    words: wordsFor('en'),
    signInAt: null,
    service: { name: 'Example Cloud', logo: null, links: [] },
    account: { name: 'Northwind', host: 'northwind.service.example', colour: '#0a7d55', logo: null },
    user: { email: 'maria@northwind.example', administrator: true },
    path: '/',
    nonce: 'nonce-of-this-answer',
    mail: true,
    dialog: false,
    sign: (action, bound) => `signed ${action} ${JSON.stringify(bound)}`,
    ...given,
  }
}

export function makeChooseAccount(given: Partial<ChooseAccountModel> = {}): ChooseAccountModel {
  return {
    purpose: { kind: 'dialog', application: 'Acme Signage', request: 'request' },
    known: [
      { slug: 'northwind', host: 'northwind.service.example:8080' },
      { slug: 'acme', host: 'acme.service.example:8080' },
    ],
    suffix: '.service.example:8080',
    typed: '',
    problem: null,
    ...given,
  }
}

export function makeDialogProblem(given: Partial<DialogProblemModel> = {}): DialogProblemModel {
  return {
    problem: 'bad_request',
    application: 'Acme Signage',
    detail: 'invalid_scope: there is no scope "calendar"',
    returnTo: { href: 'https://app.acme.example/back?error=invalid_scope&state=s', host: 'app.acme.example' },
    ...given,
  }
}

const AT = Date.UTC(2026, 10, 15, 14, 32)
const REQUEST_ID = '0f3a9c1e5b7d2468'

export function makeGrant(application: string): GrantLine {
  return {
    id: 'grant',
    application,
    publisher: { status: 'unverified', name: application },
    logo: null,
    can: ['See your calendars'],
    connectedOn: AT,
    by: 'code',
    lastUsedOn: null,
    variant: 'access_key',
    unusedDays: 60,
    maxDays: 365,
    keyEnding: '7f2a',
    place: 'Hamburg',
    suspended: true,
    test: true,
  }
}

/** Pages of the dialog, and those that may be shown within it. */
export function everyDialogPage(given: Frame, application = 'Acme Signage'): Readonly<Record<string, string>> {
  const frame = { ...given, dialog: true }
  const out = { ...frame, user: null }
  const base = { ...out, account: null }
  const purpose = { kind: 'dialog', application, request: 'request' } as const
  const signIn = {
    email: '',
    next: '/dialog?request=r',
    minutes: 3,
    problem: null,
    notice: null,
    passkey: '{}',
    otherAccount: null,
    provider: null,
    ownAt: null,
  }
  const confirm = {
    next: signIn.next,
    minutes: 3,
    problem: null,
    password: true,
    code: 'authenticator',
    passkey: '{}',
  } as const
  const step = { step: 'step', minutes: 3, authenticator: true, passkey: null, problem: null } as const
  return {
    dialogSignIn: signInPage(out, signIn),
    dialogSignInWrong: signInPage(out, { ...signIn, email: 'maria@northwind.example', problem: 'wrong' }),
    dialogSecondStep: secondStepPage(out, { ...step, next: signIn.next }),
    dialogConfirm: confirmPage(frame, confirm),
    dialogRefusal: refusalPage(frame, { code: 'stale', requestId: REQUEST_ID, detail: null }),
    chooseAccount: chooseAccountPage(base, makeChooseAccount({ purpose })),
    chooseAccountWrong: chooseAccountPage(
      base,
      makeChooseAccount({ purpose, known: [], typed: application, problem: 'unknown' }),
    ),
    activate: chooseAccountPage({ ...base, dialog: false }, makeChooseAccount({ purpose: { kind: 'activate' } })),
    dialogConsent: dialogConsentPage(frame, makeDialogConsent({ application })),
    dialogConsentRefused: dialogConsentPage(
      frame,
      makeDialogConsent({ application, can: [], prevented: 'lacking', problem: 'changed' }),
    ),
    dialogProblem: dialogProblemPage(base, makeDialogProblem({ application, detail: application })),
    dialogProblemUnknown: dialogProblemPage(
      base,
      makeDialogProblem({ problem: 'unknown_application', application: null, detail: null, returnTo: null }),
    ),
  }
}

/** Every page, with problems where possible. `application` is used as the name of an application, a role or a key. */
export function everyPage(frame: Frame, application = 'Acme Signage'): Readonly<Record<string, string>> {
  const email = 'maria@northwind.example'
  const next = '/'
  const otherAccount = 'https://service.example/activate?another'
  const minutes = 3
  const grant = makeGrant(application)
  const role = { id: 'role', name: application, checked: true, titles: ['See your calendars'], everything: false }
  const passkey = { id: 'key', name: application, createdOn: AT, lastUsedOn: AT }
  const session = {
    id: 'one',
    current: true,
    createdAt: AT,
    lastUsedAt: AT,
    agent: application,
    place: null,
    address: '2001:db8::1',
  }
  const step = { next, minutes }
  return {
    serviceHome: serviceHomePage({ ...frame, user: null, account: null, sign: () => '' }),
    signIn: signInPage(frame, {
      email,
      next,
      minutes,
      problem: 'wrong',
      notice: null,
      passkey: '{"a":"<"}',
      otherAccount,
      provider: null,
      ownAt: null,
    }),
    secondStep: secondStepPage(frame, { ...step, authenticator: true, passkey: null, problem: 'locked' }),
    secondStepPasskey: secondStepPage(frame, { ...step, authenticator: false, passkey: '{}', problem: 'recovery' }),
    secondFactor: secondFactorPage(frame, { next, passkey: '{}', problem: 'passkey' }),
    recoveryCodes: recoveryCodesPage(frame, { codes: ['k3v9m-2x7q4', '0a1b2-c3d4e'], next }),
    recover: recoverPage(frame, { email, sent: false, problem: 'email' }),
    recoverSent: recoverPage(frame, { email, sent: true, problem: null }),
    choosePassword: choosePasswordPage(frame, {
      kind: 'setup',
      email,
      link: 'link',
      problem: 'too_short',
      provider: null,
      own: true,
    }),
    linkGone: linkGonePage(frame),
    removeByLink: removeByLinkPage(frame, { link: 'link', application, email, removed: false }),
    removedByLink: removeByLinkPage(frame, { link: 'link', application, email, removed: true }),
    confirm: confirmPage(frame, { next, minutes, problem: 'wrong', password: true, code: 'recovery', passkey: '{}' }),
    home: homePage(frame, { connected: 2, attention: null, notice: 'welcome' }),
    homeAttention: homePage(frame, {
      connected: 2,
      attention: {
        applications: ownMatters.map((matter) => ({ id: 'app_k3v9m2x7q4tz', name: application, matter })),
        further: 3,
        withoutSecondFactor: 2,
        addressChanges: 2,
        fewEmergencyAdministrators: true,
      },
      notice: null,
    }),
    enterCode: enterCodePage(frame, {
      typed: '43',
      problem: { kind: 'length', digits: 2 },
      off: false,
      only: ['TV'],
      otherAccount,
    }),
    codeWithPasskey: codeWithPasskeyPage(frame, { typed: '43', problem: 'passkey', passkey: '{}' }),
    enterCodeTaken: enterCodePage(frame, {
      typed: '43',
      problem: { kind: 'taken', offer: true },
      off: false,
      only: null,
      otherAccount,
    }),
    enterCodeOff: enterCodePage(frame, { typed: '', problem: null, off: true, only: null, otherAccount }),
    consent: consentPage(
      frame,
      makeConsent({ application, retype: true, crowded: true, shared: true, problem: 'retype' }),
    ),
    consentUnvetted: consentPage(frame, makeConsent({ application, prevented: 'too_many_grants' })),
    consentUnvettedDangerous: consentPage(frame, makeConsent({ application, prevented: 'dangerous_scope' })),
    consentRefused: consentPage(frame, makeConsent({ application, can: [], prevented: 'suspended' })),
    granted: decidedPage(frame, { outcome: 'granted', application }),
    connected: decidedPage(frame, { outcome: 'granted', application, connected: true }),
    granting: decidedPage(frame, { outcome: 'granted', application, deliveryAddress: '/connect/delivery?ref=r' }),
    grantedShared: decidedPage(frame, { outcome: 'granted', application, shared: true }),
    enteredElsewhere: decidedPage(frame, { outcome: 'entered_elsewhere', application }),
    moved: decidedPage(frame, { outcome: 'moved', application }),
    takenOver: decidedPage(frame, { outcome: 'taken_over', application }),
    closed: decidedPage(frame, { outcome: 'closed', application: null }),
    applications: applicationsPage(frame, { grants: [grant], removed: application, after: null }),
    removeApplication: removeApplicationPage(frame, { grant, back: '/applications', action: '/applications/remove' }),
    security: securityPage(frame, {
      hasPassword: true,
      problem: 'wrong',
      notice: null,
      passkeys: [passkey, { ...passkey, id: 'other', lastUsedOn: null }],
      passkey: '{}',
      authenticator: { createdOn: AT },
      recoveryCodes: 7,
      sessions: [session, { ...session, id: 'two', current: false, agent: null, createdAt: AT - 1 }],
    }),
    securityLastPasskey: securityPage(frame, {
      hasPassword: false,
      problem: 'last_passkey',
      notice: null,
      passkeys: [passkey],
      passkey: '{}',
      authenticator: null,
      recoveryCodes: 1,
      sessions: [session],
    }),
    authenticator: authenticatorPage(frame, {
      setup: 's',
      secret: 'JBSW Y3DP',
      uri: 'otpauth://x',
      next: null,
      problem: 'wrong',
    }),
    accountApplications: accountApplicationsPage(frame, {
      wish: { search: '', sort: 'connected', descending: true, after: null },
      grants: { lines: [{ ...grant, user: email }], after: 'x' },
      removed: null,
    }),
    policy: policyPage(frame, {
      secondFactor: 'required',
      deviceFlow: true,
      unverifiedPublishers: false,
      only: true,
      applications: [{ id: 'app', name: application, publisher: grant.publisher, allowed: true }],
      add: 'app_none',
      problem: 'unknown',
      saved: false,
    }),
    people: peoplePage(frame, {
      wish: { search: email, sort: 'email', descending: false, after: null },
      people: {
        lines: [{ id: 'usr', email, roles: [application], status: 'invited', createdAt: 0, you: false }],
        after: null,
      },
      addressChanges: 2,
      notice: 'saved',
      who: email,
    }),
    invite: invitePage(frame, { email, roles: [role], problem: 'exists' }),
    inviteTooMany: invitePage(frame, { email, roles: [role], problem: 'too_many' }),
    person: personPage(frame, {
      id: 'usr',
      email,
      status: 'active',
      you: false,
      roles: [role],
      host: null,
      provider: null,
      factors: { password: true, passkeys: 1, authenticator: false },
      problem: 'last_administrator',
    }),
    personTooMany: personPage(frame, {
      id: 'usr',
      email,
      status: 'invited',
      you: false,
      roles: [role],
      host: null,
      provider: null,
      factors: { password: false, passkeys: 0, authenticator: false },
      problem: 'too_many',
    }),
    roles: rolesPage(frame, { roles: [{ ...role, people: 2 }], notice: 'saved' }),
    role: rolePage(frame, {
      id: 'role',
      name: application,
      everything: false,
      scopes: [{ name: 'calendars', title: 'See your calendars', dangerous: true, checked: true }],
      people: 2,
      problem: 'exists',
    }),
    looks: brandingPage(frame, {
      name: application,
      colour: '#0a7d55',
      logo: '/logo',
      problem: { kind: 'format', found: 'GIF' },
      saved: false,
    }),
    refusal: refusalPage(frame, { code: 'stale', requestId: REQUEST_ID, detail: null }),
    noAccount: refusalPage(
      { ...frame, account: null, user: null },
      { code: 'no_account', requestId: REQUEST_ID, detail: null },
    ),
    ...everyDialogPage(frame, application),
    ...everyDeveloperPage(frame, application),
    ...everyOperatorPage(frame, application),
    ...everyAuditPage(frame, application),
    ...everyPageAtHost(frame, application),
    ...everyProviderPage(frame, application),
    ...everyManagePage(frame, application),
  }
}
