/** The operators' console with something on every page: a suspended application, a proposed profile, a proposed operator. */
import { changeLogo } from '../../../src/flows/applications/logo.ts'
import { setApplicationPublisher } from '../../../src/flows/applications/manage.ts'
import { decideReview } from '../../../src/flows/reviews/decide.ts'
import { readReviewedApplication } from '../../../src/flows/reviews/list.ts'
import { pageRoutes } from '../../../src/http/web/account-routes.ts'
import { drawLogo } from '../corpora/logo.ts'
import { type MadeApplication, type MadeUser, makeAccount, makeApplication, makeUser } from '../make.ts'
import { makeManagementKey } from '../manage.ts'
import { startTestService, type TestService } from '../service.ts'
import { signedFor, signInAs } from '../signed-in.ts'
import type { Web } from '../web.ts'
import { Operators } from './operators.ts'

/** A client in one of the configured networks, and one in none. */
export const INSIDE = { 'x-forwarded-for': '192.0.2.17' }
export const OUTSIDE = { 'x-forwarded-for': '203.0.113.9' }

export const operatorPages = pageRoutes.filter(({ path }) => /^\/operator(\/|$)/.test(path))
export type OperatorPage = (typeof operatorPages)[number]

type Form = Record<string, string>

type Parts = {
  readonly service: TestService
  readonly operators: { readonly id: string; readonly slug: string }
  readonly operator: MadeUser
  readonly application: MadeApplication
  readonly decisionId: string
  readonly managementKeyId: string
}

export class OperatorConsole implements Parts {
  readonly service: TestService
  readonly operators: Parts['operators']
  readonly operator: MadeUser
  readonly application: MadeApplication
  readonly decisionId: string
  readonly managementKeyId: string

  private constructor(parts: Parts) {
    this.service = parts.service
    this.operators = parts.operators
    this.operator = parts.operator
    this.application = parts.application
    this.decisionId = parts.decisionId
    this.managementKeyId = parts.managementKeyId
  }

  static async start(): Promise<OperatorConsole> {
    const service = await startTestService(
      { OPERATOR_ACCOUNT: 'operators', OPERATOR_NETWORKS: '192.0.2.0/24,2001:db8:1::/48', TRUST_PROXY: '127.0.0.1' },
      { clock: true },
    )
    const { db } = service.context
    const operators = await makeAccount(db, { slug: 'operators' })
    const operator = await makeUser(db, 'operators')
    const application = await makeApplication(db, service.config, service.account.slug)
    const decisionId = await suspend(service, operator, application)
    await proposeProfile(service, application)
    await requestReview(service, application)
    await (await Operators.of(service)).propose(await makeUser(db, 'operators'))
    const { id: managementKeyId } = await makeManagementKey(service, { scopes: ['audit:read'] })
    return new OperatorConsole({ service, operators, operator, application, decisionId, managementKeyId })
  }

  /** A browser of the operator, or of another user of the operators' account, in one of the configured networks. */
  signIn(user: MadeUser = this.operator): Promise<Web> {
    return signInAs(this.service, user, { account: this.operators, headers: INSIDE })
  }

  addressOf(route: OperatorPage): string {
    if (route.method !== 'GET') return route.path
    if (route.path === '/operator/search') return `${route.path}?q=${this.application.id}`
    return `${route.path}?application=${this.application.id}&account=${this.service.account.slug}&version=1&user=${this.operator.id}&key=${this.managementKeyId}`
  }

  /** A complete form, signed for this user's session, as if it had been shown. */
  async formFor(user: MadeUser, route: OperatorPage, decision = this.decisionId): Promise<Form | undefined> {
    if (route.method === 'GET') return undefined
    const { seen = '' } = (await readReviewedApplication(this.service.context, this.application.id)) ?? {}
    const about = { application: this.application.id, user: this.service.user.id, key: this.managementKeyId }
    const values: Form = { ...about, kind: 'profile', seen, decision }
    const bound = Object.fromEntries(
      (route.bound ?? []).map((name) => [name, name === 'scope' ? 'orders:read' : (values[name] ?? '')]),
    )
    const free = {
      ...{ reason: 'other', words: 'Taken over.', interval: '30', name: 'taken:over', title: 'Taken over' },
      ...{ label: 'Taken over', 'scope.audit:read': 'on', days: '90', overlap: '0' },
      ...(route.path.endsWith('/decide') ? { decision: 'keep_and_revoke' } : {}),
      ...(route.path.endsWith('/answer') ? { answer: 'approve' } : {}),
    }
    return { ...free, ...(await signedFor(this.service, user, route.path, bound)) }
  }
}

/** A pending change. */
async function proposeProfile({ context, user, database }: TestService, { id }: MadeApplication): Promise<void> {
  await setApplicationPublisher(context.db, id, { status: 'verified', name: 'acme.example' })
  await changeLogo(context, user.id, id, await drawLogo())
  await database.query('update application_proposals set version = 1')
}

/** A vetting to decide. */
async function requestReview({ database }: TestService, { id }: MadeApplication): Promise<void> {
  await database.query('insert into application_vettings (application_id, requested_at) values ($1, now())', [id])
}

/** A decision to withdraw and to confirm. */
async function suspend({ context }: TestService, by: MadeUser, { id }: MadeApplication): Promise<string> {
  const looked = await readReviewedApplication(context, id)
  const wish = { applicationId: id, seen: looked?.seen ?? '', intervalSeconds: null }
  await decideReview(context, by.id, { ...wish, decision: 'keep', reason: 'phishing', words: 'It deceives.' })
  return (await readReviewedApplication(context, id))?.decisions[0]?.id ?? ''
}
