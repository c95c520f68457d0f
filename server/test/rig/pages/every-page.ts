/**
 * Every page of the web interface with realistic content: all GET routes, and the answers of forms. A new route has to be added
 * here; a test compares this list with the table of routes.
 */
import type { Page } from 'playwright-core'
import { enterUserCode } from '../../../src/flows/device/enter-code.ts'
import { openDialog } from '../../../src/flows/dialog/open.ts'
import { linkAddress } from '../../../src/flows/sign-in/links.ts'
import { createLink } from '../../../src/flows/sign-in/mailed-link.ts'
import { DIALOG, LANGUAGE, STEP } from '../../../src/http/web/cookies.ts'
import { digestBrowserMark, signAccountReference, signDialogReference } from '../../../src/secrets/dialog-texts.ts'
import { markPassword, signDecision, signSecondStep } from '../../../src/secrets/web-texts.ts'
import { saveAddressChange } from '../../../src/store/accounts/address-changes.ts'
import type { LinkKind } from '../../../src/store/sign-in/links.ts'
import { chooseLanguage, signIn } from '../browser/clicks.ts'
import { makePkce } from '../dialog.ts'
import type { MadeApplication, MadeUser } from '../make.ts'
import { makeManagementKey } from '../manage.ts'
import { USERS_FROM } from '../origins/users-from.ts'
import { type ApplicationName, HAMBURG, LISBON, type Northwind, PASSWORD, redirectOf } from '../scenes/northwind.ts'
import { reviewed } from '../scenes/reviewed.ts'

/** The user who views it. */
export type Viewer = 'nobody' | 'ann' | 'ben' | 'ida' | 'olga'

export type RoutePage = {
  /** File name. */
  readonly name: string
  /** Path at the account's host; the whole address on the base host. */
  readonly path: string
  readonly as: Viewer
  /** Shown in the dialog's popup. */
  readonly popup?: true
}

/** Routes that lead to where the users sign in, if that is elsewhere. */
export const AWAY: readonly string[] = USERS_FROM === 'provider' ? ['sign-in-provider'] : []

/** Routes that answer with something else than a page: pictures, and what the script asks for. */
export const NO_PAGES: readonly string[] = [
  'logo',
  'application-logo',
  'operator-application-logo',
  'delivery',
  'security-txt',
  'security-txt-account',
  'change-password',
  ...AWAY,
]

/** With a notice, it is a page also where users sign in at the host service. */
export const SIGN_IN_PAGE = USERS_FROM === 'host' ? '/sign-in?notice=signed_out' : '/sign-in'

export type Viewers = Readonly<Record<Viewer, Page>>

/** One window per viewer in one language, chosen as users choose it; viewers with a name are signed in. */
export async function openViewers(northwind: Northwind, open: () => Promise<Page>, language = 'en'): Promise<Viewers> {
  const { ann, ben, ida, olga } = northwind
  const viewers = {
    nobody: await open(),
    ann: await open(),
    ben: await open(),
    ida: await open(),
    olga: await open(),
  }
  await viewers.nobody.goto(SIGN_IN_PAGE)
  await signIn(viewers.ann, ann)
  await signIn(viewers.ben, ben)
  await signIn(viewers.ida, ida)
  await signIn(viewers.olga, olga, PASSWORD, northwind.operators)
  for (const page of Object.values(viewers)) await chooseLanguage(page, language)
  for (const [viewer, page] of Object.entries(viewers)) {
    const used = viewer === 'nobody' ? {} : { '__Host-accounts': northwind.slug }
    await addCookies(page, northwind.service.config.publicUrl, { [DIALOG]: MARK, [LANGUAGE]: language, ...used })
    await addCookies(page, northwind.origin, { [DIALOG]: MARK })
  }
  await addCookies(viewers.nobody, northwind.origin, { [STEP]: await firstStep(northwind) })
  return viewers
}

/** Proof of a first step in the browser of the viewers, for the page of the second one. */
async function firstStep({ service, slug, gus }: Northwind): Promise<string> {
  const [row] = await service.database.query<{ digest: string }>(
    'select password_digest as digest from users where id = $1',
    [gus.id],
  )
  const step = { userId: gus.id, at: Date.now() + 3_600_000, passwordMark: markPassword(row?.digest ?? '') }
  return signSecondStep(service.config.keys, step, slug, MARK)
}

