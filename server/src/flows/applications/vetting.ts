/**
 * Vetting of applications that were registered in the developer console: their developers ask for it, an operator
 * answers (docs/history.md#0041).
 */
import { byUser } from '../../core/audit/actor.ts'
import { readOwnApplication } from '../../store/applications/own.ts'
import { readVetting, requestVetting } from '../../store/applications/vettings.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { asAdministrator, type Forbidden } from '../accounts/administrator.ts'
import type { Context } from '../context.ts'

/** `requested`: also if it was before. */
export type VettingRequest = { readonly outcome: 'requested' | 'not_found' } | Forbidden

export function askForVetting(context: Pick<Context, 'db'>, by: string, id: string): Promise<VettingRequest> {
  return asAdministrator(context, by, async (tx, account): Promise<VettingRequest> => {
    if (!(await readOwnApplication(tx, account.id, id)) || !(await readVetting(tx, id))) return { outcome: 'not_found' }
    if (await requestVetting(tx, id, by)) {
      const about = { actor: byUser(by), accountId: account.id, applicationId: id }
      await recordEvent(tx, { kind: 'application.vetting_requested', ...about })
    }
    return { outcome: 'requested' }
  })
}
