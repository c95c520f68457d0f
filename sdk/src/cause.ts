/** The cause of a fault, without anything that could quote a request: its message, stack and other fields are dropped. */

export interface Cause {
  /** Such as `TypeError` or `TimeoutError`. */
  readonly name?: string
  /** The platform's code, such as `ECONNREFUSED`. */
  readonly code?: string
  /** Such as `connect`. */
  readonly syscall?: string
}

const NAME = /^[A-Za-z][A-Za-z0-9]{0,39}$/
const CODE = /^[A-Z][A-Z0-9_]{1,39}$/
const SYSCALL = /^[a-z][a-z0-9_]{0,39}$/

/** `fetch` wraps the system's error in a TypeError; its name says less than the wrapped one. */
export function sanitisedCause(error: unknown): Cause | undefined {
  const wrapped = (error as { cause?: unknown } | null)?.cause
  const { name, code, syscall } = (wrapped ?? error ?? {}) as Record<string, unknown>
  const cause = {
    ...(typeof name === 'string' && NAME.test(name) ? { name } : {}),
    ...(typeof code === 'string' && CODE.test(code) ? { code } : {}),
    ...(typeof syscall === 'string' && SYSCALL.test(syscall) ? { syscall } : {}),
  }
  return Object.keys(cause).length === 0 ? undefined : cause
}
