/**
 * The table application_proposals: a proposed name or logo of an application, until an operator has reviewed it. Call
 * the functions that write under `markApplicationChanged`, so that no operator accepts a proposal while a user edits
 * it.
 */
import type { Publisher } from '../../core/applications/application.ts'
import type { ProfileRequest } from '../../core/reviews/queue.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'
import { NEW_LOGO_VERSION } from './logos.ts'

export type Proposal = {
  readonly applicationId: string
  /** Changes with every edit: the operator who accepts says which version they saw. */
  readonly version: number
  /** The complete profile, including what stays unchanged. */
  readonly name: string
  readonly logoVersion: string | null
  readonly proposedAt: number
  /** Why an operator declined it; null while it waits. */
  readonly declinedReason: string | null
}

const PROPOSAL = `p.application_id as "applicationId", p.version, p.name, p.logo_version as "logoVersion",
  p.proposed_at as "proposedAt", p.declined_reason as "declinedReason"`

/** Includes a declined proposal. */
export async function readProposal(db: Queryable, applicationId: string): Promise<Proposal | null> {
  const { rows } = await db.query<Proposal>(
    `select ${PROPOSAL} from application_proposals p where p.application_id = $1`,
    [applicationId],
  )
  return rows[0] ?? null
}

export type ListedProposal = Proposal & {
  readonly accountSlug: string
  readonly accountName: string
  /** The current name. */
  readonly nameNow: string
  readonly logoVersionNow: string | null
  readonly publisher: Publisher
  /** E-mail address of the user who proposed it; null: the user is gone, or an operator's verification made it. */
  readonly proposedBy: string | null
}

type ListedRow = Omit<ListedProposal, 'publisher'> & {
  publisher: string | null
  status: Publisher['status']
}

const LISTED = `select ${PROPOSAL}, c.slug as "accountSlug", c.name as "accountName", a.name as "nameNow",
    a.logo_version as "logoVersionNow", a.publisher, a.publisher_status as status, u.email as "proposedBy"
  from application_proposals p join applications a on a.id = p.application_id join accounts c on c.id = a.account_id
    left join users u on u.id = p.proposed_by
  where p.declined_at is null and a.deleted_at is null`

/** All that wait, oldest first. */
export async function listEveryProposal(db: Queryable): Promise<readonly ListedProposal[]> {
  const { rows } = await db.query<ListedRow>(`${LISTED} order by p.proposed_at, p.application_id`)
  return rows.map(listedFrom)
}

/** Null if none waits. */
async function findListedProposal(db: Queryable, applicationId: string): Promise<ListedProposal | null> {
  const { rows } = await db.query<ListedRow>(`${LISTED} and a.id = $1`, [applicationId])
  return rows[0] ? listedFrom(rows[0]) : null
}

/** The proposal that waits, for the operator who answers it. */
export async function findProfileRequest(db: Queryable, applicationId: string): Promise<ProfileRequest | null> {
  const proposal = await findListedProposal(db, applicationId)
  if (!proposal) return null
  const { publisher, nameNow, logoVersionNow, name, logoVersion, version } = proposal
  const { proposedBy: by, proposedAt: since } = proposal
  return { kind: 'profile', by, since, publisher, nameNow, logoVersionNow, name, logoVersion, version }
}

function listedFrom({ publisher: name, status, ...rest }: ListedRow): ListedProposal {
  return { ...rest, publisher: { name, status } }
}

/** The logo of exactly this version; null when it has none or was changed since. */
export async function readProposedLogo(db: Queryable, applicationId: string, version: number): Promise<Buffer | null> {
  const { rows } = await db.query<{ logo: Buffer | null }>(
    'select logo from application_proposals where application_id = $1 and version = $2',
    [applicationId, version],
  )
  return rows[0]?.logo ?? null
}

/** The proposed logo for users of the application's own account. */
export async function readOwnProposedLogo(
  db: Queryable,
  accountId: string,
  applicationId: string,
  logoVersion: string,
): Promise<Buffer | null> {
  const { rows } = await db.query<{ logo: Buffer | null }>(
    `select p.logo from application_proposals p join applications a on a.id = p.application_id
     where p.application_id = $2 and a.account_id = $1 and p.logo_version = $3`,
    [accountId, applicationId, logoVersion],
  )
  return rows[0]?.logo ?? null
}

const NEW_VERSION = `version = excluded.version, proposed_at = excluded.proposed_at, proposed_by = excluded.proposed_by`

/** Proposes a name and keeps the proposed logo, or else the current one. */
export async function proposeName(tx: Transaction, applicationId: string, by: string, name: string): Promise<void> {
  await tx.query(
    `insert into application_proposals (application_id, version, name, logo, logo_version, proposed_at, proposed_by)
     select id, nextval('application_proposal_versions'), $3, logo, logo_version, now(), $2 from applications where id = $1
     on conflict (application_id) do update set ${NEW_VERSION}, name = excluded.name`,
    [applicationId, by, name],
  )
}

/** Proposes a logo, or none, and keeps the proposed name, or else the current one. */
export async function proposeLogo(
  tx: Transaction,
  applicationId: string,
  by: string,
  logo: Buffer | null,
): Promise<void> {
  await tx.query(
    `insert into application_proposals (application_id, version, name, logo, logo_version, proposed_at, proposed_by)
     select id, nextval('application_proposal_versions'), name, $3::bytea,
       case when $3::bytea is not null then ${NEW_LOGO_VERSION} end, now(), $2 from applications where id = $1
     on conflict (application_id) do update set ${NEW_VERSION}, logo = excluded.logo,
       logo_version = excluded.logo_version`,
    [applicationId, by, logo],
  )
}

/** Turns the current logo, which no operator has reviewed, into a proposal. */
export async function proposeCurrentLogo(tx: Transaction, applicationId: string, by: string | null): Promise<void> {
  await tx.query(
    `with taken as (
       update applications a set logo = null, logo_version = null
       from (select id, logo, logo_version from applications where id = $1 and logo is not null) had
       where a.id = had.id returning a.id, a.name, had.logo, had.logo_version)
     insert into application_proposals (application_id, version, name, logo, logo_version, proposed_at, proposed_by)
     select id, nextval('application_proposal_versions'), name, logo, logo_version, now(), $2 from taken`,
    [applicationId, by],
  )
}

/** Applies the proposed name and logo to the application. */
export async function applyProposal(tx: Transaction, applicationId: string): Promise<void> {
  await tx.query(
    `update applications a set name = p.name, logo = p.logo, logo_version = p.logo_version
     from application_proposals p where a.id = $1 and p.application_id = a.id`,
    [applicationId],
  )
  await deleteProposal(tx, applicationId)
}

export async function markDeclined(tx: Transaction, applicationId: string, reason: string): Promise<void> {
  await tx.query(
    'update application_proposals set declined_at = now(), declined_reason = $2 where application_id = $1',
    [applicationId, reason],
  )
}

export async function deleteProposal(tx: Transaction, applicationId: string): Promise<void> {
  await tx.query('delete from application_proposals where application_id = $1', [applicationId])
}

/** Deletes a proposal that no longer changes anything. True when there was one. */
export async function dropEmptyProposal(tx: Transaction, applicationId: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    `delete from application_proposals p using applications a
     where p.application_id = $1 and a.id = p.application_id and p.name = a.name
       and p.logo_version is not distinct from a.logo_version`,
    [applicationId],
  )
  return rowCount === 1
}
