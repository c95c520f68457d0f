/** One device code of a running server and its model: each operation is applied to both, and the answers are compared. */
import { isDeepStrictEqual } from 'node:util'
import { grantDeviceCode, rejectDeviceCode } from '../../src/flows/device/decide.ts'
import { settleDelivery } from '../../src/flows/device/deliver.ts'
import { enterUserCode } from '../../src/flows/device/enter-code.ts'
import { pollDeviceCode } from '../../src/flows/device/poll.ts'
import { createApplicationSecret } from '../../src/secrets/application-secret.ts'
import { verifyDeviceCode } from '../../src/secrets/device-code-text.ts'
import { readClock } from '../../src/store/device/partitions.ts'
import { type CodeRecord, Device, post, type WireAnswer, type WireVariant, withoutExpiresIn } from '../rig/device.ts'
import { ACCOUNTS, type User } from './core-operations.ts'
import { checkIssued } from './issued-answer.ts'
import { type Early, Pace } from './pace.ts'
import { type Outcome, type PollAnswer, ReferenceCode } from './reference-model.ts'
import type { ServerOperation, Stranger } from './server-operations.ts'
import type { World } from './server-world.ts'

/** Enough for a poll to be held. */
const ON_ITS_WAY_MS = 30

type Expected = { readonly expected: PollAnswer; readonly lease: string }

type Polling = Extract<ServerOperation, { readonly do: 'poll' | 'vanish' | 'die' }>

export class ServerCode {
  readonly model: ReferenceCode
  readonly #world: World
  readonly #device: Device
  readonly #record: CodeRecord
  readonly #place: { readonly id: string; readonly expiresAt: number }
  readonly #pace = new Pace()
  /** The model's time at 0 of this process's monotonic clock. */
  #clockOffset: number
  #polls = 0
  #accepted: WireAnswer | null = null

  static async request(world: World, variant: WireVariant): Promise<ServerCode> {
    const device = world.service.device(variant)
    const record = await device.code({ state: `state of ${variant}` })
    const clock = await readClock(world.service.context.db)
    return new ServerCode(world, device, record, clock)
  }

  private constructor(world: World, device: Device, record: CodeRecord, clock: number) {
    const { config, application } = world.service
    const opened = verifyDeviceCode(config.keys, record.device_code, application.id)
    if (!opened) throw new Error('the device code does not verify')
    this.#world = world
    this.#device = device
    this.#record = record
    this.#place = opened
    this.#clockOffset = clock - performance.now()
    this.model = new ReferenceCode(clock, opened.expiresAt)
  }

  /** How long to wait before the next poll is not early. */
  get paceMs(): number {
    return this.#pace.waitMs(performance.now())
  }

  setClock(now: number): void {
    this.#clockOffset = now - performance.now()
    this.tick()
  }

  /** Real time passes, too. */
  tick(): void {
    this.model.now = this.#clockOffset + performance.now()
  }

