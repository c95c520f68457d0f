/** How an account looks to its people: name, colour, logo. */
import { byUser } from '../core/audit-actor.ts'
import { isName } from '../core/name.ts'
import { type Looks, readLogo, saveLooks as storeLooks } from '../store/accounts.ts'
import { recordEvent } from '../store/audit-events.ts'
import { asAdministrator, type Forbidden } from './administrator.ts'
import type { Context } from './context.ts'

const MAX_LOGO_BYTES = 262_144

export type LooksResult =
  | { readonly outcome: 'saved' }
  /** Which of the three is not as it has to be. */
  | { readonly outcome: 'name' | 'colour' | 'logo' }
  | Forbidden

/** The logo is one that this service has written itself, from what was uploaded. */
export function saveLooks(context: Pick<Context, 'db'>, by: string, wanted: Looks): Promise<LooksResult> {
  return asAdministrator(context, by, async (tx, account): Promise<LooksResult> => {
    const looks = { name: wanted.name.trim(), colour: wanted.colour?.toLowerCase() ?? null, logo: wanted.logo }
    if (!isName(looks.name)) return { outcome: 'name' }
    if (looks.colour !== null && !/^#[0-9a-f]{6}$/.test(looks.colour)) return { outcome: 'colour' }
    if (looks.logo && looks.logo.length > MAX_LOGO_BYTES) return { outcome: 'logo' }
    await storeLooks(tx, account.id, looks)
    const changed = [
      ...(looks.name === account.name ? [] : ['name']),
      ...(looks.colour === account.colour ? [] : ['colour']),
      ...(looks.logo === undefined ? [] : ['logo']),
    ]
    if (changed.length > 0) {
      await recordEvent(tx, {
        kind: 'account.looks_changed',
        actor: byUser(by),
        accountId: account.id,
        detail: { changed },
      })
    }
    return { outcome: 'saved' }
  })
}

export function readAccountLogo(context: Pick<Context, 'db'>, accountId: string): Promise<Buffer | null> {
  return readLogo(context.db, accountId)
}
