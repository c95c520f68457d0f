/** Route table of an account's web interface. Any other path is a 404; every change is a POST. */

import { decideOnAddresses, showAddresses } from '../accounts/address-handlers.ts'
import { chooseOwnLanguage, showHome, showLogo } from '../accounts/home-handlers.ts'
import {
  changeRoles,
  disable,
  enable,
  invite,
  sendLink,
  showInvitation,
  showPeople,
  showPerson,
} from '../accounts/people-handlers.ts'
import { changeBranding, changePolicy, showBranding, showPolicy } from '../accounts/policy-handlers.ts'
import { changeRole, discardRole, showRole, showRoles } from '../accounts/role-handlers.ts'
import { showApplicationLogo } from '../applications/logo.ts'
import { developerRoutes } from '../applications/routes.ts'
import { exportAudit, showAudit } from '../audit/handlers.ts'
import {
  decide,
  enterTypedCode,
  showCodeEntry,
  showDecision,
  showDelivery,
  switchUser,
} from '../device/code-handlers.ts'
import { answerDialog, enterDialog, showDialogQuestion, switchInDialog } from '../dialog/account-handlers.ts'
import { remove, showAccountApplications, showApplications, showRemoval } from '../grants/handlers.ts'
import { accountKeyRoutes } from '../manage/key-routes.ts'
import { operatorRoutes } from '../operator/routes.ts'
import { changeProvider, showProvider, testConnection } from '../provider/settings-handlers.ts'
import type { PageRoute } from '../route.ts'
import { enterCodeByPasskey } from '../sign-in/handlers.ts'
import { signInRoutes } from '../sign-in/routes.ts'
import { goToPassword, goToSecurityTxt, SECURITY_TXT } from './well-known.ts'

export const pageRoutes: readonly PageRoute[] = [
  { method: 'GET', path: '/logo', access: 'anyone', handler: showLogo },
  { method: 'GET', path: '/application-logo', access: 'anyone', handler: showApplicationLogo },
  { method: 'POST', path: '/language', access: 'anyone', handler: chooseOwnLanguage },
  { method: 'GET', path: SECURITY_TXT, access: 'anyone', handler: goToSecurityTxt },
  {
    method: 'GET',
    path: '/.well-known/change-password',
    access: 'anyone',
    handler: goToPassword,
    needs: 'password',
  },

  ...signInRoutes,

  { method: 'GET', path: '/', access: 'user', handler: showHome },

  { method: 'GET', path: '/connect/code', access: 'user', handler: showCodeEntry },
  { method: 'POST', path: '/connect/code', access: 'user', handler: enterTypedCode, from: '/connect/code' },
  {
    method: 'POST',
    path: '/connect/code/passkey',
    access: 'anyone',
    handler: enterCodeByPasskey,
    needs: 'passkey',
    from: '/connect/code',
  },
  { method: 'GET', path: '/connect/decision', access: 'user', handler: showDecision },
  {
    method: 'POST',
    path: '/connect/decision',
    access: 'user',
    handler: decide,
    bound: ['ref', 'shown'],
    from: '/connect/decision?ref={ref}',
  },
  { method: 'GET', path: '/connect/delivery', access: 'user', handler: showDelivery },
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
  { method: 'GET', path: '/account/provider', access: 'administrator', handler: showProvider, fresh: true },
  {
    method: 'POST',
    path: '/account/provider',
    access: 'administrator',
    handler: changeProvider,
    from: '/account/provider',
    fresh: true,
  },
  {
    method: 'POST',
    path: '/account/provider/test',
    access: 'administrator',
    handler: testConnection,
    from: '/account/provider',
    fresh: true,
  },
  { method: 'GET', path: '/account/people', access: 'administrator', handler: showPeople },
  {
    method: 'GET',
    path: '/account/people/invite',
    access: 'administrator',
    handler: showInvitation,
    needs: 'invitation',
    fresh: true,
  },
  {
    method: 'POST',
    path: '/account/people/invite',
    access: 'administrator',
    handler: invite,
    needs: 'invitation',
    from: '/account/people/invite',
    fresh: true,
  },
  { method: 'GET', path: '/account/people/addresses', access: 'administrator', handler: showAddresses, fresh: true },
  {
    method: 'POST',
    path: '/account/people/addresses',
    access: 'administrator',
    handler: decideOnAddresses,
    from: '/account/people/addresses',
    fresh: true,
  },
  { method: 'GET', path: '/account/person', access: 'administrator', handler: showPerson, fresh: true },
  {
    method: 'POST',
    path: '/account/person',
    access: 'administrator',
    handler: changeRoles,
    needs: 'roles',
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
    needs: 'reset',
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
  { method: 'GET', path: '/account/branding', access: 'administrator', handler: showBranding },
  {
    method: 'POST',
    path: '/account/branding',
    access: 'administrator',
    handler: changeBranding,
    from: '/account/branding',
    file: 'logo',
  },
  { method: 'GET', path: '/account/audit', access: 'administrator', handler: showAudit('account') },
  {
    method: 'POST',
    path: '/account/audit/export',
    access: 'administrator',
    handler: exportAudit('account'),
    from: '/account/audit?kind={kind}&person={person}&application={application}&request={request}&from={from}&until={until}&after={after}',
    fresh: true,
  },

  ...accountKeyRoutes,

  ...developerRoutes,
  ...operatorRoutes,
]
