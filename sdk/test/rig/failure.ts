/** The error of work that must fail. */
import { expect } from 'vitest'

export const failure = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => expect.unreachable(),
    (error) => error,
  )