/** The browser cookie of the dialog, shared by all viewers. */
export const MARK = 'viewers-of-every-page_'

function addCookies(page: Page, url: string, cookies: Readonly<Record<string, string>>): Promise<void> {
  // Chromium sends Secure cookies to every trustworthy origin, but accepts them here only for https.
  const attributes = { url: url.replace('http:', 'https:'), secure: true, httpOnly: true, sameSite: 'Lax' } as const
  return page.context().addCookies(Object.entries(cookies).map(([name, value]) => ({ name, value, ...attributes })))
}

/** The page of every GET route. */
export async function everyRoutePage(northwind: Northwind): Promise<readonly RoutePage[]> {
  const { service, ann, ben, erik, fay, applications } = northwind
  const [role] = await service.database.query<{ id: string }>("select id from roles where name = 'Sales'")
  const [grant] = await service.database.query<{ id: string }>(
    'select id from grants where user_id = $1 and application_id = $2',
    [ann.id, applications.signage.id],
  )
  const key = await makeManagementKey(service, { account: northwind.slug, label: 'Directory', scopes: ['scim'] })
  await changeAddresses(northwind, key.id)
  return [
    ...pages('nobody', {
      logo: '/logo',
      'security-txt-account': '/.well-known/security.txt',
      'change-password': '/.well-known/change-password',
      'application-logo': `/application-logo?application=${applications.signage.id}`,
      'sign-in': SIGN_IN_PAGE,
      'sign-in-code': '/sign-in/code',
      'sign-in-return': '/sign-in/return',
      'sign-in-provider': '/sign-in/provider',
      'sign-in-provider-return': '/sign-in/provider/return',
      recover: '/recover',
      'link-setup': await linkPath(northwind, 'setup', erik),
      'link-invitation': await linkPath(northwind, 'invitation', erik),
      'link-recovery': await linkPath(northwind, 'recovery', ben),
      'link-sign-in': await linkPath(northwind, 'sign_in', ben),
      'link-remove': await linkPath(northwind, 'remove_grant', ann, grant?.id),
      'link-address': await linkPath(northwind, 'address', ben),
      'link-gone': '/link?token=none',
    }),
    ...pages('ben', { 'home-clerk': '/', consent: await decisionPath(northwind, ben, HAMBURG) }),
    ...pages('ida', { 'applications-none': '/applications', 'second-factor': '/second-factor' }),
    ...pages('ann', {
      home: '/',
      confirm: '/confirm?next=%2Fsecurity',
      'enter-code': '/connect/code',
      delivery: '/connect/delivery?ref=none',
      'consent-elsewhere': await decisionPath(northwind, ann, LISBON),
      applications: '/applications',
      'applications-remove': `/applications/remove?grant=${grant?.id}`,
      security: '/security',
      authenticator: '/security/authenticator',
      'account-applications': '/account/applications',
      'account-applications-remove': `/account/applications/remove?grant=${grant?.id}`,
      policy: '/account/policy',
      people: '/account/people',
      invite: '/account/people/invite',
      person: `/account/person?user=${ben.id}`,
      'person-you': `/account/person?user=${ann.id}`,
      'person-invited': `/account/person?user=${erik.id}`,
      'person-disabled': `/account/person?user=${fay.id}`,
      roles: '/account/roles',
      role: `/account/role?role=${role?.id}`,
      'role-new': '/account/role',
      branding: '/account/branding',
      provider: '/account/provider',
      addresses: '/account/people/addresses',
      keys: '/account/keys',
      key: `/account/keys/key?key=${key.id}`,
      audit: '/account/audit',
      'audit-found': '/account/audit?kind=people&from=2026-01-01',
    }),
    ...(await developerPages(northwind)),
    ...(await operatorPages(northwind)),
    ...(await dialogPages(northwind)),
  ]
}

