/**
 * Common part of all endpoints of the management API: authentication, lookup of the account, `Idempotency-Key`, dry run
 * and `If-Match`. Each endpoint adds a function that calls one flow and renders the outcome. docs/management.md.
 */
import { hash } from 'node:crypto'
import type { ManagementScope } from '../../core/manage/key.ts'
import { MissingScope } from '../../core/manage/missing-scope.ts'
import { networkOf } from '../../core/network.ts'
import { Refusal, type RefusalCode } from '../../core/refusal.ts'
import { type ByCaller, type Caller, isCommandLine } from '../../flows/accounts/administrator.ts'
import type { Context } from '../../flows/context.ts'
import { authenticateKey, countRefusedKey, findManagedAccount } from '../../flows/manage/authenticate.ts'
import { makeChange } from '../../flows/manage/change.ts'
import { type Account, lockAccount } from '../../store/accounts/accounts.ts'
import type { Answer } from '../answer.ts'
import { insufficientScope, invalidCredential, readBearer } from '../grants/bearer.ts'
import type { Operation } from '../openapi/operation.ts'
import type { ApiRequest, Endpoint, Method } from '../route.ts'
import { boolean, optional, type Properties, text } from '../schema.ts'

/** Representation of a resource, as it is written to the response. */
export type Resource = Readonly<Record<string, unknown>>

export type Asked = {
  /** For changes: every flow joins the transaction of the request. */
  readonly context: Context
  readonly request: ApiRequest
  readonly caller: Caller
  readonly dryRun: boolean
}

/** With the account that the path names. */
export type AskedOfAccount = Asked & { readonly account: Account; readonly by: ByCaller }

/** Only a single `resource` has a version (`ETag`); lists have none. */
export type Outcome =
  | { readonly status: 200 | 201; readonly resource: Resource; readonly secret?: Resource }
  | { readonly status: 200; readonly list: Resource }
  | { readonly status: 204 }

/** What differs between the management API and SCIM. */
export type Style = {
  readonly dialect: 'manage' | 'scim'
  readonly render: (outcome: Outcome, dryRun: boolean) => Answer
}

type Described = Omit<Operation, 'security' | 'refusals'> & { readonly refusals?: readonly RefusalCode[] }

type Given = {
  readonly method: Method
  readonly path: string
  readonly scope: ManagementScope
  readonly operation: Described
}

const MANAGE: Style = { dialect: 'manage', render: renderManaged }

export type ManagementEndpoint = Endpoint & {
  /** Trusts the caller, without authentication: in `handler` it is the key of the request, in in-process.ts the command line. */
  readonly perform: (context: Context, request: ApiRequest, caller: Caller) => Promise<Answer>
}

/** An endpoint of the whole service. */
export function endpoint(
  given: Given & { readonly handle: (asked: Asked) => Promise<Outcome> },
  style = MANAGE,
): ManagementEndpoint {
  return build(given, style, given.handle)
}

export type AccountGiven = Given & {
  readonly handle: (asked: AskedOfAccount) => Promise<Outcome>
  /** The resource before the change, whose version `If-Match` names. Throws a Refusal if there is none. */
  readonly current?: (asked: AskedOfAccount) => Promise<Resource>
}

/** An endpoint of one account, which the path names. */
export function accountEndpoint(given: AccountGiven, style = MANAGE): ManagementEndpoint {
  return build(given, style, async (asked) => {
    const { caller } = asked
    const name = asked.request.segments.account ?? caller.accountId ?? ''
    const found = await findManagedAccount(asked.context, caller, name)
    // Changes of one account wait here, so that the version which If-Match names is the current one.
    const account = found && given.method !== 'GET' ? await lock(asked.context, found) : found
    if (!account) throw noAccount(asked, name)
    const inAccount = { ...asked, account, by: { ...caller, accountId: account.id } }
    if (given.current) checkVersion(asked.request, await given.current(inAccount))
    return given.handle(inAccount)
  })
}

function noAccount({ context, request, caller }: Asked, name: string): Refusal {
  if (isCommandLine(caller)) return new Refusal('not_found', `There is no account "${name}".`)
  countRefusedKey(context, { ...caller, id: caller.actor.id }, request.address(), 'account')
  return new Refusal('not_found', 'The key reaches no such account.')
}

function lock(context: Context, { id }: Account): Promise<Account | null> {
  return context.db.transaction((tx) => lockAccount(tx, id))
}

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/

const changeHeaders = {
  'Idempotency-Key': optional(
    text(
      'Names the request. If the answer is lost, repeat it with the same value within a day: nothing is done twice.',
      {
        examples: ['4f1c2a7e-order-17'],
      },
    ),
  ),
}

const versionHeaders = {
  'If-Match': optional(text('The `ETag` of what you read. If it was changed since, the change is refused.')),
}

const dryRunQuery = {
  dry_run: optional(boolean('Check everything and answer as usual, but change nothing. Secrets are left out.')),
}

const etag = { ETag: optional(text('The version, for `If-Match`.')) }

