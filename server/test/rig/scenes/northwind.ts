/**
 * Northwind Traders: an account with people, roles, applications and grants, so that every page of the web interface has realistic
 * content. Used by tests in real Chromium and for the screenshots of the documentation.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import type { Publisher } from '../../../src/core/applications/application.ts'
import { appliesTo } from '../../../src/core/sign-in/origin.ts'
import { saveBranding } from '../../../src/flows/accounts/branding.ts'
import { disablePerson } from '../../../src/flows/accounts/people.ts'
import type { Registered } from '../../../src/flows/accounts/register.ts'
import { setApplicationPublisher, suspendApplication } from '../../../src/flows/applications/manage.ts'
import { markApplicationChanged } from '../../../src/store/applications/applications.ts'
import { setLogo } from '../../../src/store/applications/logos.ts'
import { askMe, connect } from '../connect.ts'
import { drawLogo, drawOtherLogo } from '../corpora/logo.ts'
import { writeMmdb } from '../corpora/mmdb.ts'
import { createAccount, createRole, createScope, createUser } from '../create.ts'
import { type CodeRecord, post, type WireVariant, whenServed } from '../device.ts'
import { useAuthenticator } from '../factors/second-factor.ts'
import { createSoftPasskey } from '../factors/soft-passkey.ts'
import { codeOf } from '../factors/totp.ts'
import { type MadeApplication, type MadeUser, makeApplication, makeUser } from '../make.ts'
import { startDnsServer } from '../network/dns-server.ts'
import { startMailbox } from '../network/mailbox.ts'
import { USERS_FROM } from '../origins/users-from.ts'
import { startTestService, type TestService } from '../service.ts'
import { unescapeHtml } from '../web.ts'
import { makeOwnApplications, type OwnApplications } from './own-applications.ts'

export const PASSWORD = 'seven green bottles'

/** Addresses for documentation (RFC 5737), each in a different location. */
export const HAMBURG = '203.0.113.9'
export const LISBON = '198.51.100.23'

const SCOPES = [
  { name: 'orders:read', title: 'See orders' },
  { name: 'orders:write', title: 'Change orders' },
  { name: 'stock:read', title: 'See stock levels' },
  { name: 'displays:write', title: 'Decide what the displays show' },
  { name: 'invoices:read', title: 'See invoices' },
  { name: 'payments:write', title: 'Pay invoices', dangerous: true },
]

const ROLES = [
  { name: 'Sales', scopes: ['orders:read', 'orders:write', 'stock:read', 'displays:write'] },
  { name: 'Billing', scopes: ['orders:read', 'stock:read', 'invoices:read', 'payments:write'] },
]

/** One of a verified publisher, one unverified, one of the service itself, one suspended, and one that needs to change orders. */
export type ApplicationName = 'signage' | 'till' | 'mobile' | 'scout' | 'robot'

/** Redirect URIs; the application of the service itself has none. Without a listener. */
export function redirectOf(name: ApplicationName): string {
  return `https://${name}.example/connected`
}

type Ask = {
  readonly variant?: WireVariant
  readonly scope?: string
  readonly from?: string
  /** Self-description of the device. */
  readonly says?: string
}

export type Northwind = {
  readonly service: TestService
  readonly slug: string
  readonly origin: string
  /** An administrator, with a passkey. */
  readonly ann: MadeUser
  /** Has the role Billing, so he cannot change orders. */
  readonly ben: MadeUser
  /** Has the role Sales. */
  readonly dana: MadeUser
  /** Invited; has not signed in yet. */
  readonly erik: MadeUser
  /** Disabled. */
  readonly fay: MadeUser
  /** Has the role Sales, and an authenticator app. */
  readonly gus: MadeUser
  /** Has the role Sales and no connected application. */
  readonly ida: MadeUser
  readonly applications: Readonly<Record<ApplicationName, MadeApplication>>
  /** Two operators and their account. */
  readonly olga: MadeUser
  readonly omar: MadeUser
  readonly operators: string
  /** Registered by Ann in the developer console. */
  readonly own: OwnApplications
  /** Requested by an application before it was suspended. */
  readonly suspendedCode: string
  /** A code of an application, requested from a location. */
  ask(application: MadeApplication, ask?: Ask): Promise<CodeRecord>
  originOf(slug: string): string
  stop(): Promise<void>
}

