/** The part of `node:timers/promises` that the tests use, for a page. The library uses nothing of Node. */
export const setTimeout = <T>(ms: number, value?: T): Promise<T | undefined> =>
  new Promise((resolve) => globalThis.setTimeout(resolve, ms, value))

/** After all pending promises and response bodies: a browser reads those in its own order. */
export const setImmediate = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) {
    for await (const _ of new Response('.').body ?? []) await setTimeout(0)
  }
}
