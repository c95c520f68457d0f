/** Users, applications and credentials of which some are ended in the minutes that a restore loses. */

import { setTimeout as sleep } from 'node:timers/promises'
import { disablePerson, setPersonRoles } from '../../../src/flows/accounts/people.ts'
import { suspendApplication } from '../../../src/flows/applications/manage.ts'
import type { Context } from '../../../src/flows/context.ts'
import { grantDeviceCode } from '../../../src/flows/device/decide.ts'
import { enterUserCode } from '../../../src/flows/device/enter-code.ts'
import { refreshTokenSet } from '../../../src/flows/grants/refresh.ts'
import { revokeCredential } from '../../../src/flows/grants/revoke-credential.ts'
import { rotateAccessKey } from '../../../src/flows/grants/rotate-access-key.ts'
import { makeAccessKey, makeTokenSet } from '../../../src/secrets/credentials.ts'
import { findMember } from '../../../src/store/accounts/users.ts'
import { askVerify, type IssuedGrant, placeIssuedGrant } from '../../races/issued-grants.ts'
import { type CodeRecord, Device } from '../../rig/device.ts'
import { type MadeApplication, type MadeUser, makeAccount, makeApplication, makeUser } from '../../rig/make.ts'

/** Out of how many it was true. */
export type Share = { readonly held: number; readonly of: number }

export type RestoredFacts = {
  readonly revokedStay: Share
  readonly spentStay: Share
  readonly suspendedStay: Share
  readonly disabledStay: Share
  /** Former administrators. */
  readonly dismissedStay: Share
  /** Credentials that nobody ended and that are refused. */
  readonly wronglyEnded: number
  /** Replaced credentials whose successors, issued in the lost time, are refused. */
  readonly successorsRefused: number
}

export class RestoredScene {
  readonly context: Context
  readonly application: MadeApplication
  readonly user: MadeUser
  readonly #keys: readonly IssuedGrant[]
  readonly #tokenSets: readonly IssuedGrant[]
  readonly #suspended: readonly MadeApplication[]
  readonly #disabled: { readonly user: MadeUser; readonly grant: IssuedGrant }
  readonly #dismissed: Dismissed
  readonly #codes: readonly CodeRecord[]
  readonly #refreshTokens: string[] = []
  readonly #rotatedKeys: string[] = []

  private constructor(context: Context, made: Made) {
    this.context = context
    this.application = made.application
    this.user = made.user
    this.#keys = made.keys
    this.#tokenSets = made.tokenSets
    this.#suspended = made.suspended
    this.#disabled = made.disabled
    this.#dismissed = made.dismissed
    this.#codes = made.codes
  }

  /** Everything that exists before the point to which PostgreSQL is restored. `size`: of each kind. */
  static async make(context: Context, address: string, size: number): Promise<RestoredScene> {
    const { db, config } = context
    const account = await makeAccount(db)
    const user = await makeUser(db, account.slug, { password: 'a quiet green harbour' })
    const application = await makeApplication(db, config, account.slug)
    await context.applications.refresh()
    const each = <T>(make: () => Promise<T>) => inTurn(Array.from({ length: size }), make)
    const grantOf = (variant: 'access_key' | 'token_set', { id: userId }: MadeUser) =>
      placeIssuedGrant(context, { accountId: account.id, userId, applicationId: application.id, variant })
    const other = await makeUser(db, account.slug, { holds: ['orders:read'] })
    await until(async () => (await new Device(address, application, 'key').request()).status === 200)
    return new RestoredScene(context, {
      user,
      application,
      keys: await inTurn(Array.from({ length: 3 * size }), () => grantOf('access_key', user)),
      tokenSets: await each(() => grantOf('token_set', user)),
      suspended: await each(() => makeApplication(db, config, account.slug)),
      disabled: { user: other, grant: await grantOf('access_key', other) },
      dismissed: {
        user: await makeUser(db, account.slug),
        accountId: account.id,
        role: (await findMember(db, account.id, other.id))?.roles[0]?.id ?? '',
      },
      codes: await each(() => new Device(address, application, 'key').code()),
    })
  }

