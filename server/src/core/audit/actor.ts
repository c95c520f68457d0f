/** Actor of an audit event and the interface it used. Every event names both: the log cannot be amended later. */

export const actorKinds = ['user', 'operator', 'application', 'service', 'management_key', 'anonymous'] as const

export type ActorKind = (typeof actorKinds)[number]

/** `mail`: by a link that was sent by mail, without a session. `job`: in the background. */
export const interfaces = ['web', 'api', 'cli', 'mail', 'job'] as const

export type Interface = (typeof interfaces)[number]

export type Actor = {
  readonly kind: ActorKind
  /** The id of a user, application or management key; otherwise a name. */
  readonly id: string
  readonly via: Interface
}

/** A signed-in user, administrators included. */
export const byUser = (id: string): Actor => ({ kind: 'user', id, via: 'web' })

export const byMailLink = (userId: string): Actor => ({ kind: 'user', id: userId, via: 'mail' })

/** In the operators' console. */
export const byOperator = (userId: string): Actor => ({ kind: 'operator', id: userId, via: 'web' })

/** The command line has no sign-in: access to the machine makes its user an operator. */
export const BY_COMMAND_LINE: Actor = { kind: 'operator', id: 'cli', via: 'cli' }

export const byApplication = (id: string): Actor => ({ kind: 'application', id, via: 'api' })

/** A program with a management key, by its id. */
export const byManagementKey = (id: string): Actor => ({ kind: 'management_key', id, via: 'api' })

/** A background job, or a rule that acts by itself. */
export const byService = (name: string): Actor => ({ kind: 'service', id: name, via: 'job' })

/** The host service, by a statement about a user who signs in. */
export const byHostService: Actor = { kind: 'service', id: 'host service', via: 'web' }

/** The identity provider of an account, by what it says about a user. */
export const byProvider: Actor = { kind: 'service', id: 'identity provider', via: 'web' }

/** An unauthenticated request: no session, no application. */
export const byAnybody = (via: 'web' | 'api'): Actor => ({ kind: 'anonymous', id: 'anonymous', via })
