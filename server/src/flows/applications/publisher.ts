/** Publisher verification by a DNS TXT record. docs/interface/account-pages.md, "Publishers". */

import { type DomainProblem, readDomain, recordName } from '../../core/applications/publisher-domain.ts'
import { byUser } from '../../core/audit/actor.ts'
import { mayCheckPublisher } from '../../core/sign-in/attempts.ts'
import { isPublisherRecord, publisherRecord } from '../../secrets/publisher-proof.ts'
import { setPublisher } from '../../store/applications/applications.ts'
import { lockOwnApplication, type OwnApplication, readOwnApplication } from '../../store/applications/own.ts'
import { readCheckHistory, recordCheck } from '../../store/applications/publisher-checks.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { asAdministrator, type Forbidden } from '../accounts/administrator.ts'
import type { Context } from '../context.ts'
import { isNameTaken } from './reserved-names.ts'
import { vouchFor } from './verify-publisher.ts'

/** TXT record to set in DNS. */
export type PublisherRecord = { readonly domain: string; readonly name: string; readonly value: string }

/** Computes the record. It is deterministic, so nothing is stored. */
export function recordFor(
  { config }: Pick<Context, 'config'>,
  applicationId: string,
  typed: string,
): PublisherRecord | { readonly problem: DomainProblem } {
  const read = readDomain(typed, new URL(config.publicUrl).hostname)
  if ('problem' in read) return read
  const { domain } = read
  return { domain, name: recordName(domain), value: publisherRecord(config.keys, applicationId, domain) }
}

/** True if an operator set the publisher; it overrides DNS verification. */
export function isOperatorsWord({
  publisher,
  publisherProvenAt,
}: Pick<OwnApplication, 'publisher' | 'publisherProvenAt'>): boolean {
  return publisher.status !== 'unverified' && publisherProvenAt === null
}

export type ProofResult =
  | { readonly outcome: 'proven' }
  /** `none`: no record. `silent`: no name server answered. */
  | { readonly outcome: 'none' | 'silent' }
  /** Records exist, but none matches. */
  | { readonly outcome: 'other'; readonly found: readonly string[] }
  | { readonly outcome: 'too_many'; readonly waitMs: number }
  /** Its name resembles that of a verified application of another account. */
  | { readonly outcome: 'name_taken' }
  | { readonly outcome: 'operators_word' | 'not_found' }
  | { readonly outcome: 'unfit'; readonly problem: DomainProblem }
  | Forbidden

/** Queries DNS between two transactions, because name servers may take seconds. */
export async function provePublisher(context: Context, by: string, id: string, typed: string): Promise<ProofResult> {
  const record = recordFor(context, id, typed)
  if ('problem' in record) return { outcome: 'unfit', problem: record.problem }
  const refused = await asAdministrator(context, by, async (tx, account): Promise<ProofResult | null> => {
    const application = await readOwnApplication(tx, account.id, id)
    if (!application) return { outcome: 'not_found' }
    if (isOperatorsWord(application)) return { outcome: 'operators_word' }
    const allowance = mayCheckPublisher(await readCheckHistory(tx, account.id, id))
    if (!allowance.allowed) return { outcome: 'too_many', waitMs: allowance.waitMs }
    await recordCheck(tx, account.id, id)
    return null
  })
  if (refused) return refused

  const answer = await context.dns.resolveTxt(record.name)
  if (answer.outcome !== 'found') return { outcome: answer.outcome }
  const { domain } = record
  if (!answer.texts.some((text) => isPublisherRecord(context.config.keys, id, domain, text))) {
    return { outcome: 'other', found: answer.texts }
  }
  return asAdministrator(context, by, async (tx, account): Promise<ProofResult> => {
    const application = await lockOwnApplication(tx, account.id, id)
    if (!application) return { outcome: 'not_found' }
    if (isOperatorsWord(application)) return { outcome: 'operators_word' }
    if (await isNameTaken(tx, account.id, application.name)) return { outcome: 'name_taken' }
    await vouchFor(tx, id, { status: 'verified', name: domain }, { proven: true, by })
    const about = { actor: byUser(by), accountId: account.id, applicationId: id }
    await recordEvent(tx, { kind: 'application.publisher_proven', ...about, detail: { domain } })
    return { outcome: 'proven' }
  })
}

export type PublisherRemoval = { readonly outcome: 'removed' | 'operators_word' | 'not_found' } | Forbidden

/** Users see the publisher as unverified from now on. */
export function removePublisher(context: Pick<Context, 'db'>, by: string, id: string): Promise<PublisherRemoval> {
  return asAdministrator(context, by, async (tx, account): Promise<PublisherRemoval> => {
    const application = await lockOwnApplication(tx, account.id, id)
    if (!application) return { outcome: 'not_found' }
    if (isOperatorsWord(application)) return { outcome: 'operators_word' }
    if (application.publisherProvenAt === null) return { outcome: 'removed' }
    await setPublisher(tx, id, { status: 'unverified', name: null }, false)
    const about = { actor: byUser(by), accountId: account.id, applicationId: id }
    const detail = { domain: application.publisher.name }
    await recordEvent(tx, { kind: 'application.publisher_removed', ...about, detail })
    return { outcome: 'removed' }
  })
}
