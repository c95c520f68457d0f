/** Which statements this process sends to PostgreSQL: what takes other statements takes another time, and time can be told. */
import pg from 'pg'
import { vi } from 'vitest'

type Statement = string | { readonly text: string }

/** Those of the work alone; what runs beside it each second is left out. */
export async function statementsOf<T>(work: () => Promise<T>): Promise<{ result: T; statements: string[] }> {
  const spy = vi.spyOn(pg.Client.prototype, 'query')
  try {
    const result = await work()
    const texts = spy.mock.calls.map(([first]) => textOf(first as unknown as Statement))
    return { result, statements: texts.filter((text) => !BESIDE.test(text)) }
  } finally {
    spy.mockRestore()
  }
}

/** Pulling applications, sending mails. */
const BESIDE = /clock left join applications|update mails set/

function textOf(statement: Statement): string {
  return (typeof statement === 'string' ? statement : (statement.text ?? '')).replace(/\s+/g, ' ').trim()
}
