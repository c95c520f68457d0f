/** A client of the management API for tests, and the keys it needs. */
import { BY_COMMAND_LINE } from '../../src/core/audit/actor.ts'
import { isWithinReach, managementScopes } from '../../src/core/manage/key.ts'
import { createKey, type KeyMaker } from '../../src/flows/manage/keys.ts'
import { problemOfAnswer } from './manage-description.ts'
import type { TestService } from './service.ts'

const DAY_MS = 24 * 60 * 60 * 1000

export function makerOf({ context, config }: Pick<TestService, 'context' | 'config'>): KeyMaker {
  return { db: context.db, keys: config.keys, operatorAccount: config.operatorAccount, actor: BY_COMMAND_LINE }
}

/** `account`: the only account that it reaches. */
export async function makeManagementKey(
  service: Pick<TestService, 'context' | 'config'>,
  given: { account?: string; scopes?: readonly string[]; label?: string; networks?: string } = {},
): Promise<{ id: string; key: string }> {
  const { account = null, label = 'Test', networks = '' } = given
  const every = managementScopes.filter((scope) => isWithinReach(scope, account))
  const wish = { account, label, networks, scopes: given.scopes ?? every, lifetimeMs: DAY_MS }
  const result = await createKey(makerOf(service), wish)
  if (result.outcome === 'refused') throw new Error(result.reason)
  return result.value
}

export type ManageAnswer = {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look into every kind of answer.
  readonly body: any
  readonly headers: Headers
}

export type ManageClient = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<ManageAnswer>

/** Paths are relative to /manage/1, or start with /scim. Throws if the answer is not as the API describes it. */
export function manageClient(address: string, key: string): ManageClient {
  return async (method, path, body, headers = {}) => {
    const url = path.startsWith('/scim/') ? `${address}${path}` : `${address}/manage/1${path}`
    const response = await fetch(url, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const answer = { status: response.status, body: text === '' ? null : JSON.parse(text), headers: response.headers }
    const described = problemOfAnswer(method, new URL(url).pathname, answer.status, answer.body)
    if (described !== null) throw new Error(described)
    return answer
  }
}

let made = 0

/** A new account with an external id of its own, made through the API. */
export async function makeManagedAccount(
  call: ManageClient,
): Promise<{ id: string; slug: string; external_id: string }> {
  made += 1
  const slug = `acme-${made}`
  const { status, body } = await call('POST', '/accounts', { slug, name: 'Acme', external_id: `customer-${slug}` })
  if (status !== 201) throw new Error(`the account was answered ${status}`)
  return body
}
