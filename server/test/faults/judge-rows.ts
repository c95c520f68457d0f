/** What must hold over all rows, whatever was lost: one grant per code, one event per grant, an intact audit log. */
import { openLog } from '../rig/audit.ts'
import type { TestService } from '../rig/service.ts'
import type { Problem } from './messages/flow.ts'

export async function judgeRows({ database, config }: TestService): Promise<readonly Problem[]> {
  const twice = await database.query<{ what: string }>(
    `select 'grants of a code' as what from grants where device_code_id is not null
       group by device_code_id having count(*) > 1
     union all select 'grants of a dialog' from grants where dialog_id is not null group by dialog_id having count(*) > 1
     union all select 'events of a grant' from audit_events where kind = 'grant.created'
       group by grant_id having count(*) > 1
     union all select 'revocations of a grant' from audit_events where kind = 'grant.revoked'
       group by grant_id having count(*) > 1`,
  )
  const gone = await database.query<{ id: string }>(
    `select g.id from grants g where not exists (
       select from audit_events e where e.grant_id = g.id and e.kind = 'grant.created')`,
  )
  const log = openLog(database, config.keys)
  try {
    await log.seal()
    const { problem } = await log.verify()
    return [
      ...twice.map(({ what }): Problem => ({ kind: 'double', text: what })),
      ...gone.map(({ id }): Problem => ({ kind: 'lost', text: `the event of ${id}` })),
      ...(problem === null ? [] : [{ kind: 'wrong', text: `the audit log: ${JSON.stringify(problem)}` } as const]),
    ]
  } finally {
    await log.close()
  }
}
