/** An application's logo: uploaded by the account that registered it, shown where somebody vouches for it. */
import { byUser } from '../../core/audit/actor.ts'
import { readLogo, setLogo } from '../../store/applications/logos.ts'
import { lockOwnApplication } from '../../store/applications/own.ts'
import { readOwnProposedLogo } from '../../store/applications/proposals.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { asAdministrator, type Forbidden } from '../accounts/administrator.ts'
import type { Context } from '../context.ts'
import { isWaiting, proposeProfile } from './proposals.ts'

const MAX_LOGO_BYTES = 262_144

export type LogoResult =
  /** `proposed`: people see it once an operator has. */
  { readonly outcome: 'saved' | 'proposed' | 'too_large' | 'not_found' } | Forbidden

/** The logo is one that this service has written itself, from what was uploaded; null takes it away. */
export function changeLogo(
  context: Pick<Context, 'db'>,
  by: string,
  id: string,
  logo: Buffer | null,
): Promise<LogoResult> {
  return asAdministrator(context, by, async (tx, account): Promise<LogoResult> => {
    if (logo && logo.length > MAX_LOGO_BYTES) return { outcome: 'too_large' }
    const application = await lockOwnApplication(tx, account.id, id)
    if (!application) return { outcome: 'not_found' }
    // What people are shown may always become less.
    if (application.vouchedFor && logo) {
      await proposeProfile(tx, application, by, { logo })
      return { outcome: 'proposed' }
    }
    await setLogo(tx, id, logo)
    // Also from what waits, where it would come back.
    if (await isWaiting(tx, id)) await proposeProfile(tx, application, by, { logo })
    const about = { actor: byUser(by), accountId: account.id, applicationId: id }
    await recordEvent(tx, { kind: 'application.logo_changed', ...about, detail: { logo: logo !== null } })
    return { outcome: 'saved' }
  })
}

export type ShownLogo = {
  readonly bytes: Buffer
  /** Under this version there will never be another. */
  readonly lasting: boolean
}

/**
 * Of an application that somebody vouches for, to everybody. Of others, and what is only proposed, to people of the account
 * that registered it: this is not a place to hang pictures.
 */
export async function readApplicationLogo(
  context: Pick<Context, 'db'>,
  /** Null: nobody is signed in. */
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
