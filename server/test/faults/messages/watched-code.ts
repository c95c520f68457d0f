/** A device code in a case: every request about it is recorded, and judged at the end together with its rows. */
import { setTimeout as sleep } from 'node:timers/promises'
import { MAX_HINT_MS } from '../../../src/gate/gate.ts'
import { explain } from '../../history/check.ts'
import { type Answer, type Call, History, plain, readPoll } from '../../history/history.ts'
import type { CodeRecord, Device, WireAnswer, WireVariant } from '../../rig/device.ts'
import { codeRow } from '../../rig/witness.ts'
import { type After, attempt, countRows, type Problem } from './flow.ts'
import type { Harness } from './harness.ts'

export type CodeOutcome = 'accepted' | 'auth_rejected' | 'auth_expired'

/** A pending answer may be as old as a hint, and as the time that a silent PostgreSQL was waited for. */
const PENDING_MAY_BE_OLD_MS = MAX_HINT_MS + 10_000

const PENDING = ['auth_pending', 'slow_down']
const POLLS = 40
const PAUSE_MS = 400

export class WatchedCode {
  readonly harness: Harness
  readonly device: Device
  readonly record: CodeRecord
  readonly history = new History()
  /** The first final outcome that the device heard. */
  #heard: Answer | null = null

  constructor(harness: Harness, device: Device, record: CodeRecord, calledAt: number) {
    this.harness = harness
    this.device = device
    this.record = record
    // The clock of the database is moved; where a code expires, that is recorded.
    this.history.requested(calledAt, Number.POSITIVE_INFINITY)
    this.history.pendingMayBeOld(PENDING_MAY_BE_OLD_MS)
  }

  static async request(harness: Harness, variant: WireVariant = 'oauth'): Promise<WatchedCode> {
    const device = harness.service.device(variant)
    const calledAt = performance.now()
    return new WatchedCode(harness, device, await device.code(), calledAt)
  }

  expire(): Promise<void> {
    const advance = () => this.harness.service.database.advance(this.record.expires_in * 1000 + 1)
    return this.history.record({ do: 'expire' }, advance, () => plain('expired'))
  }

  /** Null: the device heard nothing. */
  async poll(headers: Record<string, string> = {}): Promise<WireAnswer | null> {
    const call: Call = { do: 'poll', key: headers['idempotency-key'] ?? null, path: 'own' }
    const answer = await attempt(() =>
      this.history.record(call, () => this.device.poll(this.record.device_code, headers), readPoll),
    )
    const read = answer && readPoll(answer)
    if (read && !PENDING.includes(read.is)) this.#heard ??= read
    return answer
  }

  /** Polls until the outcome, checks that it is delivered once, and judges history and rows. */
  async collect(expected: CodeOutcome, { killed }: After): Promise<readonly Problem[]> {
    for (let poll = 0; this.#heard === null && poll < POLLS; poll += 1) {
      await this.poll()
      if (this.#heard !== null) break
      // Nobody is delivering: the lease of an answer that was never sent ends.
      await this.harness.endLeases()
      await sleep(PAUSE_MS)
    }
    const heard: Answer | null = this.#heard
    const problems: Problem[] = []
    if (heard === null) problems.push({ kind: 'lost', text: `the device never heard ${expected}` })
    else if (heard.is !== expected)
      problems.push({ kind: 'lost', text: `the device heard ${heard.is}, not ${expected}` })
    else problems.push(...(await this.#checkOnce(heard, killed)))
    const explained = explain(this.history.operations)
    if (explained !== null) problems.push({ kind: 'wrong', text: explained })
    return [...problems, ...(await this.#checkRows(expected))]
  }

  /** After the outcome the code is invalid. A delivery that is being recorded may take a moment. */
  async #checkOnce(heard: Answer, killed: boolean): Promise<readonly Problem[]> {
    for (let poll = 0; poll < POLLS; poll += 1) {
      const answer = await attempt(() => this.device.poll(this.record.device_code))
      const again = answer && readPoll(answer)
      if (again && !PENDING.includes(again.is)) {
        if (again.is === 'invalid') return []
        if (killed && again.is === heard.is && again.credentials === heard.credentials) return []
        return [{ kind: 'double', text: `after ${heard.is} the device heard ${again.is}` }]
      }
      if (killed) await this.harness.endLeases()
      await sleep(PAUSE_MS)
    }
    return [{ kind: 'wrong', text: `after ${heard.is} the code never became invalid` }]
  }

  async #checkRows(expected: CodeOutcome): Promise<readonly Problem[]> {
    const row = await codeRow(this.harness.service, this.record.user_code)
    if (!row) return [{ kind: 'lost', text: 'the row of the code is gone' }]
    const events = 'from audit_events where device_code_id = $1 and kind = $2'
    const [granted, rejected] = [expected === 'accepted' ? 1 : 0, expected === 'auth_rejected' ? 1 : 0]
    return [
      ...(await countRows(this.harness, 'grants', granted, 'from grants where device_code_id = $1', [row.id])),
      ...(await countRows(this.harness, 'grant.created', granted, events, [row.id, 'grant.created'])),
      ...(await countRows(this.harness, 'code.rejected', rejected, events, [row.id, 'code.rejected'])),
    ]
  }
}
