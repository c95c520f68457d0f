/** What all SCIM endpoints have in common: names of messages, and how outcomes are written. */
import type { Answer } from '../answer.ts'
import { type Outcome, type Style, versionOf } from './endpoint.ts'

export const SCIM_USER = 'urn:ietf:params:scim:schemas:core:2.0:User'
export const SCIM_LIST = 'urn:ietf:params:scim:api:messages:2.0:ListResponse'
export const SCIM_USERS_OF_A_PAGE = 200

export const SCIM: Style = { dialect: 'scim', render }

function render(outcome: Outcome): Answer {
  if ('resource' in outcome) {
    const { status, resource } = outcome
    return { status, json: resource, headers: { etag: versionOf(resource) } }
  }
  return 'list' in outcome ? { status: 200, json: outcome.list } : { status: 204, json: null }
}
