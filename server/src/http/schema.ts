/**
 * Schemas of parameters and responses: JSON Schema as plain data. The OpenAPI document is written from a schema, and
 * `parse` reads a request by the same one, so the two cannot differ.
 *
 * `parse` checks required parameters and `enum`. `pattern`, `format` and `const` are only documentation: a value that
 * does not match is passed to the flow, which answers as for any unknown value.
 */
import { Refusal, type RefusalCode } from '../core/refusal.ts'
import type { FormFields } from './parameters.ts'

type More = {
  readonly pattern?: string
  readonly format?: 'uri' | 'date-time'
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  /** The first one is used in curl commands and in example responses. */
  readonly examples?: readonly unknown[]
}

export type Property = More & {
  readonly type: 'string' | 'integer' | 'boolean' | 'array' | 'object'
  readonly description?: string
  readonly enum?: readonly string[]
  readonly const?: string | boolean
  readonly items?: Property
  /** Members of an object. */
  readonly properties?: Properties
  /** Null is a value as well. */
  readonly nullable?: true
  /** Not written to the document: there the property is not among those `required`. */
  readonly optional?: true
  /** Not written to the document: the refusal if it is missing, where that is not `invalid_request`. */
  readonly missing?: RefusalCode
  /** Not written to the document: a second name. Under both names the value must be the same. */
  readonly alias?: string
  /** Not written to the document: its name on other paths. The refusal explains it to who sent that one instead. */
  readonly elsewhere?: string
}

export type Properties = Readonly<Record<string, Property>>

/** Body of a response. Its name is that of the schema in the document. */
export type Body = {
  readonly name: string
  readonly description: string
  readonly properties: Properties
  /** Also served as XML. */
  readonly xml?: true
}

export const text = (description: string, more: More = {}) => ({ type: 'string', description, ...more }) as const

export const integer = (description: string, more: More = {}) => ({ type: 'integer', description, ...more }) as const

export const boolean = (description: string, more: More = {}) => ({ type: 'boolean', description, ...more }) as const

export const oneOf = <const Value extends string>(values: readonly Value[], description: string, more: More = {}) =>
  ({ type: 'string', enum: values, description, ...more }) as const

export const constant = (value: string, description: string) => ({ type: 'string', const: value, description }) as const

export const optional = <P extends Property>(property: P) => ({ ...property, optional: true }) as const

export const nullable = <P extends Property>(property: P) => ({ ...property, nullable: true }) as const

export const texts = (description: string, more: More = {}) =>
  ({ type: 'array', items: { type: 'string' }, description, ...more }) as const

/** Text, one of a list, or a whole number. Null if it is optional and absent. */
export type Parsed<P extends Properties> = {
  readonly [Name in keyof P]: ValueOf<P[Name]> | (P[Name] extends { readonly optional: true } ? null : never)
}

type ValueOf<P extends Property> = P extends { readonly enum: readonly (infer Value)[] }
  ? Value
  : P extends { readonly type: 'integer' }
    ? number
    : string

/** Reads the parameters that a schema names; all others are ignored. Throws a Refusal for the first one that is wrong. */
export function parse<const P extends Properties>(schema: P, fields: FormFields): Parsed<P> {
  const parsed: Record<string, string | number | null> = {}
  for (const name of Object.keys(schema)) {
    const property = schema[name]
    if (property) parsed[name] = readValue(property, name, fields)
  }
  return parsed as Parsed<P>
}

/** Whether `parse` reads the parameter. */
export function isRead(schema: Properties, name: string): boolean {
  return Object.hasOwn(schema, name) || Object.values(schema).some(({ alias }) => alias === name)
}

/** An empty value of a required parameter counts as missing. */
function readValue(property: Property, name: string, fields: FormFields): string | number | null {
  const given = readText(property, name, fields)
  if (!given && !property.optional) throw missing(property, name, fields)
  if (given === undefined) return null
  // An integer parameter that is not a whole number is ignored, like an unknown parameter.
  if (property.type === 'integer') return /^\d{1,6}$/.test(given) ? Number(given) : null
  if (!property.enum || property.enum.includes(given)) return given
  throw new Refusal('invalid_request', `The ${name} must be ${property.enum.join(' or ')}.`)
}

function readText({ alias }: Property, name: string, fields: FormFields): string | undefined {
  const given = fields.get(name)
  const other = alias === undefined ? undefined : fields.get(alias)
  if (given !== undefined && other !== undefined && given !== other) {
    throw new Refusal('invalid_request', `The parameters ${name} and ${alias} have different values.`)
  }
  return given ?? other
}

function missing({ missing: code, elsewhere }: Property, name: string, fields: FormFields): Refusal {
  if (code) return new Refusal(code)
  const instead = elsewhere !== undefined && fields.has(elsewhere) ? ` ${elsewhere} is its name on other paths.` : ''
  return new Refusal('invalid_request', `The parameter ${name} is missing.${instead}`)
}
