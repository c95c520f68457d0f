/** Branding of an account: name, colour, logo. */

import { isAccountName } from '../../core/applications/name.ts'
import { byUser } from '../../core/audit/actor.ts'
import { MAX_PICTURE_BYTES } from '../../core/picture.ts'
import { type Branding, saveBranding as storeBranding } from '../../store/accounts/accounts.ts'
import { recordEvent } from '../../store/audit/events.ts'
import type { Context } from '../context.ts'
import { asAdministrator, type Forbidden } from './administrator.ts'

export type BrandingResult =
  | { readonly outcome: 'saved' }
  /** The invalid field. */
  | { readonly outcome: 'name' | 'colour' | 'logo' }
  | Forbidden

/** The logo must be an image that this service re-encoded from the upload. */
export function saveBranding(context: Pick<Context, 'db'>, by: string, wanted: Branding): Promise<BrandingResult> {
  return asAdministrator(context, by, async (tx, account): Promise<BrandingResult> => {
    const branding = { name: wanted.name.trim(), colour: wanted.colour?.toLowerCase() ?? null, logo: wanted.logo }
    if (!isAccountName(branding.name)) return { outcome: 'name' }
    if (branding.colour !== null && !/^#[0-9a-f]{6}$/.test(branding.colour)) return { outcome: 'colour' }
    if (branding.logo && branding.logo.length > MAX_PICTURE_BYTES) return { outcome: 'logo' }
    await storeBranding(tx, account.id, branding)
    const changed = [
      ...(branding.name === account.name ? [] : ['name']),
      ...(branding.colour === account.colour ? [] : ['colour']),
      ...(branding.logo === undefined ? [] : ['logo']),
    ]
    if (changed.length > 0) {
      await recordEvent(tx, {
        kind: 'account.branding_changed',
        actor: byUser(by),
        accountId: account.id,
        detail: { changed },
      })
    }
    return { outcome: 'saved' }
  })
}
