/** Histories that the contract allows, and one for each way to break it. */
import { describe, expect, test } from 'vitest'
import { check, explain } from './check.ts'
import { type Answer, type Call, type Entry, History, type Operation, plain, readPoll } from './history.ts'

type Span = readonly [from: number, to: number]

const operation = (call: Call, answer: Answer | null, [calledAt, answeredAt]: Span): Operation => ({
  call,
  answer,
  calledAt,
  answeredAt: answer === null ? Infinity : answeredAt,
})

const poll = (is: string, at: Span, key: string | null = null): Operation =>
  operation({ do: 'poll', key, path: 'own' }, plain(is), at)
const collect = (credentials: string, at: Span, key: string | null = null): Operation =>
  operation({ do: 'poll', key, path: 'own' }, { is: 'accepted', credentials }, at)
const lostPoll = (at: number, key: string | null = null) =>
  operation({ do: 'poll', key, path: 'own' }, null, [at, Infinity])
const enter = (user: string, is: string, at: Span, account = 'first'): Operation =>
  operation({ do: 'enter', user, account }, plain(is), at)
const own = (at: Span) => enterAs({ user: 'D', account: 'third', person: 'A' }, 'claimed', at)
const instead = (user: string, is: string, at: Span) => enterAs({ user, account: 'first', instead: true }, is, at)
const enterAs = (who: Omit<Entry, 'do'>, is: string, at: Span) => operation({ do: 'enter', ...who }, plain(is), at)
const decide = (what: 'grant' | 'reject', is: string | null, at: Span, user = 'A'): Operation =>
  operation({ do: what, user }, is === null ? null : plain(is), at)
const expire = (at: Span): Operation => operation({ do: 'expire' }, plain('expired'), at)

const requested = operation({ do: 'request' }, plain('requested'), [0, 1])
const claimed = [requested, enter('A', 'claimed', [2, 3])]
const granted = [...claimed, decide('grant', 'granted', [4, 5])]
const rejected = [...claimed, decide('reject', 'rejected', [4, 5])]

describe('accepted', () => {
  const histories: Readonly<Record<string, readonly Operation[]>> = {
    'a code that is polled, granted and collected': [
      ...claimed,
      poll('auth_pending', [3, 4]),
      decide('grant', 'granted', [5, 6]),
      collect('x', [7, 8]),
      poll('invalid', [9, 10]),
    ],
    'a rejected code whose outcome is delivered once': [
      ...rejected,
      poll('auth_rejected', [6, 7]),
      poll('invalid', [8, 9]),
    ],
    'an expired code that can no longer be granted': [
      ...claimed,
      expire([4, 5]),
      decide('grant', 'not_open', [6, 7]),
      poll('auth_expired', [8, 9]),
      poll('invalid', [10, 11]),
    ],
    'a granted code that outlives its expiry': [...granted, expire([6, 7]), collect('x', [8, 9])],
    'a poll beside the grant that is pending, and another that collects before the grant is answered': [
      ...claimed,
      decide('grant', 'granted', [4, 20]),
      poll('auth_pending', [5, 19]),
      collect('x', [6, 18]),
      poll('invalid', [7, 17]),
    ],
    'grant and reject at once, of which one counts': [
      ...claimed,
      decide('grant', 'not_open', [4, 9]),
      decide('reject', 'rejected', [5, 8]),
      poll('auth_rejected', [10, 11]),
    ],
    'a grant without an answer that took effect': [...claimed, decide('grant', null, [4, 5]), collect('x', [90, 91])],
    'a grant without an answer that never did': [
      ...claimed,
      decide('grant', null, [4, 5]),
      poll('auth_pending', [80, 81]),
      expire([90, 91]),
      poll('auth_expired', [92, 93]),
    ],
    'a grant without an answer, retried in vain because it took effect': [
      ...claimed,
      decide('grant', null, [4, 5]),
      decide('grant', 'not_open', [6, 7]),
      collect('x', [8, 9]),
    ],
    'an answer that got lost, and the same credentials for the same Idempotency-Key': [
      ...granted,
      lostPoll(6, 'k'),
      collect('x', [7, 8], 'k'),
      collect('x', [9, 10], 'k'),
      poll('invalid', [11, 12], 'another key'),
    ],
    'an answer that was sent and got lost, without a key': [...granted, lostPoll(6), poll('invalid', [7, 8])],
    'a code that a colleague enters, too': [
      ...claimed,
      enter('B', 'taken', [4, 5]),
      decide('grant', 'granted', [6, 7]),
    ],
    'a code that users of two accounts entered': [
      ...claimed,
      enter('C', 'closed', [4, 5], 'second'),
      decide('grant', 'not_open', [6, 7]),
      enter('A', 'closed', [8, 9]),
      enter('B', 'not_recognised', [10, 11]),
      poll('auth_expired', [12, 13]),
      poll('invalid', [14, 15]),
      enter('C', 'closed', [16, 17], 'second'),
    ],
    'a code that the same person takes to another account, and back': [
      ...claimed,
      own([4, 5]),
      decide('grant', 'not_open', [6, 7]),
      poll('auth_pending', [8, 9]),
      enter('A', 'claimed', [10, 11]),
      decide('grant', 'not_open', [12, 13], 'D'),
      decide('grant', 'granted', [14, 15]),
    ],
    'a code that a colleague takes over': [
      ...claimed,
      enter('B', 'taken', [4, 5]),
      instead('B', 'claimed', [6, 7]),
      decide('reject', 'not_open', [8, 9]),
      instead('A', 'taken', [10, 11]),
      decide('grant', 'granted', [12, 13], 'B'),
    ],
    'a released code that somebody else claims': [
      ...claimed,
      operation({ do: 'unclaim', user: 'A' }, plain('released'), [4, 5]),
      enter('C', 'claimed', [6, 7], 'second'),
      decide('grant', 'granted', [8, 9], 'C'),
    ],
    'a poll on the path of the other variant': [
      ...granted,
      operation({ do: 'poll', key: null, path: 'other' }, plain('invalid'), [6, 7]),
      collect('x', [8, 9]),
    ],
  }
  test.each(Object.keys(histories))('%s', (name) => {
    expect(explain(histories[name] ?? [])).toBeNull()
  })
})

