/** Pages that a user may not open, counted for the audit log. */
import { networkOf } from '../../core/network.ts'
import type { AccountSession } from '../../store/sign-in/sessions.ts'
import type { Context } from '../context.ts'
import type { Browser } from './sessions.ts'

/** `path`: of the route, which is one of a closed list. */
export function countRefusedPage(
  context: Context,
  { account, sessionUser }: AccountSession,
  path: string,
  refusal: string,
  browser: Browser,
): void {
  if (!sessionUser || (refusal !== 'forbidden' && refusal !== 'elsewhere')) return
  context.refusals.count({
    kind: 'page.refused',
    accountId: account.id,
    subject: sessionUser.id,
    network: networkOf(browser.address),
    userId: sessionUser.id,
    reason: path,
  })
}
