/** Ends grants again that were ended in the lost time, and moves their credentials forward to the generation that was issued. */
import type { Actor } from '../../core/audit/actor.ts'
import type { RevocationReason } from '../../core/grants/revocation-reason.ts'
import type { GenerationLine, UseLine } from '../../core/restore/journal-line.ts'
import { recordAll } from '../audit/events.ts'
import { announceGrants } from '../grants/changes.ts'
import { changeKey } from '../grants/grants.ts'
import type { Transaction } from '../postgres/postgres.ts'

export type RevokedGrant = { readonly id: string; readonly reason: RevocationReason }

/** Returns how many of them were live. */
export async function revokeAgain(tx: Transaction, actor: Actor, grants: readonly RevokedGrant[]): Promise<number> {
  const { rows } = await tx.query<{ grant_id: string }>({
    query_timeout: 61_000,
    text: `with chosen as (
        select g.id, ended.reason from grants g join unnest($1::text[], $2::text[]) as ended(id, reason) using (id)
        where g.revoked_at is null order by g.id for no key update of g),
      revoked as (
        update grants g set revoked_at = now(), revocation_reason = chosen.reason from chosen where g.id = chosen.id
        returning g.id, g.account_id, g.user_id, g.application_id, chosen.reason),
      ${recordAll(`select now(), 'grant.revoked', $3::text, $4::text, $5::text, account_id, user_id, application_id, id, null::uuid,
        jsonb_build_object('reason', reason) from revoked`)}
      select grant_id from recorded`,
    values: [grants.map(({ id }) => id), grants.map(({ reason }) => reason), actor.kind, actor.id, actor.via],
  })
  await announceGrants(
    tx,
    rows.map(({ grant_id }) => grant_id),
  )
  return rows.length
}

/** Raises stored generations and never lowers one. Returns how many credentials were behind. */
export async function advanceGenerations(tx: Transaction, lines: readonly GenerationLine[]): Promise<number> {
  const advance = async (kind: GenerationLine['kind'], generation: string, issuedAt: string) => {
    const of = lines.filter((line) => line.kind === kind)
    const { rows } = await tx.query<{ id: string }>({
      query_timeout: 61_000,
      text: `with chosen as (
          select g.id, line.generation, line.issued_at, line.key
          from grants g join unnest($1::text[], $2::integer[], $3::timestamptz[], $4::smallint[])
            as line(id, generation, issued_at, key) using (id)
          where g.${generation} < line.generation order by g.id for no key update of g)
        update grants g set ${generation} = chosen.generation, ${issuedAt} = chosen.issued_at, ${changeKey('chosen.key')}
        from chosen where g.id = chosen.id returning g.id`,
      values: [
        of.map(({ grant }) => grant),
        of.map((line) => line.generation),
        of.map((line) => new Date(line.issuedAt)),
        of.map(({ key }) => key),
      ],
    })
    return rows.map(({ id }) => id)
  }
  const advanced = [
    ...(await advance('refresh_token', 'generation', 'issued_at')),
    ...(await advance('access_key', 'key_generation', 'key_rotated_at')),
  ]
  await announceGrants(tx, advanced)
  return advanced.length
}

/** A refresh token whose successor was used is spent. */
export async function markUsedAgain(tx: Transaction, uses: readonly UseLine[]): Promise<void> {
  await tx.query({
    query_timeout: 61_000,
    text: `with chosen as (
        select g.id, line.generation from grants g join unnest($1::text[], $2::integer[]) as line(id, generation) using (id)
        where g.used_generation < line.generation order by g.id for no key update of g)
      update grants g set used_generation = chosen.generation from chosen where g.id = chosen.id`,
    values: [uses.map(({ grant }) => grant), uses.map(({ generation }) => generation)],
  })
}

/** Of grants made in the lost time, those that do not exist. */
export async function countGone(tx: Transaction, grantIds: readonly string[]): Promise<number> {
  const { rows } = await tx.query<{ gone: number }>(
    'select count(*) as gone from unnest($1::text[]) as lost(id) where not exists (select from grants g where g.id = lost.id)',
    [grantIds],
  )
  return rows[0]?.gone ?? 0
}
