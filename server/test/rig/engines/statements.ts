/** Records the statements that this process sends to PostgreSQL: different statements take a different time, which can be measured. */
import { ServerResponse } from 'node:http'
import pg from 'pg'
import { type MockInstance, vi } from 'vitest'

type Statement = string | { readonly text: string }

/** Statements of the work only, without those of background tasks. */
export async function statementsOf<T>(work: () => Promise<T>): Promise<{ result: T; statements: string[] }> {
  const spy = vi.spyOn(pg.Client.prototype, 'query')
  try {
    const result = await work()
    return { result, statements: textsOf(spy) }
  } finally {
    spy.mockRestore()
  }
}

/** Statements of a request until its answer is written, without the work that follows it. */
export async function statementsUntilAnswered(request: () => Promise<unknown>): Promise<string[]> {
  const answered = vi.spyOn(ServerResponse.prototype, 'end')
  const spy = vi.spyOn(pg.Client.prototype, 'query')
  try {
    await request()
    return textsOf(spy, answered.mock.invocationCallOrder[0])
  } finally {
    spy.mockRestore()
    answered.mockRestore()
  }
}

function textsOf(spy: MockInstance, before = Number.POSITIVE_INFINITY): string[] {
  const { calls, contexts, invocationCallOrder } = spy.mock
  const sent = calls.map(([first], at) => ({ text: textOf(first as Statement), on: contexts[at] }))
  return withoutBackground(sent.filter((_, at) => (invocationCallOrder[at] ?? 0) < before)).map(({ text }) => text)
}

/**
 * Background tasks: pulling changes, saving counts and uses, judging, sending mails and webhooks, erasing closed accounts, sealing
 * the audit log, looking for a restore.
 */
const BACKGROUND =
  /left join applications a on a.change_number|left join grant_changes|left join audit_events e|update application_secrets set|application_(hours|minutes|requests)|early_polls|overloads|update mails set|recursive waiting|live_device_codes|audit_seals|signing_keys|refusal_counts|erased_at is null|pg_try_advisory|from restores/

type Sent = { readonly text: string; readonly on: unknown }

/**
 * A background transaction is left out from its `begin` to its end on the same connection. So is one that began before the
 * work or ends after it.
 */
function withoutBackground(sent: readonly Sent[]): readonly Sent[] {
  const open = new Map<unknown, Sent[]>()
  const background = new Set<Sent>()
  for (const each of sent) {
    if (/^begin\b/.test(each.text)) open.set(each.on, [])
    const transaction = open.get(each.on) ?? []
    transaction.push(each)
    const over = /\b(commit|rollback)$/.test(each.text)
    if (!open.has(each.on) || over) {
      const begunBefore = over && !open.has(each.on)
      if (begunBefore || transaction.some(({ text }) => BACKGROUND.test(text)))
        for (const part of transaction) background.add(part)
      open.delete(each.on)
    }
  }
  for (const part of [...open.values()].flat()) background.add(part)
  return sent.filter((each) => !background.has(each))
}

/** Without the id of the request, which differs in every transaction. */
function textOf(statement: Statement): string {
  const text = (typeof statement === 'string' ? statement : (statement.text ?? '')).replace(/\s+/g, ' ').trim()
  return text.replace(/(?<=^begin; set local latchkey\.request_id = ).*/, '…')
}