export async function startNorthwind(
  environment: Record<string, string> = {},
  options: { clock?: boolean } = {},
): Promise<Northwind> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-places-'))
  // A record with a mistake in it.
  const dns = await startDnsServer({ texts: { '_latchkey.northwind.example': ['latchkey-publisher=', 'v=spf1 -all'] } })
  const mailbox = await startMailbox()
  const settings = {
    ...placesIn(folder),
    SMTP_URL: mailbox.url,
    TRUST_PROXY: '127.0.0.1',
    OPERATOR_ACCOUNT: 'operators',
    DNS_SERVERS: dns.address,
  }
  const service = await startTestService({ ...settings, ...environment }, options)
  const { db } = service.context
  const slug = 'northwind'
  done(await createAccount(db, { slug, name: 'Northwind Traders' }))
  await forgetStart(service)
  for (const scope of SCOPES) done(await createScope(db, scope))
  for (const role of ROLES) done(await createRole(db, { ...role, account: slug }))
  const person = (name: string, role: string, password: string | null = PASSWORD): Promise<MadeUser> =>
    makeUser(db, slug, { email: `${name}@northwind.example`, role, password })
  const ann = await person('ann', 'administrator')
  const ben = await person('ben', 'Billing')
  const dana = await person('dana', 'Sales')
  const erik = await person('erik', 'Billing', null)
  const fay = await person('fay', 'Sales')
  const gus = await person('gus', 'Sales')
  const ida = await person('ida', 'Sales')
  const [olga, omar] = await makeOperators(service)
  await saveBranding(service.context, ann.id, { name: 'Northwind Traders', colour: '#0b7a5b', logo: await drawLogo() })
  const applications = await makeApplications(service, slug)
  const own = await makeOwnApplications(service, { by: ann, user: gus })
  const suspendedCode = (await askFor(service, applications.scout)).user_code
  const northwind: Northwind = {
    service,
    slug,
    origin: originOf(service, slug),
    ann,
    ben,
    dana,
    erik,
    fay,
    gus,
    ida,
    olga,
    omar,
    operators: originOf(service, 'operators'),
    applications,
    own,
    suspendedCode,
    ask: (application, ask) => askFor(service, application, ask),
    originOf: (other) => originOf(service, other),
    stop: async () => {
      await service.stop()
      await dns.stop()
      await mailbox.stop()
      removeFolder(folder)
    },
  }
  await connectSome(northwind)
  if (appliesTo(USERS_FROM, 'passkey')) await addPasskey(northwind)
  if (appliesTo(USERS_FROM, 'second_factor')) await addAuthenticator(northwind)
  return northwind
}

async function makeOperators(service: TestService): Promise<readonly [MadeUser, MadeUser]> {
  const { db } = service.context
  const account = 'operators'
  done(await createAccount(db, { slug: account, name: 'Service Operators' }))
  const make = async (name: string): Promise<MadeUser> => {
    const email = `${name}@operators.example`
    const wanted = { account, email, roles: ['administrator'], password: PASSWORD }
    const operator = { ...done(await createUser(db, wanted)), email }
    await useAuthenticator(service, operator)
    return operator
  }
  return [await make('olga'), await make('omar')]
}

/** Removes what startTestService adds: its application and scopes would appear on Northwind's pages. */
async function forgetStart({ database, application }: TestService): Promise<void> {
  await database.query('update applications set deleted_at = now() where id = $1', [application.id])
  await database.query('delete from role_scopes')
  await database.query('delete from scopes')
}

/** Two locations and a network operator, in databases in MaxMind's format. */
function placesIn(folder: string): Record<string, string> {
  const place = (city: Record<string, string>, iso: string, country: Record<string, string>) => ({
    city: { names: city },
    country: { iso_code: iso, names: country },
  })
  const hamburg = place({ en: 'Hamburg', ar: 'هامبورغ' }, 'DE', {
    en: 'Germany',
    de: 'Deutschland',
    es: 'Alemania',
    ar: 'ألمانيا',
  })
  const lisbon = place({ en: 'Lisbon', de: 'Lissabon', es: 'Lisboa', ar: 'لشبونة' }, 'PT', {
    en: 'Portugal',
    ar: 'البرتغال',
  })
  const network = (name: string) => ({ autonomous_system_number: 64_496, autonomous_system_organization: name })
  return {
    GEOIP_CITY_FILE: writeMmdb(join(folder, 'places.mmdb'), [
      ['203.0.113.0/24', hamburg],
      ['198.51.100.0/24', lisbon],
    ]),
    GEOIP_ASN_FILE: writeMmdb(
      join(folder, 'networks.mmdb'),
      [
        ['203.0.113.0/24', network('Elbe Telecom')],
        ['198.51.100.0/24', network('Tejo Hosting')],
      ],
      { type: 'GeoLite2-ASN' },
    ),
  }
}