  get #revoked(): readonly IssuedGrant[] {
    return this.#keys.slice(0, this.#codes.length)
  }

  get #rotated(): readonly IssuedGrant[] {
    return this.#keys.slice(this.#codes.length, 2 * this.#codes.length)
  }

  get #kept(): readonly IssuedGrant[] {
    return this.#keys.slice(2 * this.#codes.length)
  }

  /** Ends a part of everything, and grants the codes, each acknowledged. */
  async endInLostTime(address: string): Promise<void> {
    const { context, application } = this
    const { keys, accessTokenLifetimeMs } = context.config
    await context.applications.refresh()
    const client = { applicationId: application.id, secret: application.secret }
    for (const grant of this.#revoked) {
      await revokeCredential(context, { ...client, credential: makeAccessKey(keys, grant), variant: null })
    }
    for (const grant of this.#rotated) {
      const rotated = await rotateAccessKey(context, { ...client, accessKey: makeAccessKey(keys, grant) })
      if (rotated.outcome !== 'rotated') throw new Error(`a key was not rotated: ${rotated.outcome}`)
      this.#rotatedKeys.push(rotated.issued.accessKey)
    }
    for (const grant of this.#tokenSets) {
      let { refreshToken } = makeTokenSet(keys, grant, grant.issuedAt, accessTokenLifetimeMs)
      for (const _ of [1, 2]) {
        const refreshed = await refreshTokenSet(context, { ...client, refreshToken, scope: null })
        if (refreshed.outcome !== 'refreshed') throw new Error(`a token was not refreshed: ${refreshed.outcome}`)
        refreshToken = refreshed.issued.refreshToken
      }
      this.#refreshTokens.push(refreshToken)
    }
    for (const { id } of this.#suspended) await suspendApplication(context.db, id, 'in the lost time')
    const { outcome } = await disablePerson(context, this.user.id, this.#disabled.user.id)
    if (outcome !== 'disabled') throw new Error(`a user was not disabled: ${outcome}`)
    const changed = await setPersonRoles(context, this.user.id, this.#dismissed.user.id, [this.#dismissed.role])
    if (changed.outcome !== 'saved') throw new Error(`an administrator was not dismissed: ${changed.outcome}`)
    for (const code of this.#codes) await this.#spend(address, code)
  }

  async #spend(address: string, code: CodeRecord): Promise<void> {
    const entered = await enterUserCode(this.context, this.user.id, code.user_code)
    if (entered.outcome !== 'claimed') throw new Error(`a code was ${entered.outcome}`)
    await grantDeviceCode(this.context, this.user.id, entered.code)
    await until(async () => (await new Device(address, this.application, 'key').poll(code.device_code)).status === 200)
  }

  /** Once: a spent refresh token ends its grant. */
  async lookAfterwards(address: string): Promise<RestoredFacts> {
    const { context, application } = this
    const { keys, accessTokenLifetimeMs } = context.config
    const verify = (credential: string) => askVerify(address, credential)
    const share = async <T>(of: readonly T[], holds: (each: T) => Promise<boolean>): Promise<Share> => {
      const held = (await inTurn(of, holds)).filter(Boolean).length
      return { held, of: of.length }
    }
    await context.applications.reload()
    const client = { applicationId: application.id, secret: application.secret }
    const revokedStay = await share(this.#revoked, async (grant) => (await verify(makeAccessKey(keys, grant))) === 401)
    const kept = await share(this.#kept, async (grant) => (await verify(makeAccessKey(keys, grant))) === 200)
    const successors = await share(this.#rotatedKeys, async (key) => (await verify(key)) === 200)
    const refreshed = await share(this.#refreshTokens, async (refreshToken) => {
      return (await refreshTokenSet(context, { ...client, refreshToken, scope: null })).outcome === 'refreshed'
    })
    const codesStay = await share(this.#codes, async (code) => {
      const { body } = await new Device(address, application, 'key').poll(code.device_code)
      // A code that has expired since then: the restored service cannot know that it was used.
      return body.error === 'invalid' || body.error === 'auth_expired'
    })
    const tokensStay = await share(this.#tokenSets, async (grant) => {
      const { refreshToken } = makeTokenSet(keys, grant, grant.issuedAt, accessTokenLifetimeMs)
      return (await refreshTokenSet(context, { ...client, refreshToken, scope: null })).outcome === 'invalid_grant'
    })
    const suspendedStay = await share(this.#suspended, async (each) => {
      return (await new Device(address, each).request()).body.error === 'application_suspended'
    })
    const disabledStay = await share([this.#disabled.grant], async (grant) => {
      return (await verify(makeAccessKey(keys, grant))) === 401
    })
    const { accountId, user } = this.#dismissed
    const dismissedStay = await share([user.id], async (id) => {
      return (await findMember(context.db, accountId, id))?.administrator === false
    })
    return {
      revokedStay,
      spentStay: { held: codesStay.held + tokensStay.held, of: codesStay.of + tokensStay.of },
      suspendedStay,
      disabledStay,
      dismissedStay,
      wronglyEnded: kept.of - kept.held,
      successorsRefused: successors.of - successors.held + refreshed.of - refreshed.held,
    }
  }
}

/** `role`: of a clerk, which is what is left to them. */
type Dismissed = { readonly user: MadeUser; readonly accountId: string; readonly role: string }

type Made = {
  readonly user: MadeUser
  readonly application: MadeApplication
  readonly keys: readonly IssuedGrant[]
  readonly tokenSets: readonly IssuedGrant[]
  readonly suspended: readonly MadeApplication[]
  readonly disabled: { readonly user: MadeUser; readonly grant: IssuedGrant }
  readonly dismissed: Dismissed
  readonly codes: readonly CodeRecord[]
}

/** Processes learn of changes within a second. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let left = 30; !(await holds()); left -= 1) {
    if (left === 0) throw new Error('it does not become true')
    await sleep(1_000)
  }
}

async function inTurn<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (const item of items) results.push(await work(item))
  return results
}
