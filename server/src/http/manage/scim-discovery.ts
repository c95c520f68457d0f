/** What the SCIM endpoint can do, as RFC 7644, section 4 asks: identity providers read it before their first request. */
import { type Body, integer, type Properties, texts } from '../schema.ts'
import { endpoint, type Outcome, type Resource } from './endpoint.ts'
import { SCIM, SCIM_LIST, SCIM_USER, SCIM_USERS_OF_A_PAGE } from './scim-style.ts'

const CORE = 'urn:ietf:params:scim:schemas:core:2.0'

const supported = (yes: boolean) => ({ supported: yes })

const CONFIG: Resource = {
  schemas: [`${CORE}:ServiceProviderConfig`],
  patch: supported(true),
  bulk: { ...supported(false), maxOperations: 0, maxPayloadSize: 0 },
  filter: { ...supported(true), maxResults: SCIM_USERS_OF_A_PAGE },
  changePassword: supported(false),
  sort: supported(false),
  etag: supported(true),
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'Management key',
      description: 'Of one account, as a bearer token.',
      primary: true,
    },
  ],
}

const RESOURCE_TYPE = {
  schemas: [`${CORE}:ResourceType`],
  id: 'User',
  name: 'User',
  endpoint: '/Users',
  description: 'A user of the account.',
  schema: SCIM_USER,
}

const attribute = (name: string, type: 'string' | 'boolean' | 'complex', more: object = {}) => ({
  ...{
    name,
    type,
    multiValued: false,
    required: false,
    caseExact: false,
    mutability: 'readWrite',
    returned: 'default',
  },
  ...{ uniqueness: 'none', ...more },
})

/** What is kept of a user; core/manage/scim.ts reads it. */
const SCHEMA = {
  schemas: [`${CORE}:Schema`],
  id: SCIM_USER,
  name: 'User',
  description: 'A user of the account.',
  attributes: [
    attribute('userName', 'string', { required: true, uniqueness: 'server', description: 'The e-mail address.' }),
    attribute('externalId', 'string', { caseExact: true, description: 'The id at the identity provider.' }),
    attribute('displayName', 'string', { description: 'The name.' }),
    attribute('active', 'boolean', { description: 'False: the user is disabled.' }),
  ],
}

const listOf = (resource: Resource): Resource => ({
  ...{ schemas: [SCIM_LIST], totalResults: 1, startIndex: 1, itemsPerPage: 1, Resources: [resource] },
})

const schemas = texts('What this message is.')
const object = (description: string) => ({ type: 'object', description }) as const

function discovery(path: string, id: string, summary: string, answer: Resource, properties: Properties) {
  const body: Body = { name: `Scim${path}`, description: summary, properties: { schemas, ...properties } }
  return endpoint(
    {
      method: 'GET',
      path: `/scim/2/${path}`,
      scope: 'scim',
      operation: {
        ...{ id, tag: 'SCIM', summary, description: 'RFC 7644, section 4.' },
        answers: { 200: { description: 'The document.', body } },
      },
      handle: async (): Promise<Outcome> => ({ status: 200, list: answer }),
    },
    SCIM,
  )
}

const listProperties = {
  totalResults: integer('How many there are.'),
  startIndex: integer('Number of the first one.'),
  itemsPerPage: integer('How many are listed.'),
  Resources: { type: 'array', items: { type: 'object' }, description: 'The one for users.' },
} as const

export const showScimConfig = discovery('ServiceProviderConfig', 'showScimConfig', 'Show what is supported', CONFIG, {
  patch: object('PATCH.'),
  bulk: object('Several changes in one request.'),
  filter: object('Filters of lists.'),
  changePassword: object('Passwords by SCIM.'),
  sort: object('Sorted lists.'),
  etag: object('Versions.'),
  authenticationSchemes: { type: 'array', items: { type: 'object' }, description: 'How to authenticate.' },
})

export const listScimResourceTypes = discovery(
  'ResourceTypes',
  'listScimResourceTypes',
  'List the types of resources',
  listOf(RESOURCE_TYPE),
  listProperties,
)

export const listScimSchemas = discovery(
  'Schemas',
  'listScimSchemas',
  'List the schemas',
  listOf(SCHEMA),
  listProperties,
)
