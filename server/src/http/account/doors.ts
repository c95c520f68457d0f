/** Every door of an account's web interface. What is not here is not found; what changes something is a POST. */
import type { PageHandler, PageRequest, UserRequest } from './answer.ts'
import { remove, showAccountApplications, showApplications, showRemoval } from './application-handlers.ts'
import { decide, enterTypedCode, showCodeEntry, showDecision, switchUser } from './code-handlers.ts'
import { confirmByPasskey, confirmByPassword, showConfirm } from './confirm-handlers.ts'
import { showActivity } from './developer-activity.ts'
import {
  addSecret,
  register,
  revokeSecret,
  saveSettings,
  showOwnApplication,
  showOwnApplications,
  showRegistration,
  showSettings,
} from './developer-handlers.ts'
import { showPreview } from './developer-preview.ts'
import { answerDialog, enterDialog, showDialogQuestion, switchInDialog } from './dialog-handlers.ts'
import { chooseOwnLanguage, showHome, showLogo } from './home-handlers.ts'
import { recover, removeByLink, showLink, showRecover, usePasswordLink } from './link-handlers.ts'
import {
  changeRoles,
  disable,
  enable,
  invite,
  sendLink,
  showInvitation,
  showPeople,
  showPerson,
} from './people-handlers.ts'
import { changeLooks, changePolicy, showLooks, showPolicy } from './policy-handlers.ts'
import { changeRole, discardRole, showRole, showRoles } from './role-handlers.ts'
import {
  addNewPasskey,
  changeOwnPassword,
  removeOwnAuthenticator,
  removeOwnPasskey,
  saveAuthenticator,
  showAuthenticator,
  showSecurity,
  signOutAll,
} from './security-handlers.ts'
import {
  leave,
  showSecondStep,
  showSignIn,
  signInByCode,
  signInByPasskey,
  signInByPassword,
} from './sign-in-handlers.ts'

type Door = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** Values of the form that must come back as they were shown. */
  readonly bound?: readonly string[]
  /**
   * The page on which the form is found, with `{field}` for what it needs of the form: for those who have to sign in or prove
   * themselves first, and for whoever changes the language when the form came back with a problem.
   */
  readonly from?: string
  /** Asks once more who it is when the sign-in is a while ago. */
  readonly fresh?: true
  /** The field that may hold a file. */
  readonly file?: string
}

/** For anyone: no session needed, and forms are not signed. Otherwise a user's session, and every POST signed for it. */
export type PageDoor = Door &
  (
    | { readonly access: 'anyone'; readonly handler: PageHandler<PageRequest> }
    | { readonly access: 'user' | 'administrator'; readonly handler: PageHandler<UserRequest> }
  )

