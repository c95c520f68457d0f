/** Somebody says whom an application comes from: an operator, or its publisher's record in DNS. */
import type { Publisher } from '../../core/applications/application.ts'
import { findApplication, setPublisher } from '../../store/applications/applications.ts'
import { proposeLogoItHas } from '../../store/applications/proposals.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'

export type Voucher = {
  /** By its record, rather than by an operator's word. */
  readonly proven: boolean
  /** The user who asked for it; null: an operator did. */
  readonly by: string | null
}

/**
 * A logo that was uploaded while nobody vouched was shown to nobody. It waits for a second look now, or the first look would
 * never come. Meant under `markApplicationChanged`.
 */
export async function vouchFor(tx: Transaction, id: string, publisher: Publisher, voucher: Voucher): Promise<void> {
  const application = await findApplication(tx, id)
  const first = application?.vouchedFor === false && publisher.status !== 'unverified'
  if (first && application.logoVersion !== null) await proposeLogoItHas(tx, id, voucher.by)
  await setPublisher(tx, id, publisher, voucher.proven)
}