  async advance(ms: number): Promise<void> {
    const { database, context } = this.#world.service
    await database.advance(ms)
    // A hint lives for up to 10 s of Redis's time, capped by the code's expiry as PostgreSQL's clock stood at reading
    // time. Redis does not know that we moved that clock, so the hint that would have ended with the code is dropped.
    await context.gate.drop(this.#place.id)
    this.#clockOffset += ms
    this.tick()
  }

  async poll(key: string | null): Promise<string> {
    const headers: Record<string, string> = key === null ? {} : { 'idempotency-key': key }
    const from = performance.now()
    const answer = await this.#device.poll(this.#record.device_code, headers)
    const { expected, lease } = await this.#expect({ from, to: performance.now() }, key, wordOf(answer))
    const word = this.#compare(answer, expected)
    this.model.confirm(lease)
    return word
  }

  /**
   * The decision is made while the poll is held, or, on a busy machine, just before it arrives: its answer is the same. A
   * poll that no decision will end asks to wait for a second only.
   */
  async pollHeld(decision: 'grant' | 'reject', user: User): Promise<string> {
    const from = performance.now()
    const decides = this.model.open && this.model.claimedBy === user
    const poll = this.#device.poll(this.#record.device_code, { prefer: decides ? 'wait=20' : 'wait=1' })
    await new Promise((resolve) => setTimeout(resolve, ON_ITS_WAY_MS))
    await this[decision](user)
    const answer = await poll
    const { expected, lease } = await this.#expect({ from, to: performance.now() }, null, wordOf(answer))
    const word = this.#compare(answer, expected)
    this.model.confirm(lease)
    return word
  }

  /** One of the two wins; either is correct. */
  async pollTwiceAtOnce(): Promise<string> {
    const from = performance.now()
    const answers = await Promise.all([1, 2].map(() => this.#device.poll(this.#record.device_code)))
    const span = { from, to: performance.now() }
    // In the order in which they can have happened: the winner first.
    const order = ['accepted', 'rejected', 'expired', 'auth_pending', 'slow_down', 'invalid']
    const words = answers.map(wordOf).sort((a, b) => order.indexOf(a) - order.indexOf(b))
    for (const word of words) {
      const { expected, lease } = await this.#expect(span, null, word)
      same(`one of two polls at once (${words.join(' and ')})`, word, onTheWire(expected))
      this.model.confirm(lease)
    }
    for (const answer of answers) if (answer.status === 200) this.#keepAccepted(answer)
    return words.join(' and ')
  }

  async stranger(who: Stranger): Promise<string> {
    const { service, stranger } = this.#world
    const { address, application } = service
    const code = this.#record.device_code
    const otherVariant = this.#device.variant === 'oauth' ? 'key' : 'oauth'
    const answer = await {
      'wrong secret': () =>
        new Device(address, { ...application, secret: createApplicationSecret() }, this.#device.variant).poll(code),
      'other variant': () => new Device(address, application, otherVariant).poll(code),
      'other application': () => new Device(address, stranger, this.#device.variant).poll(code),
      'altered code': () => this.#device.poll(altered(code)),
    }[who]()
    if (wordOf(answer) !== 'invalid')
      throw new Error(`a stranger (${who}) was answered ${answer.status} ${answer.text}`)
    return 'invalid'
  }

  /** A poll in this process up to the unsent answer: then its client disconnects, or the process dies. */
  async pollWithoutSending({ do: fate, key }: Polling): Promise<string> {
    const { context, application } = this.#world.service
    const from = performance.now()
    const result = await pollDeviceCode(context, {
      applicationId: application.id,
      secret: application.secret,
      deviceCode: this.#record.device_code,
      variant: this.#device.variant === 'oauth' ? 'token_set' : 'access_key',
      idempotencyKey: key,
      wait: null,
    })
    const word = result.outcome.replace(/^auth_(rejected|expired)$/, '$1')
    const { expected, lease } = await this.#expect({ from, to: performance.now() }, key, word)
    same('a poll', word, onTheWire(expected))
    if (fate === 'vanish') {
      if ('ticket' in result && result.ticket) await settleDelivery(context, result.ticket, false)
      this.model.release(lease)
    }
    return word
  }

  async claim(user: User, instead = false): Promise<string> {
    const {
      users,
      service: { context },
    } = this.#world
    const { outcome } = await enterUserCode(
      context,
      users[user].id,
      this.#record.user_code,
      { kind: 'command_line' },
      instead,
    )
    const expected = this.model.enter(user, ACCOUNTS[user], user, instead)
    return same('entering the code', outcome, expected)
  }

  async grant(user: User): Promise<string> {
    const {
      users,
      service: { context },
    } = this.#world
    const { outcome } = await grantDeviceCode(context, users[user].id, this.#place)
    return same('granting', outcome, this.model.grant(user))
  }

  async reject(user: User): Promise<string> {
    const {
      users,
      service: { context },
    } = this.#world
    const { outcome } = await rejectDeviceCode(context, users[user].id, this.#place)
    return same('rejecting', outcome, this.model.reject(user))
  }

  /** The expected final row; the confirmation of an answer may still be pending. */
  async checkRow(): Promise<void> {
    const { model } = this
    const { service, users } = this.#world
    const shouldBe = {
      status: model.status === 'expired' ? 'pending' : model.status,
      outcome: model.sent ?? (model.lease === null ? null : (model.decision ?? 'expired')),
      claimed_by: model.claimedBy === null ? null : users[model.claimedBy as User].id,
      also_entered: model.view.alsoEntered,
      grants: model.grants,
    }
    for (let tries = 0; ; tries += 1) {
      const [row] = await service.database.query(
        `select status, outcome, claimed_by, also_entered, (select count(*)::int from grants where device_code_id = d.id) as grants
         from public.device_codes d where id = $1 and expires_at = $2`,
        [this.#place.id, new Date(this.#place.expiresAt)],
      )
      if (isDeepStrictEqual({ ...row }, shouldBe)) return
      if (tries === 50) throw new Error(`the row is ${JSON.stringify(row)}, not ${JSON.stringify(shouldBe)}`)
      await new Promise((resolve) => setTimeout(resolve, 20 * tries))
    }
  }

  /** The model's answer. Near the boundary of the pace, the one that the server gave. */
  async #expect(span: { from: number; to: number }, key: string | null, got: string): Promise<Expected> {
    this.#polls += 1
    const lease = `poll ${this.#polls}`
    const judged = this.#pace.judge(span)
    const paced: Early = got === 'slow_down' ? 'yes' : got === 'auth_pending' ? 'no' : judged
    const open = judged === 'either' || (judged === 'yes' && paced === 'no' && (await this.#gateIsAway()))
    const early = open ? paced : judged
    this.#pace.polled(span, early)
    // A lease may have begun as late as now, so its end in the model is never before its real one.
    this.tick()
    const answer = this.model.poll(lease, early === 'yes', key)
    // The outcome is not released, so after some seconds the device gets auth_pending.
    if (answer === 'being_delivered') return { expected: early === 'yes' ? 'slow_down' : 'auth_pending', lease }
    return { expected: answer, lease }
  }

  /** An unavailable gate may accept an early poll (gate/gate.ts). On a busy machine this happens. */
  async #gateIsAway(): Promise<boolean> {
    const { address, context } = this.#world.service
    const { body } = await post(address, '/health/ready', { method: 'GET' })
    return body.gate === 'down' || !context.gate.answers
  }

  #compare(answer: WireAnswer, expected: PollAnswer): string {
    if (wordOf(answer) !== onTheWire(expected)) {
      throw new Error(`a poll was answered ${answer.status} ${answer.text}, not ${expected}`)
    }
    if (answer.status === 200) this.#keepAccepted(answer, expected === 'accepted again')
    return expected
  }

  #keepAccepted(answer: WireAnswer, again = false): void {
    checkIssued(this.#world.service, this.#device.variant, answer, this.#accepted)
    if (again && withoutExpiresIn(answer.text) !== withoutExpiresIn(this.#accepted?.text ?? '')) {
      throw new Error('a repeated poll was answered with other credentials')
    }
    this.#accepted = answer
  }
}

function onTheWire(expected: PollAnswer): string {
  return expected.replace(/ again$/, '')
}

/** The six outcomes of a poll, in the model's terms. Anything else is left as it is and matches nothing. */
function wordOf({ status, body, text }: WireAnswer): string {
  if (status === 200) return 'accepted' satisfies Outcome
  if (status !== 400) return `${status} ${text}`
  return { auth_rejected: 'rejected', auth_expired: 'expired' }[String(body.error)] ?? String(body.error)
}

function same(what: string, got: string, expected: string): string {
  if (got !== expected) throw new Error(`${what} was answered ${got}, not ${expected}`)
  return got
}

/** Another last character of the body, so that only the MAC differs. */
function altered(code: string): string {
  const at = 20
  return code.slice(0, at) + (code[at] === 'A' ? 'B' : 'A') + code.slice(at + 1)
}
