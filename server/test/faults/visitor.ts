/** A user who enters a device code and decides on the pages, and tries again when a page does not come. What they hear is recorded. */
import { type History, plain } from '../history/history.ts'
import type { CodeRecord } from '../rig/device.ts'
import type { MadeUser } from '../rig/make.ts'
import { formFields, type Page, type Web } from '../rig/web.ts'
import { attempt, isServed, untilServed } from './messages/flow.ts'

/** How often a user tries. */
const TRIES = 10

/** Digits that the page may ask for once more. */
const LAST_GROUP = 3

export type VisitedCode = { readonly history: History; readonly record: Pick<CodeRecord, 'user_code'> }

export class Visitor {
  readonly #code: VisitedCode
  readonly #user: MadeUser
  readonly #web: Web
  /** Address of the decision's page. */
  #decision: string | null = null
  #decided = false

  /** `web`: signed in. */
  constructor(code: VisitedCode, user: MadeUser, web: Web) {
    this.#code = code
    this.#user = user
    this.#web = web
  }

  /** On the page that was shown last. */
  async enter(): Promise<Page | null> {
    const form = { ...formFields(this.#web.last?.text ?? '', '/connect/code'), code: this.#code.record.user_code }
    const send = () => this.#web.send('POST', '/connect/code', form)
    const call = { do: 'enter', user: this.#user.id, account: 'own' } as const
    const read = ({ location }: Page) => (location?.startsWith('/connect/decision') ? plain('claimed') : null)
    const page = await attempt(() => this.#code.history.record(call, send, read))
    if (isServed(page)) this.#decision = page.location
    return page
  }

  /** Loads the page and types the code again, until the consent page follows. */
  async enterAgain(): Promise<void> {
    for (let tried = 0; this.#decision === null && tried < TRIES; tried += 1) {
      await untilServed(null, () => this.#web.get('/connect/code'))
      await this.enter()
    }
    const decision = this.#decision
    if (decision === null) throw new Error(`the code is not accepted: ${this.#web.last?.status}`)
    await untilServed(null, () => this.#web.get(decision))
  }

  /** Whether an earlier try took effect is unknown to the user, so that only the first one's answer says something. */
  async decide(decision: 'grant' | 'reject', first = true): Promise<void> {
    const shown = this.#web.last?.text ?? ''
    // Asked for where many users were asked from one network within minutes, as happens here.
    const retyped = shown.includes('name="last_group"')
      ? { last_group: this.#code.record.user_code.slice(-LAST_GROUP) }
      : {}
    const values = decision === 'grant' ? { decision: 'allow', ...retyped } : { decision: 'cancel' }
    const form = { ...formFields(shown, '/connect/decision'), ...values }
    const send = () => this.#web.send('POST', '/connect/decision', form)
    const read = ({ status }: Page) => (status === 303 && first ? plain(`${decision}ed`) : null)
    const page = await attempt(() => this.#code.history.record({ do: decision, user: this.#user.id }, send, read))
    this.#decided = page?.status === 303
  }

  /** Loads the page again and presses again, while it still asks. */
  async decideAgain(decision: 'grant' | 'reject'): Promise<void> {
    for (let tried = 0; !this.#decided && tried < TRIES; tried += 1) {
      const page = await untilServed(null, () => this.#web.get(this.#decision ?? ''))
      if (!page.text.includes('action="/connect/decision"')) return
      await this.decide(decision, false)
    }
    if (!this.#decided) throw new Error(`the page refuses the decision: ${this.#web.last?.status}`)
  }
}
