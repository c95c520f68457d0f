/** Guessing user codes: unassigned codes, and accounts and networks without other guesses. */
import { randomInt } from 'node:crypto'
import { expect } from 'vitest'
import { checkDigit } from '../../../src/core/device/user-code.ts'
import { makeAccount } from '../make.ts'
import { freshNetwork } from '../network/fresh-network.ts'
import type { TestService } from '../service.ts'
import type { Web } from '../web.ts'

/** An account and a network of its own, so that the misses of one test do not count in the next. */
export async function somewhere({ context }: TestService) {
  return { account: await makeAccount(context.db), headers: someNetwork() }
}

export function someNetwork(): { 'x-forwarded-for': string } {
  return { 'x-forwarded-for': `${freshNetwork()}.7` }
}

/** A well-formed code that, with a probability of one in a hundred million, is assigned. */
export function madeUp(randomDigits = 8): string {
  const digits = Array.from({ length: randomDigits }, () => randomInt(10)).join('')
  return digits + checkDigit(digits)
}

export async function missTimes(web: Web, times: number): Promise<void> {
  for (let miss = 0; miss < times; miss += 1) expect((await web.enterCode(madeUp())).status).toBe(400)
}