describe('refused', () => {
  const histories: Readonly<Record<string, readonly Operation[]>> = {
    'two token sets': [...granted, collect('x', [6, 9]), collect('y', [7, 8])],
    'one token set for two polls': [...granted, collect('x', [6, 9]), collect('x', [7, 8])],
    'other credentials for the same Idempotency-Key': [
      ...granted,
      collect('x', [6, 7], 'k'),
      collect('y', [8, 9], 'k'),
    ],
    'credentials for another Idempotency-Key': [...granted, collect('x', [6, 7], 'k'), collect('x', [8, 9], 'l')],
    'invalid for the same Idempotency-Key': [...granted, collect('x', [6, 7], 'k'), poll('invalid', [8, 9], 'k')],
    'a grant that is lost after it was answered: pending': [...granted, poll('auth_pending', [6, 7])],
    'a grant that is lost after it was answered: slow_down': [...granted, poll('slow_down', [6, 7])],
    'a grant that is lost after it was answered: expired': [...granted, expire([6, 7]), poll('auth_expired', [8, 9])],
    'a grant that nobody collected, and invalid': [...granted, poll('invalid', [6, 7])],
    'rejected, then collected': [...rejected, collect('x', [6, 7])],
    'rejected, then granted': [...rejected, decide('grant', 'granted', [6, 7])],
    'granted, then rejected': [...granted, decide('reject', 'rejected', [6, 7])],
    'granted twice': [...granted, decide('grant', 'granted', [6, 7])],
    'granted and rejected at once': [
      ...claimed,
      decide('grant', 'granted', [4, 9]),
      decide('reject', 'rejected', [5, 8]),
    ],
    'pending after the credentials were delivered': [...granted, collect('x', [6, 7]), poll('auth_pending', [8, 9])],
    'pending after an answer of the rejection': [...rejected, poll('auth_rejected', [6, 7]), poll('slow_down', [8, 9])],
    'a rejection delivered twice': [...rejected, poll('auth_rejected', [6, 7]), poll('auth_rejected', [8, 9])],
    'expired before its time': [requested, poll('auth_expired', [2, 3]), expire([4, 5])],
    'pending after its time': [requested, expire([4, 5]), poll('auth_pending', [6, 7])],
    'granted after its time': [...claimed, expire([4, 5]), decide('grant', 'granted', [6, 7])],
    'granted after a poll heard that it expired': [
      ...claimed,
      expire([4, 20]),
      poll('auth_expired', [5, 6]),
      decide('grant', 'granted', [7, 8]),
    ],
    'granted by who did not enter it': [...claimed, decide('grant', 'granted', [4, 5], 'B')],
    'granted by who released it': [
      ...claimed,
      operation({ do: 'unclaim', user: 'A' }, plain('released'), [4, 5]),
      decide('grant', 'granted', [6, 7]),
    ],
    'claimed by two users': [...claimed, enter('B', 'claimed', [4, 5])],
    'granted after users of two accounts entered it': [
      ...claimed,
      enter('C', 'closed', [4, 5], 'second'),
      decide('grant', 'granted', [6, 7]),
    ],
    'pending after users of two accounts entered it': [
      ...claimed,
      enter('C', 'closed', [4, 5], 'second'),
      poll('auth_pending', [6, 7]),
    ],
    'that it was closed, to somebody who has no part in it': [
      ...claimed,
      enter('C', 'closed', [4, 5], 'second'),
      enter('B', 'closed', [6, 7]),
    ],
    'granted by who took it to another account': [...claimed, own([4, 5]), decide('grant', 'granted', [6, 7])],
    'granted from whom a colleague took it over': [
      ...claimed,
      instead('B', 'claimed', [4, 5]),
      decide('grant', 'granted', [6, 7]),
    ],
    'taken over twice': [...claimed, instead('B', 'claimed', [4, 5]), instead('A', 'claimed', [6, 7])],
    'entered after it was decided': [...granted, enter('A', 'claimed', [6, 7])],
    'collected before it was granted': [...claimed, collect('x', [4, 5]), decide('grant', 'granted', [6, 7])],
    'credentials on the path of the other variant': [
      ...granted,
      operation({ do: 'poll', key: null, path: 'other' }, { is: 'accepted', credentials: 'x' }, [6, 7]),
    ],
    'used by a poll on the path of the other variant': [
      ...granted,
      operation({ do: 'poll', key: null, path: 'other' }, plain('invalid'), [6, 7]),
      poll('invalid', [8, 9]),
    ],
    'collected although no grant was even tried': [...claimed, collect('x', [4, 5])],
    'an unknown grant that took effect and was undone': [
      ...claimed,
      decide('grant', null, [4, 5]),
      decide('reject', 'not_open', [6, 7]),
      poll('auth_pending', [8, 9]),
    ],
    'an unknown grant that took effect before it was sent': [
      ...claimed,
      collect('x', [4, 5]),
      decide('grant', null, [6, 7]),
    ],
    'an answer that is none of the six': [...granted, poll('unavailable', [6, 7])],
  }
  test.each(Object.keys(histories))('%s', (name) => {
    expect(check(histories[name] ?? []).accepted).toBe(false)
  })

  test('with its operations, the unexplained ones marked', () => {
    expect(explain([...granted, collect('token-one', [6, 7]), collect('token-two', [8, 9])])).toBe(
      `no order explains this history:
  0.0 to 1.0: request: requested
  2.0 to 3.0: enter A first: claimed
  4.0 to 5.0: grant A: granted
  6.0 to 7.0: poll own: accepted en-one
* 8.0 to 9.0: poll own: accepted en-two`,
    )
  })
})

