/**
 * The rule of granting: may this user grant this application these scopes now? One rule for entering a code, for the
 * consent pages, for the transactions that grant, and for forecasts. What makes a grant impossible comes before what the
 * user is asked to do: nobody signs in again to learn that nothing can be granted.
 */
import { type AccountPolicy, policyAllows } from '../accounts/policy.ts'
import { type Application, deviceFlowPolicy } from '../applications/application.ts'
import { runningTestMode, type TestMode, testableScopes } from '../applications/test-mode.ts'
import { type Unvetted, type VettingProblem, vettingProblem } from '../applications/vetting.ts'
import { type Actor, BY_COMMAND_LINE, byApplication, byUser } from '../audit/actor.ts'
import type { Variant } from '../device/code.ts'
import type { Origin } from '../device/origin.ts'
import { type Consent, resolveConsent } from './scope.ts'

/** A test of the application decides its code. `test`: the test mode whose secret it presented. */
export type OwnTest = { readonly kind: 'test'; readonly applicationId: string; readonly test: TestMode }

/** Who enters and decides a code. */
export type Actors = { readonly kind: 'page' } | OwnTest | { readonly kind: 'command_line' }

/** Nobody decides: an operator asks what a user would be told, or a developer looks at the consent page. */
type Onlooker = { readonly kind: 'forecast' | 'preview' }

export type OnPage = {
  readonly kind: 'page'
  readonly authenticatedAt: number
  /** How long after signing in a user may allow sensitive requests. */
  readonly freshMs: number
  /** Where the request came from, compared with the user. */
  readonly origin: Origin
  /** Many users claimed codes that this application requested from the same network, within minutes. */
  readonly crowded: boolean
  /** The user continues instead of a colleague. */
  readonly takenOver: boolean
  /** The user granted many codes since signing in, within minutes. */
  readonly grantedMany: boolean
  /** Null while the page is shown. */
  readonly answer: Answer | null
}

export type Answer = {
  /** The scopes that the user saw and allowed. */
  readonly shown: readonly string[]
  /** The user typed the last group of the code again. */
  readonly retyped: boolean
}

export type Decider = OnPage | Exclude<Actors, { readonly kind: 'page' }> | Onlooker

export type AskingFacts = {
  readonly flow: 'device' | 'dialog'
  readonly application: Pick<Application, 'id' | 'publisher' | 'deleted' | 'testMode'>
  readonly account: { readonly policy: AccountPolicy }
  readonly user: { readonly disabled: boolean }
  readonly by: Actors | Onlooker
  readonly now: number
}

export type GrantingFacts = AskingFacts & {
  readonly application: Application
  readonly user: { readonly heldScopes: readonly string[] }
  readonly variant: Variant
  readonly requested: readonly string[]
  /** The requested scopes, from the catalogue. */
  readonly scopes: readonly { readonly name: string; readonly dangerous: boolean }[]
  /** Null: an operator has looked at the application, or there was no need to. */
  readonly unvetted: Unvetted | null
  readonly by: Decider
}

/** Why nothing can be granted, whatever the user does. `lacking`: the user does not hold what it takes. */
export type Prevention = 'suspended' | VettingProblem | 'lacking'

/** `gone`: application or user. `barred`: by the account's policy, or by test mode. The request is not shown. */
export type NotAsked = { readonly outcome: 'gone' } | { readonly outcome: 'barred' }

export type Granting =
  | NotAsked
  /** The request is shown and can only be rejected. */
  | { readonly outcome: 'prevented'; readonly by: Prevention; readonly consent: Consent }
  /** The user must sign in again, type the last group of the code, or look at what changed since the page was shown. */
  | { readonly outcome: 'reauthenticate' | 'retype' | 'changed'; readonly consent: Consent }
  | { readonly outcome: 'ok'; readonly consent: Consent }

/** Whether the user may be asked at all: enter the code, or see the dialog. */
export function mayAsk({ flow, application, account, user, by, now }: AskingFacts): 'gone' | 'barred' | 'ok' {
  if (application.deleted || user.disabled) return 'gone'
  if (by.kind === 'preview') return 'ok'
  if (flow === 'device' && !account.policy.deviceFlow) return 'barred'
  if (!policyAllows(account.policy, application)) return 'barred'
  return flow === 'device' && isBarredByTestMode(application, by, now) ? 'barred' : 'ok'
}

/** In test mode, an application's codes are decided by its own tests only. Operators on the command line may. */
function isBarredByTestMode(
  application: Pick<Application, 'id' | 'testMode'>,
  by: AskingFacts['by'],
  now: number,
): boolean {
  const running = runningTestMode(application, now)
  if (by.kind !== 'test') return by.kind !== 'command_line' && running !== null
  // Another digest: it was switched off and on again meanwhile, and the old secret is not valid any more.
  return by.applicationId !== application.id || !running?.secret.digest.equals(by.test.secret.digest)
}

export function mayGrant(facts: GrantingFacts): Granting {
  const asking = mayAsk(facts)
  if (asking !== 'ok') return { outcome: asking }
  const consent = consentOf(facts)
  const dangerous = facts.scopes.some((scope) => scope.dangerous && consent.granted.includes(scope.name))
  const prevention = preventionOf(facts, consent, dangerous)
  if (prevention) return { outcome: 'prevented', by: prevention, consent }
  if (facts.by.kind !== 'page') return { outcome: 'ok', consent }
  return { outcome: demandOf(facts, facts.by, consent, dangerous), consent }
}

function consentOf({ flow, application, user, requested, scopes, by }: GrantingFacts): Consent {
  const dangerous = scopes.filter((scope) => scope.dangerous).map(({ name }) => name)
  const held = by.kind === 'test' ? testableScopes(user.heldScopes, dangerous) : user.heldScopes
  return resolveConsent(requested, held, flow === 'device' ? deviceFlowPolicy(application) : application)
}

function preventionOf({ application, unvetted }: GrantingFacts, consent: Consent, dangerous: boolean) {
  if (application.suspended) return 'suspended'
  return vettingProblem(unvetted, dangerous) ?? (consent.grantable ? null : 'lacking')
}

function demandOf(
  { application, variant, now }: GrantingFacts,
  { authenticatedAt, freshMs, origin, crowded, takenOver, grantedMany, answer }: OnPage,
  consent: Consent,
  dangerous: boolean,
) {
  const sensitive = crowded || dangerous || variant === 'access_key'
  if (grantedMany) return 'reauthenticate'
  if (sensitive && now - authenticatedAt > freshMs) return 'reauthenticate'
  if ((crowded || takenOver || isSuspect(origin, application)) && !answer?.retyped) return 'retype'
  return answer && !isAsShown(answer.shown, consent.granted) ? 'changed' : 'ok'
}

/** An unknown origin is suspect only without a verified publisher: otherwise it would alarm too many honest users. */
function isSuspect(origin: Origin, { publisher }: Pick<Application, 'publisher'>): boolean {
  return origin === 'unknown' ? publisher.status === 'unverified' : origin !== 'same'
}

/** Compares as sets: `granted` now, and `shown` to the user before. */
function isAsShown(shown: readonly string[], granted: readonly string[]): boolean {
  return shown.length === granted.length && granted.every((name) => shown.includes(name))
}

export function actorOf(by: Actors, userId: string): Actor {
  switch (by.kind) {
    case 'page':
      return byUser(userId)
    case 'test':
      return byApplication(by.applicationId)
    case 'command_line':
      return BY_COMMAND_LINE
  }
}