function build(given: Given, style: Style, handle: (asked: Asked) => Promise<Outcome>): ManagementEndpoint {
  const { method, path, scope, operation } = given
  const perform: ManagementEndpoint['perform'] = async (context, request, caller) => {
    if (method === 'GET') return style.render(await handle({ context, request, caller, dryRun: false }), false)
    const outcome = await change(context, request, caller, `${method} ${path}`, handle)
    return style.render(outcome, isDryRun(request))
  }
  return {
    method,
    path,
    dialect: style.dialect,
    perform,
    handler: (context, request) => authenticateAndPerform(context, request, scope, perform),
    operation: {
      ...operation,
      description: `${operation.description}\n\nScope: \`${scope}\`.`,
      security: ['managementKey'],
      path: { ...segmentsOf(path), ...operation.path },
      query: { ...operation.query, ...(method === 'GET' ? {} : dryRunQuery) },
      headers: { ...operation.headers, ...headersOf(given) },
      answers: withVersions(operation.answers),
      refusals: [
        'invalid_request',
        'invalid_credential',
        'insufficient_scope',
        ...(operation.refusals ?? []),
        'unavailable',
      ],
    },
  }
}

function headersOf(given: Given): Properties {
  if (given.method === 'POST') return changeHeaders
  return 'current' in given ? versionHeaders : {}
}

function segmentsOf(path: string): Properties {
  const names = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => name ?? '')
  return Object.fromEntries(names.map((name) => [name, text(SEGMENTS[name] ?? 'Its id.')]))
}

const SEGMENTS: Readonly<Record<string, string>> = {
  account: 'Id or slug of the account.',
  scope: 'Name of the scope.',
}

function withVersions(answers: Operation['answers']): Operation['answers'] {
  const made = Object.entries(answers).map(([status, answer]) => {
    const versioned = answer.body?.properties.id !== undefined
    return [status, versioned ? { ...answer, headers: { ...etag, ...answer.headers } } : answer]
  })
  return Object.fromEntries(made)
}

async function authenticateAndPerform(
  context: Context,
  request: ApiRequest,
  scope: ManagementScope,
  perform: ManagementEndpoint['perform'],
): Promise<Answer> {
  const presented = readBearer(request)
  const authenticated = await authenticateKey(context, presented, scope, request.address())
  if (authenticated.outcome === 'insufficient_scope') return lacking(new MissingScope(scope))
  if (authenticated.outcome !== 'accepted') {
    const message = 'The management key is missing, unknown, expired or revoked, or is not accepted from this network.'
    return { ...invalidCredential(presented), message }
  }
  const { caller } = authenticated
  const { id } = caller.actor
  // Same fair queue as for new codes, with each key as a group: a busy key does not delay other keys.
  const answer = await context.load
    .enqueue({ applicationId: id, network: id }, () => perform(context, request, caller))
    .catch((error: unknown): Answer => {
      if (!(error instanceof MissingScope)) throw error
      countRefusedKey(context, { ...caller, id }, request.address(), error.scope)
      return lacking(error)
    })
  return answer === 'shed' ? { refusal: 'unavailable', retryAfterSeconds: 1 } : answer
}

function lacking({ scope, message }: MissingScope): Answer {
  return { ...insufficientScope([scope]), message }
}

async function change(
  context: Context,
  request: ApiRequest,
  caller: Caller,
  route: string,
  handle: (asked: Asked) => Promise<Outcome>,
): Promise<Outcome> {
  const idempotencyKey = route.startsWith('POST ') ? readIdempotencyKey(request) : null
  const content = JSON.stringify([route, request.segments, request.json()])
  const dryRun = isDryRun(request)
  const wished = { actor: caller.actor, network: networkOf(request.address()), idempotencyKey, content, dryRun }
  const changed = await makeChange(context, wished, (inside) => handle({ context: inside, request, caller, dryRun }))
  if (changed.outcome === 'done') return changed.value
  throw new Refusal(
    'conflict',
    changed.outcome === 'other_request'
      ? 'The Idempotency-Key was used for another request.'
      : 'The request was done before; its answer is no longer readable.',
  )
}

function readIdempotencyKey(request: ApiRequest): string | null {
  const given = request.header('idempotency-key')
  if (given === null || IDEMPOTENCY_KEY.test(given)) return given
  throw new Refusal('invalid_request', 'An Idempotency-Key has 1 to 255 printable ASCII characters without spaces.')
}

function isDryRun(request: ApiRequest): boolean {
  const given = request.parameters().get('dry_run')
  if (given === undefined || given === 'false') return false
  if (given === 'true') return true
  throw new Refusal('invalid_request', 'dry_run is true or false.')
}

/** Version of a resource: a digest of everything that is shown of it. */
export function versionOf(resource: Resource): string {
  return `"${hash('sha256', JSON.stringify(resource), 'base64url').slice(0, 22)}"`
}

function checkVersion(request: ApiRequest, resource: Resource): void {
  const wanted = request.header('if-match')
  if (wanted === null || wanted.trim() === '*') return
  const tags = wanted.split(',').map((tag) => tag.trim())
  if (!tags.includes(versionOf(resource))) throw new Refusal('precondition_failed')
}

function renderManaged(outcome: Outcome, dryRun: boolean): Answer {
  const note = dryRun ? { dry_run: true } : {}
  if (!('resource' in outcome)) {
    return 'list' in outcome ? { status: 200, json: outcome.list } : { status: 204, json: null }
  }
  const { status, resource, secret } = outcome
  const json = { ...resource, ...(dryRun ? note : secret) }
  return { status, json, headers: { etag: versionOf(resource) } }
}
