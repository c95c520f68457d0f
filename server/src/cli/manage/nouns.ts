/** What `latchkey account|scope|role|user|app` may give to and show of the resources of the management API. */
import { parseScope } from '../../core/grants/scope.ts'
import { CommandRefused } from '../client/output.ts'
import type { Resource } from './management-client.ts'

/** An option of `create` or `edit`, and the member that it gives. Without `read`, the member is what is typed. */
export type Field = readonly [flags: string, member: string, about: string, read?: (text: string) => unknown]

export type Noun = {
  readonly title: string
  /** The argument that names one. */
  readonly argument: readonly [name: string, about: string]
  readonly path: string
  readonly columns: readonly string[]
  readonly create: {
    readonly about: string
    /** The argument that gives the name, instead of an option. */
    readonly argument?: readonly [name: string, about: string]
    readonly required: readonly Field[]
    readonly optional: readonly Field[]
    readonly defaults?: Resource
    /** Members that --json prints besides those of the resource. */
    readonly also?: (options: Resource) => Resource
  }
  readonly edits: readonly Field[]
  /** Member that the argument may name besides the id. */
  readonly named: string
  /** The list has a filter for it. */
  readonly filtered?: true
  readonly erasure?: { readonly verb: 'delete' | 'erase' | 'close'; readonly about: string; readonly final?: string }
}

const yesOrNo = (text: string) => {
  if (text !== 'yes' && text !== 'no') throw new CommandRefused('Write yes or no.')
  return text === 'yes'
}
const orNone = (text: string) => (text === '' ? null : text)

const NAME: Field = ['--name <name>', 'name', 'the name, as users see it']
const EXTERNAL_ID: Field = ['--external-id <id>', 'external_id', 'id at your own service; empty: none', orNone]

const account: Noun = {
  title: 'account',
  argument: ['account', 'its slug or id'],
  path: '/accounts',
  columns: ['slug', 'name', 'external_id', 'id'],
  create: {
    about: 'Register an account. It starts with the role "administrator", which holds every scope.',
    required: [['--slug <slug>', 'slug', 'subdomain, for example acme'], NAME],
    optional: [
      EXTERNAL_ID,
      [
        '--administrator <address>',
        'administrator',
        'e-mail address of the first administrator; prints a one-time sign-in link, on the machine itself only',
      ],
    ],
  },
  named: 'slug',
  edits: [NAME, EXTERNAL_ID],
  erasure: {
    verb: 'close',
    about: 'Close an account: end all that it has and erase its users, except the audit log.',
    final:
      'These will end, everywhere and for good: every grant of its users, their sessions and links, its management keys, its identity provider, and its applications with all grants to them. Its users, roles and branding will be deleted. The audit log keeps its events: ids, what was done, and the networks and browsers of sign-ins, but no name and no address. The slug stays taken.',
  },
}

const TITLE: Field = ['--title <words>', 'title', 'what it allows, as shown on the consent page']

const scope: Noun = {
  title: 'scope',
  argument: ['scope', 'its name'],
  path: '/scopes',
  columns: ['name', 'title', 'dangerous', 'device_flow'],
  create: {
    about: 'Add a scope to the catalogue.',
    argument: ['name', 'for example orders:read'],
    required: [TITLE],
    optional: [
      ['--dangerous', 'dangerous', 'highlight it on the consent page and require a recent sign-in'],
      ['--not-by-device', 'device_flow', 'do not allow it in the device flow', () => false],
    ],
  },
  named: 'name',
  edits: [TITLE],
}

const SCOPES_OF_ROLE: Field = ['--scopes <list>', 'scopes', 'all its scopes, comma-separated', parseScope]

const role: Noun = {
  title: 'role',
  argument: ['role', 'its name or id'],
  path: '/roles',
  columns: ['name', 'scopes', 'holds_every_scope', 'id'],
  create: {
    about: 'Add a role to an account.',
    required: [NAME],
    optional: [SCOPES_OF_ROLE],
    defaults: { scopes: [] },
  },
  named: 'name',
  edits: [NAME, SCOPES_OF_ROLE],
  erasure: { verb: 'delete', about: 'Delete a role. Its users lose what they held by it only.' },
}

const PROFILE: readonly Field[] = [
  NAME,
  EXTERNAL_ID,
  ['--permissions <list>', 'permissions', 'scopes besides those of the roles, comma-separated', parseScope],
]

const user: Noun = {
  title: 'user',
  argument: ['user', 'the e-mail address or id'],
  path: '/users',
  columns: ['email', 'name', 'status', 'external_id', 'id'],
  create: {
    about: 'Add a user to an account.',
    required: [
      ['--email <address>', 'email', 'e-mail address that the user signs in with'],
      ['--role <name...>', 'roles', 'role of the account; may be repeated'],
    ],
    optional: [...PROFILE, ['--invite', 'invite', 'mail an invitation']],
    also: (options) => ({ roles: options.role }),
  },
  named: 'email',
  filtered: true,
  edits: [
    ['--email <address>', 'email', 'a new e-mail address; ends all sessions'],
    ...PROFILE,
    ['--roles <list>', 'roles', 'ids of all roles, comma-separated', parseScope],
  ],
  erasure: {
    verb: 'erase',
    about: 'Erase a user: everything that is stored about them, except the audit log.',
    final:
      'Name, addresses, sessions, passkeys, mails and grants of this user will be deleted. The audit log keeps its events: their id, what they did, and the networks and browsers of sign-ins, but no name and no address.',
  },
}

const SCOPES: Field = ['--scopes <list>', 'allowed_scopes', 'scopes that it may request, comma-separated', parseScope]
const SCOPES_OF_REQUESTS: readonly Field[] = [
  ['--default-scopes <list>', 'default_scopes', 'scopes of a request that names none', parseScope],
  ['--required-scopes <list>', 'required_scopes', 'scopes that a user cannot leave out', parseScope],
]

const app: Noun = {
  title: 'application',
  argument: ['application', 'its name or id'],
  path: '/applications',
  columns: ['name', 'suspended', 'device_flow', 'public', 'id'],
  create: {
    about: 'Register an application and print its id and secret. The secret is shown only once.',
    required: [NAME, SCOPES],
    optional: [
      ...SCOPES_OF_REQUESTS,
      ['--device-flow', 'device_flow', 'enable the device flow'],
      ['--redirect-uri <address...>', 'redirect_uris', 'enable the dialog with this redirect URI; may be repeated'],
      ['--public', 'public', 'public client without a secret, such as a web page or a desktop program'],
      ['--require-pkce', 'pkce_required', 'require PKCE in the dialog; always required for public applications'],
      ['--resource-server', 'resource_server', 'allow introspection of the credentials of every application'],
    ],
    defaults: { device_flow: false },
    also: ({ scopes }) => ({ scopes: parseScope(String(scopes)) }),
  },
  named: 'name',
  edits: [
    NAME,
    SCOPES,
    ...SCOPES_OF_REQUESTS,
    ['--device-flow <yes|no>', 'device_flow', 'may use the device flow', yesOrNo],
    ['--require-pkce <yes|no>', 'pkce_required', 'require PKCE in the dialog', yesOrNo],
  ],
  erasure: {
    verb: 'delete',
    about: 'Delete an application and end all grants to it.',
    final: 'The application, its secrets and all grants to it will end, everywhere and for good.',
  },
}

export const NOUNS = { account, scope, role, user, app } as const