/** Two users change the domain, and another one the name. */
async function changeAddresses({ service, ben, gus, ida }: Northwind, requestedBy: string): Promise<void> {
  const [row] = await service.database.query<{ id: string }>('select account_id as id from users where id = $1', [
    ben.id,
  ])
  const lasting = { accountId: row?.id ?? '', requestedBy, lifetimeMs: 3_600_000 }
  const moved = [gus, ida].map(({ id, email }) => ({ id, email: email.replace(/@.*/, '@northwind-group.example') }))
  for (const { id, email } of [...moved, { id: ben.id, email: 'benedict@northwind-group.example' }])
    await service.context.db.transaction((tx) => saveAddressChange(tx, { ...lasting, userId: id, email }))
}

/** The developer console: applications of the account, one of each kind. */
async function developerPages({ service, own, applications }: Northwind): Promise<readonly RoutePage[]> {
  const { board, shop, counter, trial } = own
  const at = (page: string, { id }: MadeApplication) => `/developer/application${page}?application=${id}`
  const [endpoint] = await service.database.query<{ id: string }>(
    'select id from webhook_endpoints where application_id = $1 and disabled_at is null',
    [shop.id],
  )
  return [
    ...pages('ann', {
      developer: '/developer',
      'developer-new': '/developer/new',
      'developer-application': at('', board),
      'developer-application-full': at('', shop),
      'developer-application-public': at('', counter),
      'developer-application-test-mode': at('', trial),
      'developer-settings': at('/settings', board),
      'developer-publisher': at('/publisher', board),
      'developer-publisher-record': `${at('/publisher', board)}&domain=northwind.example`,
      'developer-publisher-proven': at('/publisher', shop),
      'developer-publisher-said': at('/publisher', applications.mobile),
      'developer-logo': at('/logo', board),
      'developer-logo-shown': at('/logo', shop),
      'developer-preview': `${at('/preview', board)}&by=code`,
      'developer-activity': at('/activity', board),
      'developer-activity-none': at('/activity', applications.mobile),
      'developer-webhooks': at('/webhooks', shop),
      'developer-webhooks-none': at('/webhooks', board),
      'developer-webhook-secret': `${at('/webhooks/secret', shop)}&endpoint=${endpoint?.id}`,
    }),
    ...popups('ann', { 'developer-preview-dialog': `${at('/preview', shop)}&by=dialog` }),
  ]
}

/** The operators' console, at the operators' account. */
async function operatorPages(northwind: Northwind): Promise<readonly RoutePage[]> {
  const { ann, applications, operators, own, service } = northwind
  const [proposal] = await service.database.query<{ version: number }>(
    'select version from application_proposals where application_id = $1',
    [own.shop.id],
  )
  const { fast, reported, settled } = await reviewed(northwind)
  const reading = await makeManagementKey(service, { label: 'Warehouse', scopes: ['audit:read', 'reviews:read'] })
  const writing = await makeManagementKey(service, { label: 'Billing', scopes: ['accounts:write', 'users:write'] })
  const of = ({ id }: MadeApplication) => `/operator/application?application=${id}`
  const paths = {
    operator: '/operator',
    'operator-reviews': '/operator/reviews',
    'operator-reviews-closed': '/operator/reviews?filter=closed',
    'operator-application-profile': of(own.shop),
    'operator-application-vetting': of(own.counter),
    'operator-application-logo': `/operator/application/logo?application=${own.shop.id}&version=${proposal?.version}`,
    'operator-application': of(fast),
    'operator-application-reported': of(reported),
    'operator-application-settled': of(settled),
    'operator-application-quiet': of(applications.mobile),
    'operator-applications': '/operator/applications',
    'operator-applications-none': '/operator/applications?q=nothing+of+that+name',
    'operator-accounts': '/operator/accounts',
    'operator-account': '/operator/account?account=makers',
    'operator-account-own': '/operator/account?account=northwind',
    'operator-search': '/operator/search?q=north',
    'operator-search-none': '/operator/search?q=nothing+of+that+name',
    'operator-grants': `/operator/grants?application=${applications.signage.id}`,
    'operator-person': `/operator/person?user=${ann.id}`,
    'operator-operators': '/operator/operators',
    'operator-scopes': '/operator/scopes',
    'operator-keys': '/operator/keys',
    'operator-key': `/operator/keys/key?key=${reading.id}`,
    'operator-key-writes': `/operator/keys/key?key=${writing.id}`,
    'operator-audit': '/operator/audit',
  }
  const home = { name: 'home-operator', path: `${operators}/`, as: 'olga' } as const
  return [home, ...pages('olga', paths).map((each) => ({ ...each, path: `${operators}${each.path}` }))]
}

