/** Endpoints of the management API, in the order of its description (docs/openapi-management.yaml). */
import type { Endpoint } from '../route.ts'
import { changeAccount, closeAccount, createAccount, listAccounts, showAccount } from './accounts.ts'
import {
  changeApplication,
  createApplication,
  createSecret,
  deleteApplication,
  deleteSecret,
  listApplications,
  showApplication,
} from './applications.ts'
import { listAuditEvents } from './audit.ts'
import { readManagementDescription } from './description.ts'
import type { ManagementEndpoint } from './endpoint.ts'
import { deleteGrant, listGrants } from './grants.ts'
import { listReviews } from './reviews.ts'
import { changeRole, createRole, deleteRole, listRoles, showRole } from './roles.ts'
import { listScimResourceTypes, listScimSchemas, showScimConfig } from './scim-discovery.ts'
import {
  createScimUser,
  deleteScimUser,
  listScimUsers,
  patchScimUser,
  replaceScimUser,
  showScimUser,
} from './scim-users.ts'
import { changeScope, createScope, listScopes } from './scopes.ts'
import { changeUser, createUser, deleteUser, listUsers, showUser } from './users.ts'
import { createWebhook, deleteWebhook, listWebhooks } from './webhooks.ts'

export const describedManagement: readonly ManagementEndpoint[] = [
  listAccounts,
  createAccount,
  showAccount,
  changeAccount,
  closeAccount,
  listUsers,
  createUser,
  showUser,
  changeUser,
  deleteUser,
  listRoles,
  createRole,
  showRole,
  changeRole,
  deleteRole,
  listScopes,
  createScope,
  changeScope,
  listApplications,
  createApplication,
  showApplication,
  changeApplication,
  deleteApplication,
  createSecret,
  deleteSecret,
  listGrants,
  deleteGrant,
  listWebhooks,
  createWebhook,
  deleteWebhook,
  listReviews,
  listAuditEvents,
  listScimUsers,
  createScimUser,
  showScimUser,
  replaceScimUser,
  patchScimUser,
  deleteScimUser,
  showScimConfig,
  listScimResourceTypes,
  listScimSchemas,
]

export const manageEndpoints: readonly Endpoint[] = [
  ...describedManagement,
  readManagementDescription(() => describedManagement),
]
