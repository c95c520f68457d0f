/**
 * Vetting of applications that were registered in the developer console: their developers ask for it, an operator
 * decides (docs/decisions/0041-an-unvetted-application-has-a-hundred-users.md).
 */
import { byOperator, byUser } from '../../core/audit/actor.ts'
import { findApplication } from '../../store/applications/applications.ts'
import { readOwnApplication } from '../../store/applications/own.ts'
import { readVetting, requestVetting, setVetted } from '../../store/applications/vettings.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { asAdministrator, type Forbidden } from '../accounts/administrator.ts'
import { notifyAdministrators } from '../accounts/notify-administrators.ts'
import type { Context } from '../context.ts'
import { asOperator } from '../operator/operator.ts'

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

/** `unchanged`: another operator was faster. */
export type VettingDecision = { readonly outcome: 'vetted' | 'withdrawn' | 'unchanged' | 'not_found' } | Forbidden

/** Existing grants stay when an approval is withdrawn: to end them, an operator suspends the application. */
export function decideVetting(
  context: Pick<Context, 'db' | 'config'>,
  by: string,
  id: string,
  vetted: boolean,
): Promise<VettingDecision> {
  return asOperator(context, by, async (tx): Promise<VettingDecision> => {
    const application = await findApplication(tx, id)
    if (!application || application.deleted) return { outcome: 'not_found' }
    if (!(await setVetted(tx, id, vetted))) return { outcome: 'unchanged' }
    const { accountId, name } = application
    const kind = vetted ? 'application.vetted' : 'application.vetting_withdrawn'
    await recordEvent(tx, { kind, actor: byOperator(by), accountId, applicationId: id })
    await notifyAdministrators(tx, accountId, { kind: 'vetting_decided', detail: { application: name, vetted } })
    return { outcome: vetted ? 'vetted' : 'withdrawn' }
  })
}
