/** Every credential that a device was given: refreshed meanwhile, and each must be accepted in the end. */
import { askVerify } from '../races/issued-grants.ts'
import { post } from '../rig/device.ts'
import type { MadeApplication } from '../rig/make.ts'

type Held = { credential: string; refreshToken: string | null; refusalReason: string | null }

export class IssuedCredentials {
  readonly #addresses: readonly string[]
  readonly #application: MadeApplication
  readonly #held: Held[] = []
  #next = 0

  constructor(addresses: readonly string[], application: MadeApplication) {
    this.#addresses = addresses
    this.#application = application
  }

  add(body: { access_token?: string; access_key?: string; refresh_token?: string }): void {
    const credential = body.access_token ?? body.access_key ?? ''
    this.#held.push({ credential, refreshToken: body.refresh_token ?? null, refusalReason: null })
  }

  /** One of the token sets, in turn. Without an answer, the device keeps what it has. Returns how many were refreshed. */
  async refreshOne(): Promise<number> {
    const sets = this.#held.filter(({ refreshToken, refusalReason }) => refreshToken !== null && refusalReason === null)
    this.#next += 1
    const set = sets[this.#next % Math.max(1, sets.length)]
    if (!set?.refreshToken) return 0
    const { id: SVCappid, secret: SVCsecret } = this.#application
    const form = { SVCappid, SVCsecret, refresh_token: set.refreshToken }
    const address = this.#addresses[this.#next % this.#addresses.length] ?? ''
    const answer = await post(address, '/auth/oauth/refresh', { form }).catch(() => null)
    if (answer?.status === 400) set.refusalReason = `a refresh was answered ${answer.text}`
    if (answer?.status !== 200) return 0
    set.credential = answer.body.access_token
    set.refreshToken = answer.body.refresh_token
    return 1
  }

  /** What each process says of each credential. */
  async refused(): Promise<readonly string[]> {
    const reasons: string[] = []
    for (const { credential, refusalReason } of this.#held) {
      if (refusalReason !== null) reasons.push(refusalReason)
      for (const address of this.#addresses) {
        const status = await askVerify(address, credential)
        if (status !== 200) reasons.push(`a credential was answered ${status}`)
      }
    }
    return reasons
  }
}
