/** Logo of an application: uploaded by the owning account, public only once the publisher is verified. */
import { byUser } from '../../core/audit/actor.ts'
import { MAX_PICTURE_BYTES } from '../../core/picture.ts'
import { readLogo, setLogo } from '../../store/applications/logos.ts'
import { lockOwnApplication } from '../../store/applications/own.ts'
import { readOwnProposedLogo } from '../../store/applications/proposals.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { asAdministrator, type Forbidden } from '../accounts/administrator.ts'
import type { Context } from '../context.ts'
import { isWaiting, proposeProfile } from './proposals.ts'

export type LogoResult =
  /** `proposed`: shown once an operator has accepted it. */
  { readonly outcome: 'saved' | 'proposed' | 'too_large' | 'not_found' } | Forbidden

/** The logo must be an image that this service re-encoded from the upload; null removes it. */
export function changeLogo(
  context: Pick<Context, 'db'>,
  by: string,
  id: string,
  logo: Buffer | null,
): Promise<LogoResult> {
  return asAdministrator(context, by, async (tx, account): Promise<LogoResult> => {
    if (logo && logo.length > MAX_PICTURE_BYTES) return { outcome: 'too_large' }
    const application = await lockOwnApplication(tx, account.id, id)
    if (!application) return { outcome: 'not_found' }
    // Removing a logo needs no review.
    if (application.vouchedFor && logo) {
      await proposeProfile(tx, application, by, { logo })
      return { outcome: 'proposed' }
    }
    await setLogo(tx, id, logo)
    // Also remove it from a pending proposal, which would restore it on acceptance.
    if (await isWaiting(tx, id)) await proposeProfile(tx, application, by, { logo })
    const about = { actor: byUser(by), accountId: account.id, applicationId: id }
    await recordEvent(tx, { kind: 'application.logo_changed', ...about, detail: { logo: logo !== null } })
    return { outcome: 'saved' }
  })
}

export type ShownLogo = {
  readonly bytes: Buffer
  /** True if the content of this version never changes, so it can be cached for good. */
  readonly lasting: boolean
}

/**
 * Logos of verified applications are public. Other logos, and proposed ones, are shown to users of the owning account
 * only, so that the service cannot be used to host arbitrary images.
 */
export async function readApplicationLogo(
  context: Pick<Context, 'db'>,
  /** Null without a session. */
  accountId: string | null,
  id: string,
  version: string,
): Promise<ShownLogo | null> {
  const logo = await readLogo(context.db, id)
  if (logo?.version !== version && accountId !== null) {
    const proposed = await readOwnProposedLogo(context.db, accountId, id, version)
    if (proposed) return { bytes: proposed, lasting: true }
  }
  if (!logo || (!logo.vouched && logo.accountId !== accountId)) return null
  return { bytes: logo.bytes, lasting: logo.version === version }
}
