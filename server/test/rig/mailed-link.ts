/** Users who have read a mail of ours: a link in it sets their password, or confirms their browser. */
import { createLink } from '../../src/flows/sign-in/mailed-link.ts'
import { signLink } from '../../src/secrets/web-texts.ts'
import { type MadeUser, makeUser } from './make.ts'
import type { TestService } from './service.ts'
import type { SignedInUser } from './signed-in.ts'
import type { Web } from './web.ts'

export const CHOSEN_PASSWORD = 'seven green bottles'

type LinkKind = 'setup' | 'invitation' | 'recovery' | 'sign_in'
type Where = { readonly id: string; readonly slug: string }

/** The text of a link, as it is mailed, or printed by the command line (`setup`). */
export async function linkFor(
  { context, config }: Pick<TestService, 'context' | 'config'>,
  { id: accountId, slug }: Where,
  user: Pick<MadeUser, 'id'>,
  kind: LinkKind,
): Promise<string> {
  const id = await context.db.transaction((tx) => createLink(tx, kind, { id: user.id, accountId }))
  return signLink(config.keys, id, slug)
}

/** Opens the link and does what its page asks for. */
export async function followLink(web: Web, link: string, kind: LinkKind): Promise<void> {
  await web.get(`/link?token=${link}`)
  if (kind === 'sign_in') await web.submit('/link/sign-in')
  else await web.submit('/link', { password: CHOSEN_PASSWORD, again: CHOSEN_PASSWORD })
}

/** A clerk who was invited, has confirmed the address by that, and is signed in. */
export async function makeInvitedUser(service: TestService, account: Where, email?: string): Promise<SignedInUser> {
  const given = { holds: ['orders:read', 'orders:write'], ...(email === undefined ? {} : { email }) }
  const user = await makeUser(service.context.db, account.slug, given)
  const web = service.web({}, account.slug)
  await followLink(web, await linkFor(service, account, user, 'invitation'), 'invitation')
  return { user, web }
}
