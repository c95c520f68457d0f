/** Guessing user codes: unassigned codes, and accounts and networks without other guesses. */
import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { createUserCode } from '../../src/secrets/random.ts'
import { makeAccount } from './make.ts'
import type { TestService } from './service.ts'
import type { Web } from './web.ts'

/** An account and a network of its own, so that the misses of one test do not count in the next. */
export async function somewhere({ context }: TestService) {
  return { account: await makeAccount(context.db), headers: someNetwork() }
}

export function someNetwork(): { 'x-forwarded-for': string } {
  return { 'x-forwarded-for': `203.${randomBytes(2).join('.')}.7` }
}

/** A well-formed code that, with a probability of one in a hundred million, is assigned. */
export function madeUp(): string {
  return createUserCode(8)
}

export async function missTimes(web: Web, times: number): Promise<void> {
  for (let miss = 0; miss < times; miss += 1) expect((await web.enterCode(madeUp())).status).toBe(400)
}
