/** A user of the soak: signs in with a password, decides about codes on the pages, and removes what is left every month. */

import { SESSION } from '../../../src/http/web/cookies.ts'
import type { MadeUser } from '../../rig/make.ts'
import type { Web } from '../../rig/web.ts'
import { attempt, untilServed } from '../messages/flow.ts'

export const PASSWORD = 'seven green bottles'

const TRIES = 20

export class Person {
  readonly user: MadeUser
  readonly web: Web

  constructor(user: MadeUser, web: Web) {
    this.user = user
    this.web = web
  }

  /** Tries again, as people do when a page does not come. */
  async signIn(): Promise<void> {
    this.web.cookies.delete(SESSION)
    for (let tried = 0; tried < TRIES; tried += 1) {
      await untilServed(null, () => this.web.get('/sign-in'))
      await attempt(() => this.web.submit('/sign-in', { email: this.user.email, password: PASSWORD }))
      if (this.web.cookies.has(SESSION)) return
    }
    throw new Error(`${this.user.email} cannot sign in: ${this.web.last?.status}`)
  }

  /** Removes every connected application. Returns how many there were. */
  async removeAll(): Promise<number> {
    let removed = 0
    for (;;) {
      const { text } = await untilServed(null, () => this.web.get('/applications'))
      const [, grant] = /\/applications\/remove\?grant=(\w+)/.exec(text) ?? []
      if (grant === undefined) return removed
      await untilServed(null, () => this.web.get(`/applications/remove?grant=${grant}`))
      await attempt(() => this.web.submit('/applications/remove'))
      removed += 1
    }
  }
}
