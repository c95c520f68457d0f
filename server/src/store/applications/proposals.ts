/**
 * The table application_proposals: what an application wants to look like, until an operator has seen it. Everything here is
 * meant under `markApplicationChanged`, so that nobody accepts while somebody edits.
 */
import type { Publisher } from '../../core/applications/application.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'
import { NEW_LOGO_VERSION } from './logos.ts'

export type Proposal = {
  readonly applicationId: string
  /** Another with every change: whoever accepts says which one they saw. */
  readonly version: number
  /** The whole of it, also what stays as it is. */
  readonly name: string
  readonly logoVersion: string | null
  readonly proposedAt: number
  /** Why an operator declined it; null while it waits. */
  readonly declinedReason: string | null
}

const PROPOSAL = `p.application_id as "applicationId", p.version, p.name, p.logo_version as "logoVersion",
  p.proposed_at as "proposedAt", p.declined_reason as "declinedReason"`

/** Also one that was declined. */
export async function findProposal(db: Queryable, applicationId: string): Promise<Proposal | null> {
  const { rows } = await db.query<Proposal>(
    `select ${PROPOSAL} from application_proposals p where p.application_id = $1`,
    [applicationId],
  )
  return rows[0] ?? null
}

export type ListedProposal = Proposal & {
  readonly accountSlug: string
  readonly accountName: string
  /** As people see it until then. */
  readonly nameNow: string
  readonly logoVersionNow: string | null
  readonly publisher: Publisher
  /** The address of whoever proposed it; null: they are gone, or it was us. */
  readonly proposedBy: string | null
}

type ListedRow = Omit<ListedProposal, 'publisher'> & {
  publisher: string | null
  status: Publisher['status']
}

/** Those that wait, the oldest first. */
export async function listProposals(db: Queryable): Promise<readonly ListedProposal[]> {
  const { rows } = await db.query<ListedRow>(
    `select ${PROPOSAL}, c.slug as "accountSlug", c.name as "accountName", a.name as "nameNow",
       a.logo_version as "logoVersionNow", a.publisher, a.publisher_status as status, u.email as "proposedBy"
     from application_proposals p join applications a on a.id = p.application_id join accounts c on c.id = a.account_id
       left join users u on u.id = p.proposed_by
     where p.declined_at is null and a.deleted_at is null order by p.proposed_at, p.application_id`,
  )
  return rows.map(({ publisher: name, status, ...rest }) => ({ ...rest, publisher: { name, status } }))
}

/** The picture of exactly this version; null when it has none, or was changed since. */
export async function readProposedLogo(db: Queryable, applicationId: string, version: number): Promise<Buffer | null> {
  const { rows } = await db.query<{ logo: Buffer | null }>(
    'select logo from application_proposals where application_id = $1 and version = $2',
    [applicationId, version],
  )
  return rows[0]?.logo ?? null
}

/** As its account's people see it on their own pages. */
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

const TO_LOOK_AT = `version = excluded.version, proposed_at = excluded.proposed_at, proposed_by = excluded.proposed_by`

/** Another name, beside the logo that is proposed already or the one that there is. */
export async function proposeName(tx: Transaction, applicationId: string, by: string, name: string): Promise<void> {
  await tx.query(
    `insert into application_proposals (application_id, version, name, logo, logo_version, proposed_at, proposed_by)
     select id, nextval('application_proposal_versions'), $3, logo, logo_version, now(), $2 from applications where id = $1
     on conflict (application_id) do update set ${TO_LOOK_AT}, name = excluded.name`,
    [applicationId, by, name],
  )
}

/** Another logo, or none, beside the name that is proposed already or the one that there is. */
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
     on conflict (application_id) do update set ${TO_LOOK_AT}, logo = excluded.logo,
       logo_version = excluded.logo_version`,
    [applicationId, by, logo],
  )
}

/** A logo that nobody has looked at is taken off, and waits. */
export async function proposeLogoItHas(tx: Transaction, applicationId: string, by: string | null): Promise<void> {
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

/** The application looks so from now on. */
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

/** One that would change nothing any more. True when there was such a one. */
export async function dropEmptyProposal(tx: Transaction, applicationId: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    `delete from application_proposals p using applications a
     where p.application_id = $1 and a.id = p.application_id and p.name = a.name
       and p.logo_version is not distinct from a.logo_version`,
    [applicationId],
  )
  return rowCount === 1
}
