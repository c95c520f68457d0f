/** What the tests themselves take from `node:timers/promises`, for a page. The library takes nothing from Node. */
export const setTimeout = <T>(ms: number, value?: T): Promise<T | undefined> =>
  new Promise((resolve) => globalThis.setTimeout(resolve, ms, value))

/** After everything that waits for nothing but promises and bodies of answers: a browser reads those in an order of their own. */
export const setImmediate = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) {
    for await (const _ of new Response('.').body ?? []) await setTimeout(0)
  }
}
