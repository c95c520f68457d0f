/** Once a day, by itself: is the record by which a publisher proved a domain still there? */

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

/** One that is due; null when none is. A process that dies in between leaves it to the next day. */
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

/** Meanwhile somebody may have proven another domain, or taken it back: then this says nothing. */
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