describe('a recorded history', () => {
  const wire = (status: number, body: unknown) => ({ status, body, text: '', headers: {} })

  test('contains the end of the lifetime, and what was asked in vain', async () => {
    const history = new History()
    history.requested(performance.now(), 900)
    const call: Call = { do: 'poll', key: null, path: 'own' }
    await history.record(call, async () => wire(400, { error: 'auth_pending' }), readPoll)
    await history.record(call, async () => wire(503, { error: 'unavailable' }), readPoll)
    const failing = history.record({ do: 'grant', user: 'A' }, () => Promise.reject(new Error('reset')), plain)
    await expect(failing).rejects.toThrow('reset')
    expect(history.operations.map((each) => [each.call.do, each.answer?.is ?? null])).toEqual([
      ['request', 'requested'],
      ['expire', 'expired'],
      ['poll', 'auth_pending'],
      ['poll', null],
      ['grant', null],
    ])
    expect(history.operations[1]?.calledAt).toBeGreaterThan(performance.now() + 899_000)
    expect(explain(history.operations)).toBeNull()
  })

  test('may be told to accept that a code was pending some time ago', async () => {
    const history = new History()
    history.requested(performance.now(), 900)
    await history.record({ do: 'enter', user: 'A', account: 'first' }, async () => 'claimed', plain)
    await history.record({ do: 'grant', user: 'A' }, async () => 'granted', plain)
    const call: Call = { do: 'poll', key: null, path: 'own' }
    await history.record(call, async () => wire(400, { error: 'auth_pending' }), readPoll)
    expect(explain(history.operations)).not.toBeNull()
    history.pendingMayBeOld(10_000)
    expect(explain(history.operations)).toBeNull()
  })
})
