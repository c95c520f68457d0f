/** A device code of running servers, with the history of all requests about it, and the verdict over many of them. */
import type { Context } from '../../src/flows/context.ts'
import { type GrantResult, grantDeviceCode, rejectDeviceCode } from '../../src/flows/device/decide.ts'
import { type EntryResult, enterUserCode } from '../../src/flows/device/enter-code.ts'
import type { DeviceCodeKey } from '../../src/store/device/codes.ts'
import type { CodeRecord, Device, WireAnswer, WireVariant } from '../rig/device.ts'
import type { MadeUser } from '../rig/make.ts'
import { explain } from './check.ts'
import { History, plain, readPoll } from './history.ts'

const outcomeOf = ({ outcome }: { readonly outcome: string }) => plain(outcome)

export class RecordedCode {
  readonly history: History
  readonly record: CodeRecord
  readonly #variant: WireVariant

  constructor(history: History, record: CodeRecord, variant: WireVariant) {
    this.history = history
    this.record = record
    this.#variant = variant
  }

  poll(device: Device, headers: Record<string, string> = {}): Promise<WireAnswer> {
    const path = device.variant === this.#variant ? 'own' : 'other'
    const send = () => device.poll(this.record.device_code, headers)
    return this.history.record({ do: 'poll', key: headers['idempotency-key'] ?? null, path }, send, readPoll)
  }

  /** Each user of these proofs is the only one of their account. */
  enter(context: Context, { id }: MadeUser): Promise<EntryResult> {
    const send = () => enterUserCode(context, id, this.record.user_code)
    return this.history.record({ do: 'enter', user: id, account: `of ${id}` }, send, outcomeOf)
  }

  grant(context: Context, { id }: MadeUser, key: DeviceCodeKey): Promise<GrantResult> {
    return this.history.record({ do: 'grant', user: id }, () => grantDeviceCode(context, id, key), outcomeOf)
  }

  reject(context: Context, { id }: MadeUser, key: DeviceCodeKey): ReturnType<typeof rejectDeviceCode> {
    return this.history.record({ do: 'reject', user: id }, () => rejectDeviceCode(context, id, key), outcomeOf)
  }
}

export class RecordedCodes {
  readonly #histories: History[] = []

  /** A code whose request was just answered. */
  add({ variant }: Device, record: CodeRecord, calledAt: number): RecordedCode {
    const history = new History()
    history.requested(calledAt, record.expires_in)
    this.#histories.push(history)
    return new RecordedCode(history, record, variant)
  }

  /** Prints the counts and returns the problems. */
  judge(proof: string): string[] {
    const problems = this.#histories.map(({ operations }) => explain(operations)).filter((problem) => problem !== null)
    const histories = this.#histories.length
    console.log(`${proof}: histories=${histories} accepted=${histories - problems.length}`)
    return problems
  }
}
