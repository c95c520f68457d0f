/** What tests of codes across cells look at: who has a code, how many grants there are, what a device gets. */
import { moveBuckets } from '../../src/flows/cells/move.ts'
import { grantDeviceCode } from '../../src/flows/device/decide.ts'
import { digestUserCode } from '../../src/secrets/user-code.ts'
import type { TestCell, TestCells } from '../rig/cells.ts'
import { type CodeRecord, collect, Device, post, type WireAnswer } from '../rig/device.ts'
import type { MadeApplication, MadeUser } from '../rig/make.ts'

/** The home cell, and the other two. Codes are usually requested in B and entered in A. */
export const [HOME, A, B] = [0, 1, 2]

export function cellOf(all: TestCells, id: number): TestCell {
  const found = all.cells[id]
  if (!found) throw new Error(`no cell ${id}`)
  return found
}

/** Enters and grants, as one user does in one sitting. Returns why not, if it is not granted. */
export async function grantIn(all: TestCells, id: number, user: MadeUser, userCode: string): Promise<string> {
  const entered = await all.enter(id, user, userCode)
  if (entered.outcome !== 'claimed') return entered.outcome
  return (await grantDeviceCode(cellOf(all, id).service.context, user.id, entered.code)).outcome
}

/** A user who tries again if a cell does not answer. */
export async function grantWithRetries(all: TestCells, id: number, user: MadeUser, userCode: string): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await grantIn(all, id, user, userCode)
    } catch (error) {
      if (attempt === 5 || (error as Error).name !== 'Unavailable') throw error
    }
  }
}

/** `dialogCodeLifetimeMs`: how long a move waits for open authorization codes depends on it. */
export function moveIn(
  all: TestCells,
  buckets: readonly number[],
  [from, to]: readonly [from: number, to: number],
  dialogCodeLifetimeMs = 60_000,
): ReturnType<typeof moveBuckets> {
  return moveBuckets(cellOf(all, HOME).service.context.db, {
    buckets,
    to,
    sourceUrl: cellOf(all, from).url,
    targetUrl: cellOf(all, to).url,
    dialogCodeLifetimeMs,
  })
}

export type Tokens = { readonly access_token: string; readonly refresh_token: string }

/** A code of one cell, granted by a user of another. */
export async function connectIn(
  all: TestCells,
  user: MadeUser,
  issuer: number,
  holder: number,
  application: MadeApplication = all.application,
): Promise<Tokens> {
  const device = new Device(cellOf(all, issuer).service.address, application)
  const code = await device.code()
  const outcome = await grantIn(all, holder, user, code.user_code)
  if (outcome !== 'granted') throw new Error(outcome)
  const { status, text, body } = await collect(device, code.device_code)
  if (status !== 200) throw new Error(text)
  return body
}

export function verifyIn(all: TestCells, cell: number, token: string): Promise<WireAnswer> {
  const headers = { authorization: `Bearer ${token}` }
  return post(cellOf(all, cell).service.address, '/auth/verify', { method: 'GET', headers })
}

type CodeFacts = {
  /** Cells whose row says that the code is there. */
  readonly holders: readonly number[]
  readonly grants: number
  readonly statuses: readonly string[]
}

export async function factsOf(all: TestCells, { user_code }: CodeRecord): Promise<CodeFacts> {
  const rows = await Promise.all(
    all.cells.map(async ({ id, pool, service }) => {
      const digests = digestUserCode(service.context.config.keys, user_code)
      const found = await pool.query<{ here: boolean; status: string; grants: number }>(
        `select handed_to is null as here, status,
           (select count(*)::int from grants g where g.device_code_id = c.id) as grants
         from device_codes c where user_code_digest = any($1)`,
        [digests],
      )
      return found.rows.map((row) => ({ ...row, id }))
    }),
  )
  const flat = rows.flat()
  return {
    holders: flat.filter(({ here }) => here).map(({ id }) => id),
    grants: flat.reduce((sum, { grants }) => sum + grants, 0),
    statuses: flat.filter(({ here }) => here).map(({ status }) => status),
  }
}

/** Kinds of the audit events about a code in one cell, in order. */
export async function eventsIn(all: TestCells, id: number, { user_code }: CodeRecord): Promise<readonly string[]> {
  const { pool, service } = cellOf(all, id)
  const digests = digestUserCode(service.context.config.keys, user_code)
  const { rows } = await pool.query<{ kind: string }>(
    `select e.kind from audit_events e where e.device_code_id in (
       select id from device_codes where user_code_digest = any($1)) order by e.id`,
    [digests],
  )
  return rows.map(({ kind }) => kind)
}
