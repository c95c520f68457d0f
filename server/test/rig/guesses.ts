/** Guessing user codes: codes that nobody has, and places where nobody else guesses. */
import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { createUserCode } from '../../src/secrets/random.ts'
import { makeAccount } from './make.ts'
import type { TestService } from './service.ts'
import type { Web } from './web.ts'

/** An account and a network that nobody else is in, so that the misses of one test are not counted against the next. */
export async function somewhere({ context }: TestService) {
  return { account: await makeAccount(context.db), headers: someNetwork() }
}

export function someNetwork(): { 'x-forwarded-for': string } {
  return { 'x-forwarded-for': `203.${randomBytes(2).join('.')}.7` }
}

/** Well formed, and in all likelihood nobody's: one in a hundred million. */
export function madeUp(): string {
  return createUserCode(8)
}

export async function missTimes(web: Web, times: number): Promise<void> {
  for (let miss = 0; miss < times; miss += 1) expect((await web.enterCode(madeUp())).status).toBe(400)
}
