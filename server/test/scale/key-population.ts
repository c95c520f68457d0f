/** Applications, grants, authenticators and sessions in bulk, all made with one key: rows as the service writes them. */
import { randomUUID } from 'node:crypto'
import { createApplicationSecret, digestApplicationSecret } from '../../src/secrets/application-secret.ts'
import { type GrantWithSecret, makeAccessKey, makeTokenSet } from '../../src/secrets/credentials.ts'
import type { Keyset } from '../../src/secrets/keyset.ts'
import { createGrantId, createGrantSecret, createId } from '../../src/secrets/random.ts'
import { signSession } from '../../src/secrets/web-texts.ts'
import type { TestDatabase } from '../rig/engines/database.ts'
import type { MadeApplication } from '../rig/make.ts'

export type Sizes = { readonly applications: number; readonly grants: number; readonly authenticators: number }

/** What a device or a browser holds; it changes when it is renewed. */
export type HeldTokenSet = { readonly by: MadeApplication; access: string; refresh: string }
export type HeldKey = { readonly by: MadeApplication; key: string }
export type HeldSession = { cookie: string }

export type Population = {
  readonly applications: readonly MadeApplication[]
  readonly tokenSets: readonly HeldTokenSet[]
  readonly accessKeys: readonly HeldKey[]
  readonly sessions: readonly HeldSession[]
  /** Users with an authenticator. */
  readonly userIds: readonly string[]
}

const CHUNK = 5_000

/** So many users are signed in. */
const SESSIONS = 1_000

export type Given = {
  readonly database: Pick<TestDatabase, 'query'>
  readonly keys: Keyset
  readonly account: { readonly id: string; readonly slug: string }
  /** Owns every grant. */
  readonly userId: string
  readonly accessTokenLifetimeMs: number
}

export async function populate(given: Given, sizes: Sizes): Promise<Population> {
  const applications = await addApplications(given, sizes.applications)
  const userIds = await addUsers(given, sizes.authenticators)
  const sessions = await addSessions(given, userIds.slice(0, SESSIONS))
  const tokenSets: HeldTokenSet[] = []
  const accessKeys: HeldKey[] = []
  for (let from = 0; from < sizes.grants; from += CHUNK) {
    await addGrants(given, applications, Math.min(CHUNK, sizes.grants - from), { tokenSets, accessKeys })
  }
  await given.database.query('analyze')
  return { applications, tokenSets, accessKeys, sessions, userIds }
}

async function addApplications({ database, keys, account }: Given, count: number): Promise<MadeApplication[]> {
  const made = Array.from({ length: count }, () => ({ id: createId('app'), secret: createApplicationSecret() }))
  for (let from = 0; from < count; from += CHUNK) {
    const chunk = made.slice(from, from + CHUNK)
    const ids = chunk.map(({ id }) => id)
    await database.query(
      `insert into applications (id, account_id, name, allowed_scopes, default_scopes, required_scopes, device_flow, created_at, change_number)
       select id, $2, 'Application ' || id, '{orders:read}', '{orders:read}', '{}', true, now(), nextval('application_changes')
       from unnest($1::text[]) id`,
      [ids, account.id],
    )
    await database.query(
      `insert into application_secrets (id, application_id, key_id, digest, created_at)
       select id, application_id, $4, digest, now() from unnest($1::text[], $2::text[], $3::bytea[]) as s(id, application_id, digest)`,
      [
        chunk.map(() => createId('sec')),
        ids,
        chunk.map(({ secret }) => digestApplicationSecret(keys, secret)),
        keys.signing.id,
      ],
    )
  }
  return made
}

async function addUsers({ database, keys, account }: Given, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => createId('usr'))
  await database.query(
    `with added as (
       insert into users (id, account_id, email, created_at)
       select id, $2, id || '@acme.example', now() from unnest($1::text[]) id returning id)
     insert into authenticators (user_id, id, key_id, last_step, created_at)
     select id, gen_random_uuid(), $3, 0, now() from added`,
    [ids, account.id, keys.signing.id],
  )
  return ids
}

async function addSessions({ database, keys, account }: Given, userIds: readonly string[]): Promise<HeldSession[]> {
  const ids = userIds.map(() => randomUUID())
  await database.query(
    `insert into sessions (id, account_id, user_id, key_id, second_factor, created_at, authenticated_at, last_used_at, expires_at)
     select id, $3, user_id, $4, true, now(), now(), now(), now() + interval '1 day'
     from unnest($1::uuid[], $2::text[]) as s(id, user_id)`,
    [ids, userIds, account.id, keys.signing.id],
  )
  return ids.map((id) => ({ cookie: signSession(keys, id, account.slug) }))
}

async function addGrants(
  { database, keys, account, userId, accessTokenLifetimeMs }: Given,
  applications: readonly MadeApplication[],
  count: number,
  held: { readonly tokenSets: HeldTokenSet[]; readonly accessKeys: HeldKey[] },
): Promise<void> {
  const [clock] = await database.query<{ now: Date }>("select date_trunc('milliseconds', now()) as now")
  const now = clock?.now.getTime() ?? 0
  const grants = Array.from({ length: count }, (_, index) => {
    const by = applications[index % applications.length] ?? { id: '', secret: '' }
    const grant: GrantWithSecret = {
      id: createGrantId(),
      secret: createGrantSecret(),
      accountId: account.id,
      userId,
      applicationId: by.id,
      variant: index % 2 === 0 ? 'token_set' : 'access_key',
      scopes: ['orders:read'],
      keyId: keys.signing.id,
      createdAt: now,
      generation: 1,
      usedGeneration: 1,
      keyGeneration: 1,
      issuedAt: now,
      keyRotatedAt: null,
      revokedAt: null,
      testEndsAt: null,
    }
    return { by, grant }
  })
  await database.query(
    `insert into grants (id, secret, account_id, user_id, application_id, variant, scopes, key_id, dialog_id, created_at, issued_at, last_used_on)
     select id, secret, $5, $6, application_id, variant, '{orders:read}', $7, gen_random_uuid(), $8, $8, now()::date
     from unnest($1::text[], $2::uuid[], $3::text[], $4::text[]) as g(id, secret, application_id, variant)`,
    [
      grants.map(({ grant }) => grant.id),
      grants.map(({ grant }) => grant.secret),
      grants.map(({ grant }) => grant.applicationId),
      grants.map(({ grant }) => grant.variant),
      account.id,
      userId,
      keys.signing.id,
      new Date(now),
    ],
  )
  for (const { by, grant } of grants) {
    if (grant.variant === 'access_key') held.accessKeys.push({ by, key: makeAccessKey(keys, grant) })
    else {
      const { accessToken, refreshToken } = makeTokenSet(keys, grant, now, accessTokenLifetimeMs)
      held.tokenSets.push({ by, access: accessToken, refresh: refreshToken })
    }
  }
}
