/** Daily re-check of the DNS records by which publishers verified their domains. */

import { type RecordStatus, recheck, recordName } from '../../core/applications/publisher-domain.ts'
import { byService } from '../../core/audit/actor.ts'
import { isPublisherRecord } from '../../secrets/publisher-proof.ts'
import { markApplicationChanged, setPublisher } from '../../store/applications/applications.ts'
import {
  type DueProof,
  findProof,
  markMissing,
  markProven,
  takeDueProof,
} from '../../store/applications/publisher-checks.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { notifyAdministrators } from '../accounts/notify-administrators.ts'
import type { Context } from '../context.ts'

export type Rechecked = ReturnType<typeof recheck>

/** Re-checks one due record; null if none is due. If the process dies midway, the next check is a day later. */
export async function recheckPublisher(context: Context): Promise<Rechecked | null> {
  const due = await takeDueProof(context.db)
  return due && conclude(context, due, await lookFor(context, due))
}

async function lookFor({ dns, config }: Context, { applicationId, domain }: DueProof): Promise<RecordStatus> {
  const answer = await dns.resolveTxt(recordName(domain))
  if (answer.outcome === 'silent') return 'silent'
  const texts = answer.outcome === 'found' ? answer.texts : []
  return texts.some((text) => isPublisherRecord(config.keys, applicationId, domain, text)) ? 'there' : 'gone'
}

/** Ignores the result if the publisher verified another domain or removed this one during the DNS query. */
function conclude(context: Context, looked: DueProof, record: RecordStatus): Promise<Rechecked | null> {
  const { applicationId: id, accountId, domain } = looked
  return context.db.transaction(async (tx) => {
    if (!(await markApplicationChanged(tx, id))) return null
    const proof = await findProof(tx, id)
    if (!proof || proof.domain !== domain) return null
    const outcome = recheck(proof, record, proof.now)
    if (outcome === 'proven') await markProven(tx, id)
    if (outcome === 'missed') await markMissing(tx, id)
    if (outcome === 'lost') await setPublisher(tx, id, { status: 'unverified', name: null }, false)
    if (outcome === 'missed' || outcome === 'lost') {
      const lost = outcome === 'lost'
      const kind = lost ? 'application.publisher_lost' : 'application.publisher_missing'
      await recordEvent(tx, {
        kind,
        actor: byService('publisher-check'),
        accountId,
        applicationId: id,
        detail: { domain },
      })
      const detail = { application: proof.name, domain, record: recordName(domain), lost }
      await notifyAdministrators(tx, accountId, { kind: 'publisher_record', detail })
    }
    return outcome
  })
}
