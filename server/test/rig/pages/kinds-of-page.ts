/** Which pages and answers stand for the others of their kind, by name. `npm run verify -- pages` looks at all of them. */

/** Of the routes: forms, lists, tables, charts, the decision. */
export const LAYOUTS: readonly string[] = [
  'service-home',
  'sign-in',
  'link-setup',
  'consent',
  'consent-elsewhere',
  'home',
  'enter-code',
  'applications',
  'security',
  'policy',
  'person',
  'role',
  'audit',
  'developer-application',
  'developer-activity',
  'operator',
  'operator-application',
  'operator-application-profile',
  'dialog-consent',
]

/** Of the answers, those with colours that no route shows: of a problem, of a success, of a warning, of a refusal. */
export const COLOURED: readonly string[] = [
  'sign-in-wrong',
  'recover-sent',
  'decided-granted',
  'security-saved',
  'developer-secret-sure',
  'refusal-stale',
]

/** Of the answers, those whose words are put together in another way each. */
export const WORDED: readonly string[] = [
  'sign-in-wrong',
  'recover-sent',
  'enter-code-length',
  'consent-not-possible',
  'decided-granted',
  'decided-reported',
  'dialog-account-unknown',
  'invite-no-role',
  'developer-new-redirects-scheme',
  'developer-secret-sure',
  'operator-decide-nothing',
  'refusal-stale',
]

/** Forms that came back. */
export const CAME_BACK: readonly string[] = [
  'sign-in-wrong',
  'sign-in-code-wrong',
  'recover-wrong',
  'link-setup-short',
  'confirm-wrong',
  'enter-code-length',
  'consent-retype-wrong',
  'decided-reported',
  'dialog-account-unknown',
  'security-wrong',
  'authenticator-wrong',
  'invite-wrong',
  'person-last-administrator',
  'role-exists',
  'branding-unnamed',
  'developer-new-no-kind',
  'developer-secret-too-many',
  'developer-settings-unnamed',
  'developer-publisher-address',
  'developer-publisher-other',
  'developer-logo-none',
]
