/** Requests of an application with its credentials, in both dialects, and the state of a grant in PostgreSQL. */
import { setTimeout as sleep } from 'node:timers/promises'
import { post, type WireAnswer } from './device.ts'
import type { MadeApplication } from './make.ts'
import type { TestService } from './service.ts'
import { everyRow } from './witness.ts'

/** A request in the native dialect; a public application sends no secret. */
export function postNative(
  service: Pick<TestService, 'address'>,
  { id, secret }: MadeApplication,
  path: string,
  given: Record<string, string>,
): Promise<WireAnswer> {
  const by = { SVCappid: id, ...(secret === '' ? {} : { SVCsecret: secret }) }
  return post(service.address, path, { form: { ...by, ...given } })
}

/** A request in the standard dialect, with client_secret_post; a public client sends its id alone. */
export function postStandard(
  service: Pick<TestService, 'address'>,
  { id, secret }: MadeApplication,
  path: string,
  given: Record<string, string>,
): Promise<WireAnswer> {
  const by = { client_id: id, ...(secret === '' ? {} : { client_secret: secret }) }
  return post(service.address, path, { form: { ...by, ...given } })
}

export type GrantLine = { readonly generation: number; readonly key: number; readonly revocation_reason: string | null }

export async function grantLine({ database }: TestService, grantId: string): Promise<GrantLine | undefined> {
  const [line] = await database.query<GrantLine>(
    'select generation, key_generation as key, revocation_reason from grants where id = $1',
    [grantId],
  )
  return line
}

/** The secret of a grant, for tests that compute credentials. */
export async function grantSecret({ database }: TestService, grantId: string): Promise<string> {
  const [row] = await database.query<{ secret: string }>('select secret from grants where id = $1', [grantId])
  return row?.secret ?? ''
}

/** Audit events of a grant after it was issued, in order. */
export function grantEvents({ database }: TestService, grantId: string): Promise<object[]> {
  return database.query(
    `select kind, detail from audit_events where grant_id = $1 and kind not in ('grant.created', 'grant.issued')
     order by id`,
    [grantId],
  )
}

/** All rows, once those are saved that are written after an answer: deliveries and last uses. */
export async function restingRows(service: TestService): ReturnType<typeof everyRow> {
  await service.context.grantCache.saveUses()
  for (let look = 0; look < 200; look += 1) {
    const open = await service.database.query(
      `select from device_codes where lease_id is not null and status <> 'used'
       union all select from dialogs where lease_id is not null and used_at is null`,
    )
    if (open.length === 0) return everyRow(service)
    await sleep(10)
  }
  throw new Error('an answer was sent and nobody wrote it down')
}
