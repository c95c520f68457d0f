/**
 * Origin and WebAuthn relying party of an account, derived from the configured public URL and the slug only, never from
 * request headers.
 */
import type { Config } from '../../config.ts'

/** The part of the context needed here; the command line has no full one. */
export type Addressing = { readonly config: Pick<Config, 'publicUrl'> }

export function accountOrigin(context: Addressing, slug: string): string {
  const url = new URL(context.config.publicUrl)
  return `${url.protocol}//${slug}.${url.host}`
}

/**
 * Every account host is its own relying party, so a passkey of one account is unknown to all others (WebAuthn §5.1.2).
 */
export function relyingParty(context: Addressing, account: { readonly slug: string }): { id: string; origin: string } {
  const origin = accountOrigin(context, account.slug)
  return { id: new URL(origin).hostname, origin }
}