export const pageDoors: readonly PageDoor[] = [
  { method: 'GET', path: '/logo', access: 'anyone', handler: showLogo },
  { method: 'POST', path: '/language', access: 'anyone', handler: chooseOwnLanguage },

  { method: 'GET', path: '/sign-in', access: 'anyone', handler: showSignIn },
  { method: 'POST', path: '/sign-in', access: 'anyone', handler: signInByPassword, from: '/sign-in?next={next}' },
  {
    method: 'POST',
    path: '/sign-in/passkey',
    access: 'anyone',
    handler: signInByPasskey,
    from: '/sign-in?next={next}',
  },
  { method: 'GET', path: '/sign-in/code', access: 'anyone', handler: showSecondStep },
  {
    method: 'POST',
    path: '/sign-in/code',
    access: 'anyone',
    handler: signInByCode,
    from: '/sign-in/code?step={step}&next={next}',
  },
  { method: 'POST', path: '/sign-out', access: 'user', handler: leave },
  { method: 'GET', path: '/recover', access: 'anyone', handler: showRecover },
  { method: 'POST', path: '/recover', access: 'anyone', handler: recover, from: '/recover' },
  { method: 'GET', path: '/link', access: 'anyone', handler: showLink },
  { method: 'POST', path: '/link', access: 'anyone', handler: usePasswordLink, from: '/link?token={link}' },
  { method: 'POST', path: '/link/remove', access: 'anyone', handler: removeByLink, from: '/link?token={link}' },
  { method: 'GET', path: '/confirm', access: 'user', handler: showConfirm },
  { method: 'POST', path: '/confirm', access: 'user', handler: confirmByPassword, from: '/confirm?next={next}' },
  { method: 'POST', path: '/confirm/passkey', access: 'user', handler: confirmByPasskey, from: '/confirm?next={next}' },

  { method: 'GET', path: '/', access: 'user', handler: showHome },

  { method: 'GET', path: '/connect/code', access: 'user', handler: showCodeEntry },
  { method: 'POST', path: '/connect/code', access: 'user', handler: enterTypedCode, from: '/connect/code' },
  { method: 'GET', path: '/connect/decision', access: 'user', handler: showDecision },
  {
    method: 'POST',
    path: '/connect/decision',
    access: 'user',
    handler: decide,
    bound: ['ref', 'shown'],
    from: '/connect/decision?ref={ref}',
  },
  {
    method: 'POST',
    path: '/connect/switch',
    access: 'user',
    handler: switchUser,
    bound: ['ref'],
    from: '/connect/decision?ref={ref}',
  },

  { method: 'GET', path: '/dialog/enter', access: 'anyone', handler: enterDialog },
  { method: 'GET', path: '/dialog', access: 'user', handler: showDialogQuestion },
  {
    method: 'POST',
    path: '/dialog/decision',
    access: 'user',
    handler: answerDialog,
    bound: ['request', 'shown'],
    from: '/dialog?request={request}',
  },
  {
    method: 'POST',
    path: '/dialog/switch',
    access: 'user',
    handler: switchInDialog,
    bound: ['request'],
    from: '/dialog?request={request}',
  },

  { method: 'GET', path: '/applications', access: 'user', handler: showApplications },
  { method: 'GET', path: '/applications/remove', access: 'user', handler: showRemoval('own') },
  {
    method: 'POST',
    path: '/applications/remove',
    access: 'user',
    handler: remove('own'),
    bound: ['grant'],
    from: '/applications/remove?grant={grant}',
  },

  { method: 'GET', path: '/security', access: 'user', handler: showSecurity, fresh: true },
  {
    method: 'POST',
    path: '/security/password',
    access: 'user',
    handler: changeOwnPassword,
    from: '/security',
    fresh: true,
  },
  {
    method: 'POST',
    path: '/security/passkeys',
    access: 'user',
    handler: addNewPasskey,
    from: '/security',
    fresh: true,
  },
  {
    method: 'POST',
    path: '/security/passkeys/remove',
    access: 'user',
    handler: removeOwnPasskey,
    bound: ['passkey'],
    from: '/security',
    fresh: true,
  },
  { method: 'GET', path: '/security/authenticator', access: 'user', handler: showAuthenticator, fresh: true },
  {
    method: 'POST',
    path: '/security/authenticator',
    access: 'user',
    handler: saveAuthenticator,
    bound: ['setup'],
    from: '/security/authenticator',
    fresh: true,
  },
  {
    method: 'POST',
    path: '/security/authenticator/remove',
    access: 'user',
    handler: removeOwnAuthenticator,
    from: '/security',
    fresh: true,
  },
  { method: 'POST', path: '/security/sign-out-everywhere', access: 'user', handler: signOutAll, from: '/security' },

  { method: 'GET', path: '/account/applications', access: 'administrator', handler: showAccountApplications },
  { method: 'GET', path: '/account/applications/remove', access: 'administrator', handler: showRemoval('account') },
  {
    method: 'POST',
    path: '/account/applications/remove',
    access: 'administrator',
    handler: remove('account'),
    bound: ['grant'],
    from: '/account/applications/remove?grant={grant}',
  },
  { method: 'GET', path: '/account/policy', access: 'administrator', handler: showPolicy, fresh: true },
  {
    method: 'POST',
    path: '/account/policy',
    access: 'administrator',
    handler: changePolicy,
    from: '/account/policy',
    fresh: true,
  },
  { method: 'GET', path: '/account/people', access: 'administrator', handler: showPeople },
  { method: 'GET', path: '/account/people/invite', access: 'administrator', handler: showInvitation, fresh: true },
  {
    method: 'POST',
    path: '/account/people/invite',
    access: 'administrator',
    handler: invite,
    from: '/account/people/invite',
    fresh: true,
  },
  { method: 'GET', path: '/account/person', access: 'administrator', handler: showPerson, fresh: true },
  {
    method: 'POST',
    path: '/account/person',
    access: 'administrator',
    handler: changeRoles,
    bound: ['user'],
    from: '/account/person?user={user}',
    fresh: true,
  },
  {
    method: 'POST',
    path: '/account/person/disable',
    access: 'administrator',
    handler: disable,
    bound: ['user'],
    from: '/account/person?user={user}',
    fresh: true,
  },
  {
    method: 'POST',
    path: '/account/person/enable',
    access: 'administrator',
    handler: enable,
    bound: ['user'],
    from: '/account/person?user={user}',
    fresh: true,
  },
  {
    method: 'POST',
    path: '/account/person/send-link',
    access: 'administrator',
    handler: sendLink,
    bound: ['user'],
    from: '/account/person?user={user}',
    fresh: true,
  },
  { method: 'GET', path: '/account/roles', access: 'administrator', handler: showRoles },
  { method: 'GET', path: '/account/role', access: 'administrator', handler: showRole, fresh: true },
  {
    method: 'POST',
    path: '/account/role',
    access: 'administrator',
    handler: changeRole,
    bound: ['role'],
    from: '/account/role?role={role}',
    fresh: true,
  },
  {
    method: 'POST',
    path: '/account/role/remove',
    access: 'administrator',
    handler: discardRole,
    bound: ['role'],
    from: '/account/role?role={role}',
    fresh: true,
  },
  { method: 'GET', path: '/developer', access: 'administrator', handler: showOwnApplications },
  { method: 'GET', path: '/developer/new', access: 'administrator', handler: showRegistration, fresh: true },
  {
    method: 'POST',
    path: '/developer/new',
    access: 'administrator',
    handler: register,
    from: '/developer/new',
    fresh: true,
  },
  { method: 'GET', path: '/developer/application', access: 'administrator', handler: showOwnApplication },
  {
    method: 'POST',
    path: '/developer/application/secret',
    access: 'administrator',
    handler: addSecret,
    bound: ['application'],
    from: '/developer/application?application={application}',
    fresh: true,
  },
  {
    method: 'POST',
    path: '/developer/application/secret/revoke',
    access: 'administrator',
    handler: revokeSecret,
    bound: ['application', 'secret'],
    from: '/developer/application?application={application}',
    fresh: true,
  },
  {
    method: 'GET',
    path: '/developer/application/settings',
    access: 'administrator',
    handler: showSettings,
    fresh: true,
  },
  {
    method: 'POST',
    path: '/developer/application/settings',
    access: 'administrator',
    handler: saveSettings,
    bound: ['application'],
    from: '/developer/application/settings?application={application}',
    fresh: true,
  },
  { method: 'GET', path: '/developer/application/preview', access: 'administrator', handler: showPreview },
  { method: 'GET', path: '/developer/application/activity', access: 'administrator', handler: showActivity },

  { method: 'GET', path: '/account/looks', access: 'administrator', handler: showLooks },
  {
    method: 'POST',
    path: '/account/looks',
    access: 'administrator',
    handler: changeLooks,
    from: '/account/looks',
    file: 'logo',
  },
]
