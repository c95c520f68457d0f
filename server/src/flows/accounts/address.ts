/** Where an account lives: the one place that says so. No header of any request has a say in it. */
import type { Config } from '../../config.ts'

/** What this needs of a context; the command line has no more. */
export type Addressing = { readonly config: Pick<Config, 'publicUrl'> }

export function accountOrigin(context: Addressing, slug: string): string {
  const url = new URL(context.config.publicUrl)
  return `${url.protocol}//${slug}.${url.host}`
}

/** A host is a relying party of its own: a passkey of one account is unknown to every other (WebAuthn, section 5.1.2). */
export function relyingParty(context: Addressing, account: { readonly slug: string }): { id: string; origin: string } {
  const origin = accountOrigin(context, account.slug)
  return { id: new URL(origin).hostname, origin }
}
