/**
 * The dialog without a real browser: keeps cookies per host, and plays the application that opened it. Tests in real
 * Chromium are in server/test/browser/; this one is for the many small cases.
 */
import { createHash, randomBytes } from 'node:crypto'
import { post, type WireAnswer } from './device.ts'
import { CALLBACK, type MadeApplication, type MadeUser, makeApplication } from './make.ts'
import { elsewhereAt } from './origins/users-from.ts'
import type { TestService } from './service.ts'
import { signInAs } from './signed-in.ts'
import { formFields, nextLocation, type Page, Web } from './web.ts'
import { eventKinds, grantsOf, mailsOf } from './witness.ts'

export type Pkce = { readonly verifier: string; readonly challenge: string }

export function makePkce(): Pkce {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

/** An application with a dialog; without a device flow, so that nothing else leads to its grants. */
export function makeDialogApplication(
  service: TestService,
  given: Parameters<typeof makeApplication>[3] = {},
): Promise<MadeApplication> {
  const { context, config, account } = service
  const wish = { deviceFlow: false, redirectUris: [CALLBACK], ...given }
  return makeApplication(context.db, config, account.slug, wish).then(async (application) => {
    await context.applications.refresh()
    return application
  })
}

/** State of a window: the page it shows, and the address outside our hosts that it would have gone to. */
export type WindowState = { readonly page: Page; readonly url: URL; readonly left: URL | null }

/** One browser: follows redirects from host to host, keeps each host's cookies, and stops at the redirect URI. */
export class DialogWindow {
  readonly service: TestService
  private readonly webs = new Map<string, Web>()

  constructor(service: TestService) {
    this.service = service
  }

  get base(): Web {
    return this.at(new URL(this.service.config.publicUrl).host)
  }

  get account(): Web {
    return this.at(`${this.service.account.slug}.${new URL(this.service.config.publicUrl).host}`)
  }

  at(host: string): Web {
    const known = this.webs.get(host)
    if (known) return known
    const web = new Web(this.service.address, host)
    this.webs.set(host, web)
    return web
  }

  /** Signed in at the account before the dialog is opened. */
  async signIn(user: MadeUser): Promise<this> {
    this.webs.set(this.account.host, await signInAs(this.service, user))
    return this
  }

  /** Whether the user is asked to sign in: here, or where they come from. */
  isAtSignIn({ url, page, left }: WindowState): boolean {
    if (left !== null) return left.href.startsWith(`${this.service.config.signInUrl}?`)
    return url.pathname === '/sign-in' && page.status === 200
  }

  /** On that page. */
  async signInHere({ email }: MadeUser, password: string): Promise<WindowState> {
    if (!elsewhereAt(this.account.host)) return this.submit(this.account, '/sign-in', { email, password })
    return this.go((await this.account.authenticateElsewhere(email)).href)
  }

  async go(address: string): Promise<WindowState> {
    const url = new URL(address)
    return this.follow(url, await this.at(url.host).send('GET', url.pathname + url.search))
  }

  /** Submits the form with this action on the page that the host showed last. */
  async submit(web: Web, action: string, values: Record<string, string>): Promise<WindowState> {
    const page = await web.send('POST', action, { ...formFields(web.last?.text ?? '', action), ...values })
    return this.follow(new URL(action, web.origin), page)
  }

  async follow(from: URL, first: Page): Promise<WindowState> {
    let [url, page] = [from, first]
    for (let hops = 0; hops < 10; hops += 1) {
      const to = nextLocation(page)
      if (to === null) break
      url = new URL(to, url)
      if (!this.isOurs(url)) return { page, url, left: url }
      page = await this.at(url.host).send('GET', url.pathname + url.search)
    }
    return { page, url, left: null }
  }

  private isOurs(url: URL): boolean {
    const { host } = new URL(this.service.config.publicUrl)
    return url.host === host || url.host.endsWith(`.${host}`)
  }
}

export type DialogWish = {
  readonly application: MadeApplication
  readonly user?: MadeUser
  readonly parameters?: Record<string, string>
  readonly path?: string
}

export function dialogAddress(service: TestService, { application, parameters = {}, path }: DialogWish): string {
  const query = new URLSearchParams({
    client_id: application.id,
    response_type: 'code',
    redirect_uri: CALLBACK,
    ...parameters,
  })
  return `${service.config.publicUrl}${path ?? '/1/auth/oauth/authorize'}?${query}`
}

/** From the application's link to the consent page, for a signed-in user. */
export async function openQuestion(
  service: TestService,
  wish: DialogWish,
): Promise<{ window: DialogWindow; at: WindowState }> {
  const window = await new DialogWindow(service).signIn(wish.user ?? service.user)
  await window.go(dialogAddress(service, wish))
  return { window, at: await window.submit(window.base, '/dialog', { typed: service.account.slug }) }
}

export type Allowed = { readonly code: string; readonly pkce: Pkce; readonly returned: URL }

/** The user grants; returns the parameters of the redirect. */
export async function allow(service: TestService, wish: DialogWish): Promise<Allowed> {
  const pkce = makePkce()
  const challenge = { code_challenge: pkce.challenge, code_challenge_method: 'S256' }
  const { window } = await openQuestion(service, { ...wish, parameters: { ...challenge, ...wish.parameters } })
  const { left, page } = await window.submit(window.account, '/dialog/decision', { decision: 'allow' })
  if (!left) throw new Error(`the dialog did not return: ${page.status} ${page.text.slice(0, 400)}`)
  return { code: left.searchParams.get('code') ?? '', pkce, returned: left }
}

/** Exchange by the application's server, in the native dialect. */
export function exchange(
  service: TestService,
  application: MadeApplication,
  { code, pkce }: Pick<Allowed, 'code' | 'pkce'>,
  given: Record<string, string> = {},
): Promise<WireAnswer> {
  const by = { SVCappid: application.id, ...(application.secret === '' ? {} : { SVCsecret: application.secret }) }
  const form = { ...by, code, redirect_uri: CALLBACK, code_verifier: pkce.verifier, ...given }
  return post(service.address, '/auth/oauth/token', { form })
}

export function refresh(
  service: TestService,
  application: MadeApplication,
  refreshToken: string,
  given: Record<string, string> = {},
): Promise<WireAnswer> {
  const by = { SVCappid: application.id, ...(application.secret === '' ? {} : { SVCsecret: application.secret }) }
  return post(service.address, '/auth/oauth/refresh', { form: { ...by, refresh_token: refreshToken, ...given } })
}

/** Rows of one user's dialogs with one application, in order. */
export type DialogTrace = {
  readonly dialogs: readonly ('open' | 'denied' | 'allowed' | 'used')[]
  /** Null while the grant is live, otherwise the reason of its revocation. */
  readonly grants: readonly (string | null)[]
  readonly events: readonly string[]
  readonly mails: readonly string[]
}

/** Make application and user for the one test: undecided dialogs belong to no user. */
export async function traceOf(
  service: TestService,
  application: MadeApplication,
  user: MadeUser,
): Promise<DialogTrace> {
  const dialogs = await service.database.query<{ status: DialogTrace['dialogs'][number] }>(
    `select case when used_at is not null then 'used' when decided_at is null then 'open'
       when grant_id is null then 'denied' else 'allowed' end as status
     from dialogs where application_id = $1 order by created_at`,
    [application.id],
  )
  const grants = await grantsOf(service, user)
  return {
    dialogs: dialogs.map(({ status }) => status),
    grants: grants.filter((each) => each.application_id === application.id).map((each) => each.revocation_reason),
    events: await eventKinds(service, { user }),
    mails: await mailsOf(service, user),
  }
}

/** Resolves when the outcome of every sent token set is saved, which is a moment after its answer. */
export async function allSettled({ database }: TestService): Promise<void> {
  for (let look = 0; look < 500; look += 1) {
    const sending = await database.query('select from dialogs where lease_id is not null and used_at is null')
    if (sending.length === 0) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error('an exchange was never settled')
}
