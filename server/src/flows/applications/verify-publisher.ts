/** Publisher verification, by an operator or by a DNS record. */
import type { Publisher } from '../../core/applications/application.ts'
import { findApplication, setPublisher } from '../../store/applications/applications.ts'
import { proposeCurrentLogo } from '../../store/applications/proposals.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'

export type Voucher = {
  /** True: by DNS record; false: by an operator. */
  readonly proven: boolean
  /** The user who asked for it; null for an operator. */
  readonly by: string | null
}

/**
 * Sets the publisher. A logo uploaded before the first verification was never public and never reviewed, so it becomes
 * a proposal now. Requires `markApplicationChanged`.
 */
export async function vouchFor(tx: Transaction, id: string, publisher: Publisher, voucher: Voucher): Promise<void> {
  const application = await findApplication(tx, id)
  const first = application?.vouchedFor === false && publisher.status !== 'unverified'
  if (first && application.logoVersion !== null) await proposeCurrentLogo(tx, id, voucher.by)
  await setPublisher(tx, id, publisher, voucher.proven)
}
