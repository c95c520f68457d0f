/** The five changes that reduce the rights of a credential, each made in one process. */

import { disablePerson } from '../../src/flows/accounts/people.ts'
import { saveRole } from '../../src/flows/accounts/roles.ts'
import { suspendApplication } from '../../src/flows/applications/manage.ts'
import type { Context } from '../../src/flows/context.ts'
import { tokenSetOf } from '../../src/flows/grants/issue.ts'
import { makeAccessKey } from '../../src/secrets/credentials.ts'
import { listRoles } from '../../src/store/accounts/roles.ts'
import { post, type WireAnswer } from '../rig/device.ts'
import { type MadeApplication, type MadeUser, makeAccount, makeApplication, makeUser } from '../rig/make.ts'
import { type IssuedGrant, placeIssuedGrant } from './issued-grants.ts'

export type Change = {
  readonly kind: Kind
  readonly credential: string
  /** Required scope. Undefined: validity only. */
  readonly scope?: string
  /** The answer of a process that has pulled the change. */
  readonly refusal: 401 | 403
  /** Resolves when the change was answered. `address`: the process that makes it. */
  make(address: string): Promise<Made>
}

/** `successor`: a credential that is valid from this moment on, everywhere. */
export type Made = { readonly successor?: string }

/** An account with its administrator and one application of its own. */
export type Stage = {
  readonly context: Context
  readonly account: { readonly id: string; readonly slug: string }
  readonly administrator: MadeUser
  readonly application: MadeApplication
}

export async function makeStage(context: Context): Promise<Stage> {
  const account = await makeAccount(context.db)
  const administrator = await makeUser(context.db, account.slug)
  return {
    context,
    account,
    administrator,
    application: await makeApplication(context.db, context.config, account.slug),
  }
}

export const KINDS = ['revoked', 'disabled', 'permission', 'suspended', 'rotated'] as const
export type Kind = (typeof KINDS)[number]

const BOTH = ['orders:read', 'orders:write']

/**
 * The subject of each change (a grant, a user, an account, an application) belongs to one case only: otherwise the
 * announcement of one change would hide that another was not announced.
 */
export const prepare: Readonly<Record<Kind, (stage: Stage) => Promise<Change>>> = {
  /** Revoked by its application, over HTTP. */
  revoked: async (stage) => {
    const { application } = stage
    const grant = await grantTo(stage, stage.administrator, application)
    const credential = accessTokenOf(stage, grant)
    return {
      kind: 'revoked',
      credential,
      refusal: 401,
      make: async (address) => {
        const form = { ...credentialsOf(application), token: credential }
        expectOk(await post(address, '/auth/oauth/revoke', { form }))
        return {}
      },
    }
  },

  disabled: async (stage) => {
    const user = await makeUser(stage.context.db, stage.account.slug, { holds: BOTH })
    const grant = await grantTo(stage, user, stage.application)
    return {
      kind: 'disabled',
      credential: accessTokenOf(stage, grant),
      refusal: 401,
      make: async () => {
        expectOutcome('disabled', await disablePerson(stage.context, stage.administrator.id, user.id))
        return {}
      },
    }
  },

  /** The user's only role loses a scope. */
  permission: async ({ context, application }) => {
    const own = { ...(await makeStage(context)), application }
    const user = await makeUser(context.db, own.account.slug, { holds: BOTH })
    const role = (await listRoles(context.db, own.account.id)).find((each) => !each.holdsEveryScope)
    if (!role) throw new Error('the user has no role')
    const grant = await grantTo(own, user, application)
    return {
      kind: 'permission',
      credential: accessTokenOf(own, grant),
      scope: 'orders:write',
      refusal: 403,
      make: async () => {
        const less = { id: role.id, name: role.name, scopes: ['orders:read'] }
        expectOutcome('saved', await saveRole(context, own.administrator.id, less))
        return {}
      },
    }
  },

  suspended: async (stage) => {
    const { context, account } = stage
    const application = await makeApplication(context.db, context.config, account.slug)
    const grant = await grantTo(stage, stage.administrator, application)
    return {
      kind: 'suspended',
      credential: accessTokenOf(stage, grant),
      refusal: 401,
      make: async () => {
        expectOutcome('done', await suspendApplication(context.db, application.id, 'a race', true))
        return {}
      },
    }
  },

  /** Rotated by its application, over HTTP, without an overlap. */
  rotated: async (stage) => {
    const { application } = stage
    const grant = await grantTo(stage, stage.administrator, application, 'access_key')
    const credential = makeAccessKey(stage.context.config.keys, grant)
    return {
      kind: 'rotated',
      credential,
      refusal: 401,
      make: async (address) => {
        const form = { ...credentialsOf(application), access_key: credential }
        const answer = await post(address, '/auth/key/rotate', { form })
        expectOk(answer)
        return { successor: answer.body.access_key }
      },
    }
  },
}

function grantTo(
  { context, account }: Stage,
  user: MadeUser,
  application: MadeApplication,
  variant: IssuedGrant['variant'] = 'token_set',
): Promise<IssuedGrant> {
  return placeIssuedGrant(context, { accountId: account.id, userId: user.id, applicationId: application.id, variant })
}

function accessTokenOf({ context }: Stage, grant: IssuedGrant): string {
  return tokenSetOf(context, grant, grant.issuedAt, grant.issuedAt).accessToken
}

function credentialsOf({ id, secret }: MadeApplication): { SVCappid: string; SVCsecret: string } {
  return { SVCappid: id, SVCsecret: secret }
}

function expectOk({ status, text }: WireAnswer): void {
  if (status !== 200) throw new Error(`the change was answered ${status} ${text}`)
}

function expectOutcome(wanted: string, { outcome }: { readonly outcome: string }): void {
  if (outcome !== wanted) throw new Error(`the change came to "${outcome}"`)
}