/** The dialog from its first page on the base host, and the other pages there. */
async function dialogPages(northwind: Northwind): Promise<readonly RoutePage[]> {
  const { publicUrl } = northwind.service.config
  const { request, question } = await openedDialog(northwind, 'signage')
  const next = encodeURIComponent(question)
  const first = `${publicUrl}/dialog?request=${request}`
  const refused = new URLSearchParams({
    client_id: northwind.applications.signage.id,
    response_type: 'token',
    redirect_uri: redirectOf('signage'),
    state: 'the shop at the harbour',
    code_challenge: makePkce().challenge,
    code_challenge_method: 'S256',
  })
  return [
    ...popups('nobody', {
      'dialog-refused': `${publicUrl}/1/auth/oauth/authorize?${refused}`,
      'dialog-account': first,
      'dialog-sign-in': `/sign-in?next=${next}`,
      'dialog-sign-in-code': `/sign-in/code?next=${next}`,
      'dialog-other-browser': `${publicUrl}/dialog/pass?request=none`,
    }),
    ...popups('ann', {
      'dialog-account-known': first,
      'dialog-consent': question,
      'dialog-enter': `/dialog/enter?request=${request}`,
      'dialog-confirm': `/confirm?next=${next}`,
    }),
    ...popups('ben', { 'dialog-consent-lacking': question }),
    ...pages('nobody', {
      'service-home': `${publicUrl}/`,
      activate: `${publicUrl}/activate`,
      reference: `${publicUrl}/reference`,
      'security-txt': `${publicUrl}/.well-known/security.txt`,
    }),
    ...pages('ann', { 'activate-known': `${publicUrl}/activate` }),
  ]
}

function popups(as: Viewer, paths: Readonly<Record<string, string>>): readonly RoutePage[] {
  return pages(as, paths).map((each) => ({ ...each, popup: true }))
}

/** A dialog opened in a viewer's browser: its cookie on the base host, and the address of its consent page. */
export async function openedDialog(
  { service, slug, applications }: Northwind,
  name: ApplicationName,
): Promise<{ id: string; request: string; question: string }> {
  const { context, config } = service
  const opened = await openDialog(context, {
    applicationId: applications[name].id,
    redirectUri: redirectOf(name),
    responseType: 'code',
    scope: null,
    state: null,
    codeChallenge: makePkce().challenge,
    codeChallengeMethod: 'S256',
    requestedFrom: null,
    responseMode: null,
    resource: null,
    proven: false,
  })
  if (opened.outcome !== 'opened') throw new Error(`the dialog did not open: ${opened.outcome}`)
  const { dialogId: id } = opened
  const visit = signAccountReference(config.keys, id, slug, digestBrowserMark(MARK))
  return { id, request: signDialogReference(config.keys, id, MARK), question: `/dialog?request=${visit}` }
}

function pages(as: Viewer, paths: Readonly<Record<string, string>>): readonly RoutePage[] {
  return Object.entries(paths).map(([name, path]) => ({ name, path, as }))
}

/** Address as in a mail. */
export async function linkPath(
  northwind: Northwind,
  kind: LinkKind,
  user: MadeUser,
  grantId?: string,
): Promise<string> {
  const { context } = northwind.service
  const [row] = await northwind.service.database.query<{ account_id: string }>(
    'select account_id from users where id = $1',
    [user.id],
  )
  const recipient = { id: user.id, accountId: row?.account_id ?? '' }
  const id = await context.db.transaction((tx) => createLink(tx, kind, recipient, grantId ?? null))
  return linkAddress(context, northwind.slug, id).slice(northwind.origin.length)
}

/** The consent page of a code that this user entered. */
async function decisionPath({ service, ask, applications }: Northwind, user: MadeUser, from: string): Promise<string> {
  const { user_code } = await ask(applications.signage, { from })
  const entered = await enterUserCode(service.context, user.id, user_code)
  if (entered.outcome !== 'claimed') throw new Error(`the code was not taken: ${entered.outcome}`)
  return `/connect/decision?ref=${signDecision(service.config.keys, entered.code, user.id)}`
}
