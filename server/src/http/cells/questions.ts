/**
 * Questions of other cells (docs/decisions/0060-cells-on-plain-postgresql.md). A request without the MAC of one of our
 * keys is answered as if there were no such path.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { CELL_MAC } from '../../cell-link.ts'
import { Refusal } from '../../core/refusal.ts'
import { type Cells, QUESTIONS, type Question } from '../../flows/cells/cells.ts'
import type { Context } from '../../flows/context.ts'
import { type DeliveryTicket, type Settlement, settleInHolderCell } from '../../flows/device/deliver.ts'
import { closeClaimedCode, giveBackCode, handOverCode } from '../../flows/device/hand-over.ts'
import { type Look, lookHere } from '../../flows/device/look.ts'
import { wakePolls } from '../../flows/device/wake-polls.ts'
import { receiveDialog } from '../../flows/dialog/hand-over.ts'
import { signCellResponse, verifyCellRequest } from '../../secrets/cells/cell-message.ts'
import { findAccount, findAccountId } from '../../store/accounts/accounts.ts'
import type { DeviceCodeKey } from '../../store/device/codes.ts'
import type { CodeRow } from '../../store/device/hand-over.ts'
import type { DialogRow } from '../../store/dialog/hand-over.ts'
import { singleHeader } from '../header.ts'

/** The largest question contains a device code with its scopes and state. */
const MAX_BYTES = 1_048_576

type Body = {
  'hand-over': { readonly digests: readonly string[]; readonly applicationId: string | null; readonly to: number }
  'give-back': { readonly row: CodeRow; readonly handovers: number; readonly issuer: number }
  close: { readonly key: DeviceCodeKey }
  look: Look
  settle: { readonly ticket: DeliveryTicket; readonly how: Settlement; readonly onward?: true }
  decided: { readonly id: string }
  account: { readonly slug: string }
  dialog: { readonly row: DialogRow }
}

type Answers = {
  readonly [Each in Question]: (context: Context, cells: Cells, body: Body[Each]) => Promise<object>
}

const answers: Answers = {
  'hand-over': (context, cells, { digests, applicationId, to }) =>
    handOverCode(context, cells, { digests, applicationId }, to),
  'give-back': (context, _cells, { row, handovers, issuer }) => giveBackCode(context, issuer, row, handovers),
  close: async (context, _cells, { key }) => ({ closed: await closeClaimedCode(context, key) }),
  look: async (context, _cells, look) => ({ result: await lookHere(context, look) }),
  settle: async (context, _cells, { ticket, how, onward }) => {
    await settleInHolderCell(context, ticket, how, onward)
    return {}
  },
  decided: async (context, _cells, { id }) => {
    await wakePolls(context, id)
    return {}
  },
  // A closed account is not known, and keeps its slug.
  account: async ({ db }, _cells, { slug }) => ({
    known: (await findAccount(db, slug)) !== null,
    taken: (await findAccountId(db, slug)) !== null,
  }),
  dialog: async (context, _cells, { row }) => {
    await receiveDialog(context, row)
    return {}
  },
}

export type CellServer = (request: IncomingMessage, response: ServerResponse, path: string) => Promise<void>

export function createCellServer(context: Context, cells: Cells): CellServer {
  const { keys } = context.config
  return async (request, response, path) => {
    const question = path.slice(QUESTIONS.length) as Question
    const proof = singleHeader(request, CELL_MAC) ?? ''
    if (request.method !== 'POST' || !Object.hasOwn(answers, question) || proof === '') throw new Refusal('not_found')
    const body = await readBody(request)
    if (!verifyCellRequest(keys, { cell: cells.own, path, body }, proof, Date.now())) throw new Refusal('not_found')
    const answer = answers[question] as (context: Context, cells: Cells, body: unknown) => Promise<object>
    const text = JSON.stringify(await answer(context, cells, JSON.parse(body)))
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      'cache-control': 'no-store',
      [CELL_MAC]: signCellResponse(keys, proof, text),
    })
    response.end(text)
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of request) {
      bytes += (chunk as Buffer).length
      if (bytes > MAX_BYTES) throw new Refusal('not_found')
      chunks.push(chunk as Buffer)
    }
  } catch {
    // The other side disconnected while sending; it will not receive the response.
    throw new Refusal('not_found')
  }
  return Buffer.concat(chunks).toString()
}
