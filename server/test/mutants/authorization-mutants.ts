/** Every condition that a flow checks inside its transaction, removed: each has its row in flows/authorization-checks.test.ts. */
import type { Mutant } from './mutant.ts'

const TESTS = ['server/test/flows/authorization-checks.test.ts']

/** The rule of granting, which has a test of every combination. */
const RULE = 'core/grants/granting.ts'
const TESTS_OF_RULE = ['server/test/core/grants/granting.test.ts', ...TESTS]

type Left = readonly [id: string, file: string, text: string, replacement: string, allows: string]

const left: readonly Left[] = [
  [
    'F10',
    'flows/device/decide.ts',
    'const session = await holdSession(tx, by.sessionId, userId)',
    'const session = { authenticatedAt: Date.now() }',
    'a session that a changed password ended grants a device code',
  ],
  [
    'F13',
    RULE,
    "if (application.deleted || user.disabled) return 'gone'",
    "if (application.deleted) return 'gone'",
    'a disabled user enters codes and grants',
  ],
  [
    'rule-deleted',
    RULE,
    "if (application.deleted || user.disabled) return 'gone'",
    "if (user.disabled) return 'gone'",
    'codes and dialogs of a deleted application are granted',
  ],
  [
    'rule-codes',
    RULE,
    "if (flow === 'device' && !account.policy.deviceFlow) return 'barred'",
    '',
    'codes are entered and granted at an account that uses none',
  ],
  [
    'rule-policy',
    RULE,
    "if (!policyAllows(account.policy, application)) return 'barred'",
    '',
    'an application is granted that the account has barred since the page was shown',
  ],
  [
    'rule-test-mode',
    RULE,
    "if (by.kind !== 'test') return by.kind !== 'command_line' && running !== null",
    "if (by.kind !== 'test') return false",
    'people grant codes of an application in test mode',
  ],
  ['rule-suspended', RULE, "if (application.suspended) return 'suspended'", '', 'a suspended application is granted'],
  ['rule-lacking', RULE, "?? (consent.grantable ? null : 'lacking')", '', 'a grant of nothing is made'],
  [
    'rule-fresh',
    RULE,
    "if (sensitive && now - authenticatedAt > freshMs) return 'reauthenticate'",
    '',
    'a stolen session grants an access key or dangerous scopes long after its user signed in',
  ],
  [
    'rule-shown',
    RULE,
    "answer && !isAsShown(answer.shown, consent.granted) ? 'changed' : 'ok'",
    "'ok'",
    'something else is granted than was shown',
  ],
  [
    'grant-rule',
    'flows/device/decide.ts',
    "if (granting.outcome !== 'ok') return granting",
    '',
    'the rule is not applied to a device code when it is granted',
  ],
  [
    'grant-claim',
    'core/device/code.ts',
    `export function accept(code: DeviceCode, userId: string, grantId: string, now: number): DecisionStep {
  if (!isOpen(code, now) || code.claimedBy !== userId)`,
    `export function accept(code: DeviceCode, userId: string, grantId: string, now: number): DecisionStep {
  if (!isOpen(code, now))`,
    'a user grants a code that somebody else entered',
  ],
  [
    'reject-claim',
    'core/device/code.ts',
    `export function reject(code: DeviceCode, userId: string, now: number): DecisionStep {
  if (!isOpen(code, now) || code.claimedBy !== userId)`,
    `export function reject(code: DeviceCode, userId: string, now: number): DecisionStep {
  if (!isOpen(code, now))`,
    'a user rejects a code that somebody else entered',
  ],
  [
    'release-claim',
    'core/device/code.ts',
    `export function unclaim(code: DeviceCode, userId: string, now: number): DecisionStep {
  if (!isOpen(code, now) || code.claimedBy !== userId)`,
    `export function unclaim(code: DeviceCode, userId: string, now: number): DecisionStep {
  if (!isOpen(code, now))`,
    'a user takes a code from somebody else who entered it',
  ],
  [
    'reject-user',
    'flows/device/decide.ts',
    'if (!locked || !user || user.disabled) return null',
    'if (!locked || !user) return null',
    'a disabled user rejects a device code',
  ],
  [
    'reject-session',
    'flows/device/decide.ts',
    "if (by.kind === 'page' && !(await holdSession(tx, by.sessionId, userId))) return null",
    '',
    'an ended session rejects a code, or reports its application',
  ],
  [
    'release-user',
    'flows/device/decide.ts',
    'if (!locked || !user || user.disabled) return\n',
    'if (!locked || !user) return\n',
    'a disabled user hands a code back',
  ],
  [
    'release-session',
    'flows/device/decide.ts',
    'if (!(await holdSession(tx, sessionId, userId))) return\n',
    '',
    'an ended session hands a code back',
  ],
  [
    'session-user',
    'store/sign-in/sessions.ts',
    'where id = $1 and user_id = $2 and expires_at > now() for share',
    'where id = $1 and $2::text is not null and expires_at > now() for share',
    'a user decides with the session of somebody else',
  ],
  [
    'session-expiry',
    'store/sign-in/sessions.ts',
    'where id = $1 and user_id = $2 and expires_at > now() for share',
    'where id = $1 and user_id = $2 for share',
    'a session decides after its time',
  ],
  [
    'policy-publisher',
    'core/accounts/policy.ts',
    "if (!policy.unverifiedPublishers && application.publisher.status === 'unverified') return false",
    '',
    'an unverified publisher is connected where the account does not want any',
  ],
  [
    'policy-list',
    'core/accounts/policy.ts',
    'return policy.onlyApplications === null || policy.onlyApplications.includes(application.id)',
    'return true',
    'an application is connected that is not on the account’s list',
  ],
  [
    'enter-rule',
    'flows/device/claim-code.ts',
    "if (mayAsk({ flow: 'device', ...parties, by, now: locked.now }) !== 'ok') return refused",
    '',
    'a disabled user enters a code, or one that the account bars',
  ],
  [
    'D01',
    'flows/dialog/decide.ts',
    'const session = await holdSession(tx, sessionUser.session.id, sessionUser.id)',
    'const session = { authenticatedAt: Date.now() }',
    'a session that a changed password ended answers a dialog',
  ],
  [
    'dialog-gone',
    'flows/dialog/decide.ts',
    "if (granting.outcome === 'gone') return granting",
    '',
    'a deleted application gets an answer from a dialog',
  ],
  [
    'dialog-address',
    'flows/dialog/decide.ts',
    'if (!isRegisteredRedirect(application.redirectUris, redirectUri)) return NOT_OPEN',
    '',
    'a code is sent to an address that the application has given up',
  ],
  [
    'dialog-rule',
    'flows/dialog/decide.ts',
    "if (granting.outcome !== 'ok') return granting",
    '',
    'the rule is not applied to a dialog when it is allowed',
  ],
  [
    'collect-revoked',
    'core/grants/grant.ts',
    'return grant.revokedAt === null && !isTestOver(grant, now)',
    'return !isTestOver(grant, now)',
    'credentials of an ended grant are handed out, renewed and accepted',
  ],
  [
    'collect-user',
    'core/grants/grant.ts',
    'if (userDisabled || accountClosed || applicationDeleted) return false',
    'if (accountClosed || applicationDeleted) return false',
    'credentials of a disabled user are handed out, renewed and accepted',
  ],
  [
    'collect-account',
    'core/grants/grant.ts',
    'if (userDisabled || accountClosed || applicationDeleted) return false',
    'if (userDisabled || applicationDeleted) return false',
    'credentials of users of a closed account are handed out, renewed and accepted until their grants are revoked',
  ],
  [
    'collect-application',
    'core/grants/grant.ts',
    'if (userDisabled || accountClosed || applicationDeleted) return false',
    'if (userDisabled || accountClosed) return false',
    'credentials of a deleted application are handed out, renewed and accepted',
  ],
  [
    'refresh-application',
    'flows/grants/refresh.ts',
    ' || state.grant.applicationId !== application.id',
    '',
    'another application renews a stolen refresh token',
  ],
  [
    'revoke-application',
    'flows/grants/revoke-credential.ts',
    "if (grant && grant.applicationId !== application.id) return { outcome: 'foreign' }",
    '',
    'another application revokes a credential that is not its own',
  ],
  [
    'revoke-variant',
    'flows/grants/revoke-credential.ts',
    'if (grant && (request.variant === null || grant.variant === request.variant)) {',
    'if (grant) {',
    'the path for access keys ends a token set',
  ],
  [
    'report-overlap',
    'core/grants/grant.ts',
    'keyRotatedAt !== null && now < keyRotatedAt + overlapMs',
    'keyRotatedAt !== null',
    'an access key that was replaced long ago still counts',
  ],
  [
    'poll-variant',
    'flows/device/poll.ts',
    'if (!code || code.variant !== request.variant) return INVALID',
    'if (!code) return INVALID',
    'a token set is collected on the path for access keys',
  ],
  [
    'exchange-application',
    'core/dialog/dialog.ts',
    'const fitsUnproven = given.applicationId === dialog.applicationId && given.redirectUri === dialog.redirectUri',
    'const fitsUnproven = given.redirectUri === dialog.redirectUri',
    'another application exchanges a stolen code of a dialog',
  ],
  [
    'exchange-address',
    'core/dialog/dialog.ts',
    'const fitsUnproven = given.applicationId === dialog.applicationId && given.redirectUri === dialog.redirectUri',
    'const fitsUnproven = given.applicationId === dialog.applicationId',
    'a code that was sent to one address is exchanged for another',
  ],
  [
    'exchange-verifier',
    'core/dialog/dialog.ts',
    'const fits = fitsUnproven && given.proven',
    'const fits = fitsUnproven',
    'a stolen code is exchanged without the verifier',
  ],
  [
    'administrator-user',
    'flows/accounts/administrator.ts',
    'if (!account || !user || user.disabled || !user.administrator)',
    'if (!account || !user || !user.administrator)',
    'a disabled administrator goes on administering',
  ],
  [
    'administrator-role',
    'flows/accounts/administrator.ts',
    'if (!account || !user || user.disabled || !user.administrator)',
    'if (!account || !user || user.disabled)',
    'whoever has lost the role goes on administering',
  ],
  [
    'remove-user',
    'flows/grants/connected-applications.ts',
    `const user = await lockUser(tx, by)
    if (!user || user.disabled) return NOT_FOUND`,
    `const user = await lockUser(tx, by)
    if (!user) return NOT_FOUND`,
    'a disabled user removes applications',
  ],
  [
    'remove-owner',
    'flows/grants/connected-applications.ts',
    'return asAdministrator ? user.administrator : grant.userId === user.id',
    'return asAdministrator ? user.administrator : true',
    'a user removes what a colleague connected',
  ],
  [
    'remove-administrator',
    'flows/grants/connected-applications.ts',
    'return asAdministrator ? user.administrator : grant.userId === user.id',
    'return asAdministrator || grant.userId === user.id',
    'a user without the role removes what a colleague connected',
  ],
  [
    'remove-account',
    'store/grants/listed.ts',
    'and g.account_id = $1 and g.id = $2',
    'and $1::text is not null and g.id = $2',
    'an administrator removes what was connected at another account',
  ],
]

export const authorizationMutants: readonly Mutant[] = left.map(([id, file, text, replacement, allows]) => {
  return { id, file: `server/src/${file}`, text, replacement, tests: file === RULE ? TESTS_OF_RULE : TESTS, allows }
})
