/** Bodies of the management API, read by the schema that describes them. */
import { Refusal } from '../../core/refusal.ts'
import type { Properties, Property } from '../schema.ts'

type MemberType<P extends Property> = P extends { readonly enum: readonly (infer Value)[] }
  ? Value
  : P extends { readonly type: 'integer' }
    ? number
    : P extends { readonly type: 'boolean' }
      ? boolean
      : P extends { readonly type: 'array' }
        ? readonly string[]
        : string

/** Undefined: optional and absent. */
export type ParsedBody<P extends Properties> = {
  readonly [Name in keyof P]:
    | MemberType<P[Name]>
    | (P[Name] extends { readonly nullable: true } ? null : never)
    | (P[Name] extends { readonly optional: true } ? undefined : never)
}

/** Unknown members are refused: a misspelt one would otherwise change nothing without a word. Throws a Refusal. */
export function parseBody<const P extends Properties>(schema: P, given: unknown): ParsedBody<P> {
  if (!isObject(given)) throw new Refusal('invalid_request', 'The body has to be a JSON object.')
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(schema, name))
  if (unknown !== undefined) throw new Refusal('invalid_request', `There is no member "${unknown.slice(0, 100)}".`)
  const parsed = Object.entries(schema).map(([name, property]) => [name, readMember(property, name, given[name])])
  return Object.fromEntries(parsed) as ParsedBody<P>
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function readMember(property: Property, name: string, value: unknown): unknown {
  if (value === undefined && property.optional) return undefined
  if (value === undefined) throw new Refusal('invalid_request', `The member ${name} is missing.`)
  if (value === null && property.nullable) return null
  if (!isOfType(property, value))
    throw new Refusal('invalid_request', `The member ${name} has to be ${inWords(property)}.`)
  return value
}

function isOfType({ type, enum: values, items }: Property, value: unknown): boolean {
  switch (type) {
    case 'string':
      return typeof value === 'string' && (!values || values.includes(value))
    case 'integer':
      return Number.isSafeInteger(value)
    case 'array':
      return Array.isArray(value) && value.every((each) => items !== undefined && isOfType(items, each))
    case 'object':
      return isObject(value)
    default:
      return typeof value === type
  }
}

function inWords({ type, enum: values }: Property): string {
  if (values) return values.join(' or ')
  return type === 'array'
    ? 'a list of texts'
    : type === 'string'
      ? 'a text'
      : type === 'integer'
        ? 'a whole number'
        : `a ${type}`
}