/** All but the service's own belong to other accounts. */
async function makeApplications(service: TestService, ours: string): Promise<Northwind['applications']> {
  const { db } = service.context
  const makers = 'makers'
  done(await createAccount(db, { slug: makers, name: 'Makers of Applications' }))
  const make = async (
    name: string,
    scopes: readonly string[],
    publisher: Publisher,
    given: { requiredScopes?: string[]; redirectUris?: string[] } = {},
  ) => {
    const wanted = { name, allowedScopes: scopes, defaultScopes: scopes, ...given }
    const account = publisher.status === 'own' ? ours : makers
    const made = await makeApplication(db, service.config, account, wanted)
    done(await setApplicationPublisher(db, made.id, publisher))
    return made
  }
  const acme = { status: 'verified', name: 'acme.example' } as const
  const nobody = { status: 'unverified', name: null } as const
  const back = (name: ApplicationName) => ({ redirectUris: [redirectOf(name)] })
  const shelves = { status: 'unverified', name: 'shelfscout.example' } as const
  const applications = {
    signage: await make('Acme Signage', ['orders:read', 'orders:write', 'displays:write'], acme, back('signage')),
    till: await make('Till Companion', ['orders:read', 'stock:read', 'payments:write'], nobody, back('till')),
    mobile: await make('Northwind Mobile', ['orders:read', 'stock:read'], { status: 'own', name: null }),
    scout: await make('Shelf Scout', ['stock:read'], shelves, back('scout')),
    robot: await make('Packing Robot', ['orders:read', 'orders:write'], acme, {
      requiredScopes: ['orders:write'],
      ...back('robot'),
    }),
  }
  const { id } = applications.signage
  const picture = await drawOtherLogo()
  await db.transaction(async (tx) => {
    await markApplicationChanged(tx, id)
    await setLogo(tx, id, picture)
  })
  await service.context.applications.refresh()
  return applications
}

/** Connected at different times, some of them used; one application is under review. */
async function connectSome(northwind: Northwind): Promise<void> {
  const { service, ann, ben, dana, fay, applications } = northwind
  const { signage, till, mobile, scout } = applications
  const connections = [
    { user: ann, application: scout, scope: 'stock:read', from: LISBON, daysAgo: 96, used: true },
    { user: dana, application: signage, scope: 'orders:read,displays:write', from: HAMBURG, daysAgo: 41, used: true },
    { user: fay, application: mobile, scope: 'orders:read', from: HAMBURG, daysAgo: 33, used: false },
    {
      user: ben,
      application: till,
      scope: 'orders:read,stock:read',
      variant: 'key',
      from: HAMBURG,
      daysAgo: 20,
      used: true,
    },
    {
      user: ann,
      application: signage,
      scope: 'orders:read,orders:write,displays:write',
      variant: 'key',
      from: HAMBURG,
      daysAgo: 12,
      used: true,
    },
    { user: ann, application: mobile, scope: 'orders:read,stock:read', from: HAMBURG, daysAgo: 2, used: false },
  ] as const
  for (const { from, daysAgo, used, ...wish } of connections) {
    const { grantId, credential } = await connect(service, wish)
    if (used) await askMe(service, credential)
    await service.database.query(
      "update grants set created_at = created_at - $2 * interval '1 day', requested_from = $3 where id = $1",
      [grantId, daysAgo, from],
    )
  }
  done(await suspendApplication(service.context.db, scout.id, 'polls much too fast'))
  await service.context.applications.refresh()
  await disablePerson(service.context, ann.id, fay.id)
}

/** As Ann does on the page "Security". */
async function addPasskey({ service, slug, ann, origin }: Northwind): Promise<void> {
  const web = service.web(
    { 'x-forwarded-for': HAMBURG, 'user-agent': 'Version/19.1 Mobile Safari/604.1 (iPhone)' },
    slug,
  )
  await useAuthenticator(service, ann)
  await web.signIn(ann.email, PASSWORD)
  const { text } = await web.get('/security')
  const options = JSON.parse(unescapeHtml(/ options="([^"]*)"/.exec(text)?.[1] ?? ''))
  const answer = createSoftPasskey().create(options, origin)
  const { status, text: shown } = await web.submit('/security/passkeys', { answer, name: 'Work laptop' })
  if (!shown.includes('Work laptop')) throw new Error(`the passkey was not added: ${status}`)
}

/** As Gus does. */
async function addAuthenticator({ service, slug, gus }: Northwind): Promise<void> {
  const web = service.web({}, slug)
  await web.signIn(gus.email, PASSWORD)
  const { text } = await web.get('/security/authenticator')
  const secret = /<bdi class="secret"[^>]*>([A-Z2-7 ]+)</.exec(text)?.[1] ?? ''
  const { status, text: shown } = await web.submit('/security/authenticator', { code: codeOf(secret, Date.now()) })
  if (!shown.includes('class="recovery-codes"')) throw new Error(`the authenticator was not added: ${status}`)
}

async function askFor(service: TestService, application: MadeApplication, ask: Ask = {}): Promise<CodeRecord> {
  const { variant = 'oauth', scope, from = HAMBURG, says = 'Acme-Player/4.2 (living room)' } = ask
  const form = { SVCappid: application.id, SVCsecret: application.secret, ...(scope ? { scope } : {}) }
  const headers = { 'x-forwarded-for': from, 'user-agent': says }
  const answer = await whenServed(() => post(service.address, `/auth/${variant}/device/code`, { form, headers }))
  if (answer.status !== 200) throw new Error(`the code request was answered ${answer.status} ${answer.text}`)
  return answer.body
}

function originOf(service: TestService, slug: string): string {
  return `http://${slug}.${new URL(service.config.publicUrl).host}`
}

function done<T>(result: Registered<T>): T {
  if (result.outcome === 'refused') throw new Error(result.reason)
  return result.value
}
