/** Console pages for management keys: administrators manage those of their account, operators those of the service. */
import { DEFAULT_LIFETIME_MS, DEFAULT_OVERLAP_MS } from '../../core/manage/key.ts'
import type { Context } from '../../flows/context.ts'
import {
  createConsoleKey,
  isRotatable,
  type KeysOf,
  revokeConsoleKey,
  rotateConsoleKey,
  type ShownKey,
  scopesOffered,
} from '../../flows/manage/console-keys.ts'
import { keyPage, keyShownPage } from '../../pages/manage/key.tsx'
import { type KeysModel, keysPage } from '../../pages/manage/keys.tsx'
import { findKeyOf, listKeysOf } from '../../store/manage/keys.ts'
import type { FormFields } from '../parameters.ts'
import type { PageAnswer, PageHandler, UserRequest } from '../web/answer.ts'
import { checkedNames } from '../web/fields.ts'

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS
const LIFETIME_DAYS = [7, 30, 90, 180, 365]
const OVERLAP_HOURS = [0, 1, 24, 72, 168]
const DEFAULT_DAYS = DEFAULT_LIFETIME_MS / DAY_MS
const DEFAULT_HOURS = DEFAULT_OVERLAP_MS / HOUR_MS

/** So that the page stays within three screens. */
const MAX_LISTED = 20

const PATHS: Readonly<Record<KeysOf, string>> = { account: '/account/keys', service: '/operator/keys' }

const EMPTY: KeysModel['typed'] = { label: '', scopes: [], days: DEFAULT_DAYS, networks: '' }

/** Null: the page does not exist here. No key reaches the operators’ account. */
function reachOf(of: KeysOf, { account, frame }: UserRequest): { readonly accountId: string | null } | null {
  if (of === 'service') return { accountId: null }
  return frame.user?.operator ? null : { accountId: account.id }
}

export const showKeys =
  (of: KeysOf): PageHandler<UserRequest> =>
  (context, request) =>
    listPage(context, request, of, EMPTY, null)

async function listPage(
  context: Context,
  request: UserRequest,
  of: KeysOf,
  typed: KeysModel['typed'],
  problem: KeysModel['problem'],
): Promise<PageAnswer> {
  const reach = reachOf(of, request)
  if (!reach) return { refusal: 'not_found' }
  const found = await listKeysOf(context.db, reach.accountId, MAX_LISTED + 1)
  const model: KeysModel = {
    path: PATHS[of],
    of,
    keys: found.slice(0, MAX_LISTED),
    more: found.length > MAX_LISTED,
    offered: scopesOffered(of),
    lifetimes: LIFETIME_DAYS,
    typed,
    notice: request.fields.get('notice') === 'revoked' ? 'revoked' : null,
    problem,
  }
  return { page: keysPage(request.frame, model), status: problem === null ? 200 : 400 }
}

export const createNewKey =
  (of: KeysOf): PageHandler<UserRequest> =>
  async (context, request) => {
    const { fields, sessionUser } = request
    const label = (fields.get('label') ?? '').trim()
    const scopes = checkedNames(fields, 'scope')
    const days = readChoice(fields, 'days', LIFETIME_DAYS)
    if (days === null) return { refusal: 'invalid_request' }
    const networks = fields.get('networks') ?? ''
    const wish = { label, scopes, networks, lifetimeMs: days * DAY_MS }
    const result = await createConsoleKey(context, of, sessionUser.id, wish)
    if (result.outcome === 'shown') return shown(request, of, result)
    if (result.outcome === 'forbidden') return { refusal: 'forbidden' }
    if (result.outcome === 'invalid') return { refusal: 'invalid_request' }
    return listPage(context, request, of, { label, scopes, days, networks }, result.outcome)
  }

export const showKey =
  (of: KeysOf): PageHandler<UserRequest> =>
  async (context, request) => {
    const reach = reachOf(of, request)
    const key = reach && (await findKeyOf(context.db, reach.accountId, request.fields.get('key') ?? ''))
    if (!key) return { refusal: 'not_found' }
    const choices = { overlaps: OVERLAP_HOURS, overlap: DEFAULT_HOURS, lifetimes: LIFETIME_DAYS, days: DEFAULT_DAYS }
    return { page: keyPage(request.frame, { ...key, ...choices, path: PATHS[of], rotatable: isRotatable(of, key) }) }
  }

export const rotateOneKey =
  (of: KeysOf): PageHandler<UserRequest> =>
  async (context, request) => {
    const { fields, sessionUser } = request
    const days = readChoice(fields, 'days', LIFETIME_DAYS)
    const hours = readChoice(fields, 'overlap', OVERLAP_HOURS)
    if (days === null || hours === null) return { refusal: 'invalid_request' }
    const rotation = { overlapMs: hours * HOUR_MS, lifetimeMs: days * DAY_MS }
    const result = await rotateConsoleKey(context, of, sessionUser.id, fields.get('key') ?? '', rotation)
    if (result.outcome === 'shown') return shown(request, of, result)
    return { refusal: result.outcome === 'invalid' ? 'invalid_request' : result.outcome }
  }

export const revokeOneKey =
  (of: KeysOf): PageHandler<UserRequest> =>
  async (context, { fields, sessionUser }) => {
    const { outcome } = await revokeConsoleKey(context, of, sessionUser.id, fields.get('key') ?? '')
    if (outcome === 'revoked') return { seeOther: `${PATHS[of]}?notice=revoked` }
    return { refusal: outcome === 'invalid' ? 'invalid_request' : outcome }
  }

function shown({ frame }: UserRequest, of: KeysOf, { label, key, expiresAt }: ShownKey): PageAnswer {
  return { page: keyShownPage(frame, { path: PATHS[of], label, key, expiresAt }) }
}

/** Null: none of the choices. */
function readChoice(fields: FormFields, name: string, choices: readonly number[]): number | null {
  return choices.find((each) => String(each) === fields.get(name)) ?? null
}
