/** Configuration of a service as a file describes it (`latchkey apply`) and as the management API shows it. */

export type ScopeEntry = {
  readonly title: string
  readonly dangerous?: boolean
  readonly device_flow?: boolean
}

export type RoleEntry = { readonly scopes: readonly string[] }

export type ApplicationEntry = {
  readonly allowed_scopes: readonly string[]
  readonly default_scopes?: readonly string[]
  readonly required_scopes?: readonly string[]
  readonly device_flow?: boolean
  readonly redirect_uris?: readonly string[]
  readonly public?: boolean
  readonly pkce_required?: boolean
  readonly resource_server?: boolean
}

export type Named<T> = Readonly<Record<string, T>>

export type AccountEntry = {
  readonly name: string
  readonly external_id?: string | null
  readonly roles?: Named<RoleEntry>
  readonly applications?: Named<ApplicationEntry>
}

/** By name; accounts by slug. A member that is left out stays as it is at the service. */
export type Configuration = {
  readonly scopes?: Named<ScopeEntry>
  readonly accounts?: Named<AccountEntry>
}

/** A resource of the service: its members as the file would write them. */
export type Live<Entry> = { readonly id: string; readonly name: string; readonly entry: Required<Entry> }

export type LiveRole = Live<RoleEntry> & {
  /** The role of administrators: no file describes it. */
  readonly holdsEveryScope: boolean
}

export type LiveAccount = {
  readonly name: string
  readonly external_id: string | null
  readonly roles: readonly LiveRole[]
  readonly applications: readonly Live<ApplicationEntry>[]
}

/** The whole catalogue, and the accounts that the file names, by slug. */
export type LiveConfiguration = {
  readonly scopes: readonly Live<ScopeEntry>[]
  readonly accounts: ReadonlyMap<string, LiveAccount>
}

/** Keys of the file from the outside in, for example accounts, acme, roles, clerk. */
export type Path = readonly string[]

export type Problem = { readonly path: Path; readonly message: string }
