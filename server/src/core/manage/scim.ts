/**
 * SCIM 2.0 (RFC 7643, RFC 7644): what Latchkey keeps of a user, and how requests of Okta and Entra ID name it. A user
 * has one name: components of names are read, not kept.
 */

/** Absent: not mentioned. */
export type ScimProfile = {
  readonly userName?: string
  readonly externalId?: string | null
  readonly name?: string
  readonly active?: boolean
}

type Json = Readonly<Record<string, unknown>>

const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Reads the attributes that are kept; all others are ignored, as RFC 7644, section 3.3, allows. Null: malformed. */
export function readScimUser(given: unknown): ScimProfile | null {
  if (!isJson(given)) return null
  const userName = given.userName
  const active = readActive(given.active)
  if ((userName !== undefined && typeof userName !== 'string') || active === null) return null
  const { externalId } = given
  if (externalId !== undefined && externalId !== null && typeof externalId !== 'string') return null
  const name = readName(given)
  return {
    ...(userName === undefined ? {} : { userName }),
    ...(externalId === undefined ? {} : { externalId }),
    ...(name === undefined ? {} : { name }),
    ...(active === undefined ? {} : { active }),
  }
}

/** Entra ID sends "True" and "False" unless its feature flag for SCIM is set. Null: neither. */
function readActive(value: unknown): boolean | null | undefined {
  if (value === undefined) return value
  const text = String(value).toLowerCase()
  return text === 'true' ? true : text === 'false' ? false : null
}

function readName({ displayName, name }: Json): string | undefined {
  const parts = isJson(name) ? name : {}
  const joined = [parts.givenName, parts.familyName].filter((part) => typeof part === 'string' && part !== '').join(' ')
  const found = [displayName, parts.formatted, joined].find((each) => typeof each === 'string' && each !== '')
  return typeof found === 'string' ? found.slice(0, 200) : undefined
}

const STORED_ATTRIBUTES = ['userName', 'externalId', 'displayName', 'active'] as const

/**
 * The attributes as the operations set them, for `readScimUser`. RFC 7644, section 3.5.2: attributes in `value`, or one
 * attribute that `path` names. Paths of attributes that are not kept are ignored. Null: malformed.
 */
export function readScimPatch(given: unknown): Json | null {
  const operations = isJson(given) ? given.Operations : undefined
  if (!Array.isArray(operations)) return null
  let merged: Json = {}
  for (const operation of operations) {
    const change = readOperation(operation)
    if (!change) return null
    merged = { ...merged, ...change }
  }
  return merged
}

/** `op` in any case: Entra ID writes `Replace`. */
function readOperation(operation: unknown): Json | null {
  if (!isJson(operation) || typeof operation.op !== 'string') return null
  const op = operation.op.toLowerCase()
  if (!['add', 'replace', 'remove'].includes(op)) return null
  const { path, value } = operation
  if (path === undefined) return op !== 'remove' && isJson(value) ? value : null
  if (typeof path !== 'string') return null
  const attribute = path.replace(/^urn:ietf:params:scim:schemas:core:2\.0:User:/i, '')
  if (attribute.toLowerCase() === 'name.formatted') return op === 'remove' ? {} : { name: { formatted: value } }
  const kept = STORED_ATTRIBUTES.find((name) => name.toLowerCase() === attribute.toLowerCase())
  if (kept === undefined) return {}
  if (op !== 'remove') return { [kept]: value }
  return kept === 'externalId' ? { externalId: null } : {}
}

export type ScimFilter = { readonly userName: string } | { readonly externalId: string }

/** `userName eq "…"` or `externalId eq "…"`: the two by which identity providers look for a user. Null: another one. */
export function readScimFilter(text: string): ScimFilter | null {
  const [, attribute = '', quoted = ''] = /^\s*(\w+)\s+eq\s+("(?:[^"\\]|\\.)*")\s*$/i.exec(text) ?? []
  const value = readQuoted(quoted)
  if (value === null) return null
  if (attribute.toLowerCase() === 'username') return { userName: value }
  return attribute.toLowerCase() === 'externalid' ? { externalId: value } : null
}

/** RFC 7644, section 3.4.2.2: a value is written as in JSON. */
function readQuoted(text: string): string | null {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
