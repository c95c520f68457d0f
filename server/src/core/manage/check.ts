/** Checks of a configuration that need no request: the rules that the service applies, with the place in the file. */
import { NAME, problemOfAccount } from '../accounts/account.ts'
import { isName } from '../applications/name.ts'
import { settingsProblem } from '../applications/settings.ts'
import { explainSettings } from '../applications/settings-in-words.ts'
import { isScopeName } from '../grants/scope.ts'
import type {
  AccountEntry,
  ApplicationEntry,
  Configuration,
  Live,
  Path,
  Problem,
  RoleEntry,
  ScopeEntry,
} from './configuration.ts'

type Catalogue = ReadonlyMap<string, Pick<ScopeEntry, 'device_flow'>>

/** `live`: the catalogue of the service, to which the file adds. */
export function checkConfiguration(
  { scopes = {}, accounts = {} }: Configuration,
  live: readonly Live<ScopeEntry>[],
): readonly Problem[] {
  const known: Catalogue = new Map([
    ...Object.entries(scopes),
    ...live.map(({ name, entry }) => [name, entry] as const),
  ])
  return [
    ...Object.entries(scopes).flatMap(([name, entry]) => checkScope(['scopes', name], name, entry)),
    ...Object.entries(accounts).flatMap(([slug, entry]) => checkAccount(['accounts', slug], slug, entry, known)),
  ]
}

function checkScope(path: Path, name: string, { title }: ScopeEntry): readonly Problem[] {
  if (!isScopeName(name))
    return [{ path, message: 'A scope is named with a-z, 0-9 and _ . : - inside, at most 64 characters.' }]
  return isName(title) ? [] : [{ path: [...path, 'title'], message: NAME }]
}

const MEMBERS = { slug: [], name: ['name'], externalId: ['external_id'] } as const

function checkAccount(path: Path, slug: string, account: AccountEntry, known: Catalogue): readonly Problem[] {
  const { name, external_id: externalId = null, roles = {}, applications = {} } = account
  const problem = problemOfAccount({ slug, name, externalId })
  return [
    ...(problem ? [{ path: [...path, ...MEMBERS[problem.field]], message: problem.message }] : []),
    ...Object.entries(roles).flatMap(([name, role]) => checkRole([...path, 'roles', name], name, role, known)),
    ...Object.entries(applications).flatMap(([name, application]) =>
      checkApplication([...path, 'applications', name], name, application, known),
    ),
  ]
}

function checkRole(path: Path, name: string, { scopes }: RoleEntry, known: Catalogue): readonly Problem[] {
  if (!isName(name) || name !== name.trim()) return [{ path, message: NAME }]
  const unknown = scopes.filter((scope) => !known.has(scope))
  return unknown.length === 0 ? [] : [{ path: [...path, 'scopes'], message: notInCatalogue(unknown, known) }]
}

function checkApplication(path: Path, name: string, entry: ApplicationEntry, known: Catalogue): readonly Problem[] {
  const {
    allowed_scopes: allowedScopes,
    default_scopes: defaultScopes = [],
    required_scopes: requiredScopes = [],
  } = entry
  const unknown = allowedScopes.filter((scope) => !known.has(scope))
  if (unknown.length > 0) return [{ path: [...path, 'allowed_scopes'], message: notInCatalogue(unknown, known) }]
  if (entry.public && entry.resource_server) {
    const message = 'A resource server proves itself with a secret, so it cannot be public.'
    return [{ path: [...path, 'resource_server'], message }]
  }
  const { device_flow: deviceFlow = false, redirect_uris: redirectUris = [] } = entry
  const notByDevice = allowedScopes.filter((scope) => known.get(scope)?.device_flow === false)
  const settings = { name, allowedScopes, defaultScopes, requiredScopes, deviceFlow, redirectUris }
  const problem = settingsProblem(settings, { unknown: [], notByDevice })
  if (!problem) return []
  const place = problem.field === 'redirects' ? ['redirect_uris'] : []
  return [{ path: [...path, ...place], message: explainSettings(problem) }]
}

function notInCatalogue(unknown: readonly string[], known: Catalogue): string {
  const offered = [...known.keys()].sort().join(', ') || 'none'
  return `Not in the scope catalogue: ${unknown.join(', ')}. Scopes are: ${offered}. Add others under "scopes".`
}
