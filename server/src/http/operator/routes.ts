/**
 * Route table of the operators' console, on the operators' own account. Routes that change data or show personal data
 * require a fresh sign-in; viewing the review queue does not.
 */
import { exportAudit, showAudit } from '../audit/handlers.ts'
import { operatorKeyRoutes } from '../manage/key-routes.ts'
import {
  answer,
  confirm,
  decide,
  showProposedLogo,
  showReviewedApplication,
  showReviews,
  withdraw,
} from '../reviews/handlers.ts'
import type { PageRoute } from '../route.ts'
import { showAccount, showAccounts, showEveryApplication, showOverview } from './handlers.ts'
import { confirmOperator, rejectOperator, showOperators } from './operators.ts'
import { endConnections, showGrants, showPerson, showSearch } from './people.ts'
import { addNewScope, retitleScope, showScopes } from './scopes.ts'

export const operatorRoutes: readonly PageRoute[] = [
  { method: 'GET', path: '/operator', access: 'operator', handler: showOverview },
  { method: 'GET', path: '/operator/reviews', access: 'operator', handler: showReviews },
  { method: 'GET', path: '/operator/application', access: 'operator', handler: showReviewedApplication },
  {
    method: 'POST',
    path: '/operator/application/decide',
    access: 'operator',
    handler: decide,
    bound: ['application', 'seen'],
    from: '/operator/application?application={application}',
    fresh: true,
  },
  {
    method: 'POST',
    path: '/operator/application/confirm',
    access: 'operator',
    handler: confirm,
    bound: ['application', 'decision'],
    from: '/operator/application?application={application}',
    fresh: true,
  },
  {
    method: 'POST',
    path: '/operator/application/withdraw',
    access: 'operator',
    handler: withdraw,
    bound: ['application', 'decision'],
    from: '/operator/application?application={application}',
    fresh: true,
  },
  {
    method: 'POST',
    path: '/operator/application/answer',
    access: 'operator',
    handler: answer,
    bound: ['application', 'kind', 'seen'],
    from: '/operator/application?application={application}',
    fresh: true,
  },
  { method: 'GET', path: '/operator/application/logo', access: 'operator', handler: showProposedLogo },
  { method: 'GET', path: '/operator/applications', access: 'operator', handler: showEveryApplication },
  { method: 'GET', path: '/operator/accounts', access: 'operator', handler: showAccounts },
  { method: 'GET', path: '/operator/account', access: 'operator', handler: showAccount, fresh: true },
  { method: 'GET', path: '/operator/search', access: 'operator', handler: showSearch, fresh: true },
  { method: 'GET', path: '/operator/grants', access: 'operator', handler: showGrants, fresh: true },
  { method: 'GET', path: '/operator/person', access: 'operator', handler: showPerson, fresh: true },
  {
    method: 'POST',
    path: '/operator/person/end-connections',
    access: 'operator',
    handler: endConnections,
    bound: ['user'],
    from: '/operator/person?user={user}',
    fresh: true,
  },
  { method: 'GET', path: '/operator/scopes', access: 'operator', handler: showScopes, fresh: true },
  {
    method: 'POST',
    path: '/operator/scopes',
    access: 'operator',
    handler: addNewScope,
    from: '/operator/scopes',
    fresh: true,
  },
  {
    method: 'POST',
    path: '/operator/scopes/title',
    access: 'operator',
    handler: retitleScope,
    bound: ['scope'],
    from: '/operator/scopes',
    fresh: true,
  },
  { method: 'GET', path: '/operator/operators', access: 'operator', handler: showOperators, fresh: true },
  {
    method: 'POST',
    path: '/operator/operators/confirm',
    access: 'operator',
    handler: confirmOperator,
    bound: ['change'],
    from: '/operator/operators',
    fresh: true,
  },
  {
    method: 'POST',
    path: '/operator/operators/reject',
    access: 'operator',
    handler: rejectOperator,
    bound: ['change'],
    from: '/operator/operators',
    fresh: true,
  },
  { method: 'GET', path: '/operator/audit', access: 'operator', handler: showAudit('operator'), fresh: true },
  {
    method: 'POST',
    path: '/operator/audit/export',
    access: 'operator',
    handler: exportAudit('operator'),
    from: '/operator/audit?account={account}&kind={kind}&person={person}&application={application}&request={request}&from={from}&until={until}&after={after}',
    fresh: true,
  },

  ...operatorKeyRoutes,
]
