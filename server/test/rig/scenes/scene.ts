/**
 * An account with an administrator, two users and two applications for one test: changes to them affect no other test.
 * Credentials and codes come from the flows, without HTTP.
 */
import { randomUUID } from 'node:crypto'
import type { Variant } from '../../../src/core/device/code.ts'
import { grantDeviceCode } from '../../../src/flows/device/decide.ts'
import { enterUserCode } from '../../../src/flows/device/enter-code.ts'
import { pollDeviceCode } from '../../../src/flows/device/poll.ts'
import { requestDeviceCode } from '../../../src/flows/device/request-code.ts'
import { decideDialog } from '../../../src/flows/dialog/decide.ts'
import { insertDialog } from '../../../src/store/dialog/dialogs.ts'
import type { SessionUser } from '../../../src/store/sign-in/sessions.ts'
import { makePkce } from '../dialog.ts'
import { CALLBACK, type MadeUser, makeAccount, makeApplication, makeUser } from '../make.ts'
import type { TestService } from '../service.ts'
import { startSession } from '../signed-in.ts'

const SCOPES = ['orders:read', 'orders:write']

/** Address of the requesting device and of the user. */
export const SCENE_ADDRESS = '198.51.100.7'

export type Scene = Awaited<ReturnType<typeof createScene>>

export async function createScene(service: TestService) {
  const { context, config, database } = service
  const account = await makeAccount(context.db)
  const make = () => makeApplication(context.db, config, account.slug, { redirectUris: [CALLBACK] })
  const [application, otherApplication] = [await make(), await make()]
  const [user, colleague] = [
    await makeUser(context.db, account.slug, { holds: SCOPES }),
    await makeUser(context.db, account.slug, { holds: SCOPES }),
  ]
  const administrator = await makeUser(context.db, account.slug)
  await context.applications.refresh()
  /** Parameters of the next request; a test changes them. */
  const asked = {
    sessionId: await startSession(service, user, { account }),
    /** The application that presents credentials and codes. */
    presenter: application,
    /** The variant of the path. */
    pathVariant: 'token_set' as Variant,
    removal: { by: user.id, asAdministrator: false },
  }

  const requestedCode = async (variant: Variant = 'token_set') => {
    const result = await requestDeviceCode(context, {
      applicationId: application.id,
      secret: application.secret,
      variant,
      scope: SCOPES.join(','),
      state: '',
      requestedFrom: SCENE_ADDRESS,
      requestedWith: null,
      lifetimeSeconds: null,
    })
    if (result.outcome !== 'requested') throw new Error(`no code: ${result.outcome}`)
    return result
  }
  const claimedCode = async (variant?: Variant) => {
    const requested = await requestedCode(variant)
    const entered = await enterUserCode(context, user.id, requested.userCode)
    if (entered.outcome !== 'claimed') throw new Error(`not claimed: ${entered.outcome}`)
    return { ...requested, code: entered.code }
  }
  const grantedCode = async (variant?: Variant) => {
    const claimed = await claimedCode(variant)
    const granted = await grantDeviceCode(context, user.id, claimed.code)
    if (granted.outcome !== 'granted') throw new Error(`not granted: ${granted.outcome}`)
    return { ...claimed, grantId: granted.grantId }
  }
  const collected = async (variant: Variant) => {
    const granted = await grantedCode(variant)
    const { deviceCode } = granted
    const by = { applicationId: application.id, secret: application.secret }
    const answer = await pollDeviceCode(context, { ...by, deviceCode, variant, idempotencyKey: null, wait: null })
    if (answer.outcome !== 'accepted') throw new Error(`not collected: ${answer.outcome}`)
    return { grantId: granted.grantId, issued: answer.issued }
  }
  const openDialog = async (codeChallenge: string | null = null) => {
    const id = randomUUID()
    const wish = { applicationId: application.id, redirectUri: CALLBACK, scopes: SCOPES, state: null, codeChallenge }
    await insertDialog(context.db, { id, ...wish, lifetimeMs: 600_000 })
    return id
  }
  const visitor = (): SessionUser => ({
    id: user.id,
    origin: 'own',
    breakGlass: false,
    email: user.email,
    administrator: false,
    language: null,
    chosenLanguage: null,
    secondFactor: { administratorSince: null, joinedAt: 0, requiredAt: null, enrolled: false },
    session: {
      id: asked.sessionId,
      createdAt: 0,
      authenticatedAt: 0,
      secondFactor: false,
      expiresAt: 0,
      person: null,
      lastUsedAt: 0,
    },
  })

  return Object.assign(asked, {
    account,
    user,
    colleague,
    administrator,
    application,
    otherApplication,
    requestedCode,
    claimedCode,
    grantedCode,
    openDialog,
    visitor,
    giveClaimTo: (other: MadeUser) =>
      database.query('update device_codes set claimed_by = $2 where claimed_by = $1', [user.id, other.id]),
    tokenSet: async () => {
      const { grantId, issued } = await collected('token_set')
      if (!('accessToken' in issued)) throw new Error('no token set was issued')
      return { grantId, ...issued }
    },
    accessKey: async () => {
      const { grantId, issued } = await collected('access_key')
      if (!('accessKey' in issued)) throw new Error('no access key was issued')
      return { grantId, ...issued }
    },
    /** A granted dialog's code, ready to be exchanged. */
    allowedDialog: async () => {
      const { verifier: codeVerifier, challenge } = makePkce()
      const dialogId = await openDialog(challenge)
      const answer = { decision: 'allow', shown: SCOPES, address: null } as const
      const decided = await decideDialog(context, visitor(), dialogId, answer)
      if (decided.outcome !== 'allowed') throw new Error(`not allowed: ${decided.outcome}`)
      return { code: decided.code, redirectUri: CALLBACK, codeVerifier: codeVerifier as string | null }
    },
  })
}
