/** An account, a user, a session and an application for every combination of facts: inserted by a few statements. */
import { createHash, randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { OwnTest } from '../../../src/core/grants/granting.ts'
import { networkOf } from '../../../src/core/network.ts'
import { CROWD } from '../../../src/core/sign-in/attempts.ts'
import type { Values } from '../../core/grants/granting-causes.ts'
import { writeMmdb } from '../../rig/corpora/mmdb.ts'
import { CALLBACK } from '../../rig/make.ts'
import type { TestService } from '../../rig/service.ts'

/** `account closed` has no counterpart in the rule: there is no account then. */
export type SceneValues = Omit<Values, 'by' | 'parties'> & { readonly parties: Values['parties'] | 'account closed' }

export type GrantingScene = {
  readonly values: SceneValues
  readonly accountId: string
  readonly slug: string
  readonly userId: string
  readonly sessionId: string
  readonly applicationId: string
  readonly requested: readonly string[]
  readonly held: readonly string[]
  /** Address from which the application asks. */
  readonly requestedFrom: string
}

export const VIEWER = '198.51.100.7'

const FROM = {
  same: '198.51.100.9',
  other_country: '203.0.113.9',
  other_network: '192.0.2.9',
  // IPv6, which cannot be compared with the viewer's address.
  unknown: '2001:db8::9',
} as const

/** Settings of the service. */
export function placesOf(name: string): Record<string, string> {
  const country = (code: string) => ({ country: { iso_code: code } })
  const entries = [['198.51.100.0/24', country('PT')] as const, ['203.0.113.0/24', country('DE')] as const]
  return { CODE_GRANT_LIMIT: '2', GEOIP_CITY_FILE: writeMmdb(join(tmpdir(), `${name}-${process.pid}.mmdb`), entries) }
}

/** Of the test secret; in SQL, `sha256(id::bytea)`. */
const digestOf = (applicationId: string) => createHash('sha256').update(applicationId).digest()

/** The test mode that is on where the facts say so. */
export function ownTestOf({ applicationId, userId }: GrantingScene): OwnTest {
  const test = { userId, secret: { keyId: 1, digest: digestOf(applicationId) }, endsAt: Date.now() + 3_600_000 }
  return { kind: 'test', applicationId, test }
}

export const PLAIN_SCOPES = ['orders:read', 'orders:write', 'orders:pay', 'orders:erase']

function sceneOf(values: SceneValues, index: number): GrantingScene {
  const id = String(index).padStart(12, '0')
  // Required, and dangerous where the facts say so.
  const required = values.dangerous === 'yes' ? 'orders:erase' : 'orders:pay'
  const requested = ['orders:read', 'orders:write', required]
  const held = { all: requested, some: ['orders:read', required], 'not the required': ['orders:read'], none: [] }
  return {
    values,
    ...{ accountId: `acc_${id}`, slug: `scene-${index}`, userId: `usr_${id}`, applicationId: `app_${id}` },
    ...{ sessionId: randomUUID(), requested, held: held[values.holds], requestedFrom: FROM[values.origin] },
  }
}

/** Everything of the facts but what would keep the application from asking, and the user from entering the code. */
export async function insertScenes(service: TestService, all: readonly SceneValues[]): Promise<GrantingScene[]> {
  const scenes = all.map(sceneOf)
  const fill = async (table: string, rows: readonly Record<string, unknown>[]) => {
    const columns = Object.keys(rows[0] ?? {}).join(', ')
    const from = `jsonb_populate_recordset(null::${table}, $1)`
    if (rows.length > 0) {
      await service.database.query(`insert into ${table} (${columns}) select ${columns} from ${from}`, [
        JSON.stringify(rows),
      ])
    }
  }
  const inserts = <Row extends Record<string, unknown>>(table: string, row: (scene: GrantingScene) => readonly Row[]) =>
    fill(table, scenes.flatMap(row))
  const at = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString()
  const created_at = at(-1)
  const roleOf = ({ userId }: GrantingScene) => userId.replace('usr', 'rol')
  const where = ({ accountId, userId, applicationId }: GrantingScene) => {
    return { account_id: accountId, user_id: userId, application_id: applicationId }
  }

  await inserts('accounts', ({ accountId: id, slug }) => [{ id, slug, name: slug, created_at }])
  await inserts('roles', (scene) => [
    { id: roleOf(scene), account_id: scene.accountId, name: 'clerk', holds_every_scope: false, created_at },
  ])
  await inserts('role_scopes', (scene) => scene.held.map((scope) => ({ role_id: roleOf(scene), scope })))
  await inserts('users', ({ userId: id, accountId: account_id, slug }) => [
    { id, account_id, email: `ann@${slug}.example`, origin: 'own', permissions: [], created_at },
  ])
  await inserts('user_roles', (scene) => [{ user_id: scene.userId, role_id: roleOf(scene), granted_at: created_at }])
  await inserts('sessions', ({ sessionId: id, accountId: account_id, userId: user_id, values }) => [
    {
      ...{ id, account_id, user_id, key_id: service.config.keys.signing.id, second_factor: true, amr: [] },
      ...{ created_at, last_used_at: created_at, expires_at: at(600) },
      authenticated_at: values.signedIn === 'long ago' ? at(-1_440) : created_at,
    },
  ])
  await inserts('applications', ({ applicationId: id, requested, values }) => [
    {
      ...{
        id,
        account_id: service.account.id,
        name: `App ${id}`,
        created_at,
        change_number: 1_000_000 + Number(id.slice(4)),
      },
      ...{ allowed_scopes: requested, default_scopes: [], required_scopes: requested.slice(2), device_flow: true },
      ...{ redirect_uris: [CALLBACK], public_client: true, pkce_required: true, resource_server: false },
      publisher_status: values.publisher,
      publisher: values.publisher === 'verified' ? 'acme.example' : null,
    },
  ])
  await inserts('application_vettings', ({ applicationId, values }) =>
    values.unvetted === 'no' ? [] : [{ application_id: applicationId, outside_grants: 100 }],
  )
  await inserts('grants', (scene) => {
    const gone = { revoked_at: created_at, revocation_reason: 'removed_by_user' }
    const rest = { variant: 'token_set', scopes: [], key_id: 1, first_of_user: true }
    const defaults = { generation: 1, used_generation: 1, key_generation: 1 }
    const grant = (number: number, about: object) => ({
      id: scene.applicationId.replace('app_', `grt_${String(number).padStart(8, '0')}`),
      ...{ secret: randomUUID(), device_code_id: randomUUID(), created_at },
      ...{ ...where(scene), ...gone, ...rest, ...defaults, ...about },
    })
    const elsewhere = { application_id: service.application.id, created_at: at(0) }
    return [
      ...(scene.values.unvetted === 'counted' ? [grant(0, {})] : []),
      ...(scene.values.signedIn === 'many grants ago' ? [grant(1, elsewhere), grant(2, elsewhere)] : []),
    ]
  })
  await inserts('application_test_modes', ({ applicationId: application_id, userId: user_id, values }) => {
    const row = { application_id, user_id, key_id: 1, digest: `\\x${digestOf(application_id).toString('hex')}` }
    return values.testMode === 'over' ? [{ ...row, started_at: at(-60), ends_at: at(-1) }] : []
  })
  // With the user, who enters the code as well, as many as are a crowd.
  const crowd = Array.from({ length: CROWD.max - 1 }, (_, n) => `usr_${String(n).padStart(12, 'c')}`)
  const account_id = service.account.id
  await fill(
    'users',
    crowd.map((id) => ({ id, account_id, email: `${id}@crowd.example`, origin: 'own', permissions: [], created_at })),
  )
  await inserts('code_entries', ({ applicationId: application_id, requestedFrom, values }) => {
    const entry = { at: created_at, outcome: 'claimed', application_id, requested_network: networkOf(requestedFrom) }
    return values.others === 'a crowd' ? crowd.map((user_id) => ({ account_id, user_id, ...entry })) : []
  })
  return scenes
}

/** The rest: what prevents entering a code as well. */
export async function preventEntry({ database }: TestService, scenes: readonly GrantingScene[]): Promise<void> {
  const change = (sql: string, idOf: (scene: GrantingScene) => string, applies: (values: SceneValues) => boolean) => {
    const ids = scenes.filter(({ values }) => applies(values)).map(idOf)
    return database.query(sql, [ids])
  }
  const account = ({ accountId }: GrantingScene) => accountId
  const application = ({ applicationId }: GrantingScene) => applicationId
  const accounts = (set: string, applies: (values: SceneValues) => boolean) =>
    change(`update accounts set ${set} where id = any($1)`, account, applies)
  const applications = (set: string, applies: (values: SceneValues) => boolean) =>
    change(`update applications set ${set} where id = any($1)`, application, applies)
  await accounts('device_flow = false', ({ policy }) => policy === 'no codes')
  await accounts("only_applications = '{app_other}'", ({ policy }) => policy === 'others listed')
  await accounts('unverified_publishers = false', ({ policy }) => policy === 'verified only')
  await accounts('closed_at = now()', ({ parties }) => parties === 'account closed')
  await applications('deleted_at = now()', ({ parties }) => parties === 'application deleted')
  await applications('suspended_at = now()', ({ suspended }) => suspended === 'yes')
  await change(
    'update users set disabled_at = now() where id = any($1)',
    ({ userId }) => userId,
    ({ parties }) => parties === 'user disabled',
  )
  await change(
    `insert into application_test_modes (application_id, user_id, key_id, digest, started_at, ends_at)
     select id, 'usr_' || right(id, 12), 1, sha256(id::bytea), now(), now() + interval '1 hour' from unnest($1::text[]) id`,
    application,
    ({ testMode }) => testMode === 'on',
  )
}
