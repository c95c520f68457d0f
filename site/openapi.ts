/** The parts of docs/openapi.yaml that the site shows, with references resolved. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { ROOT } from './pages.ts'

export type Schema = {
  readonly type?: string
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly examples?: readonly unknown[]
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
}
export type Field = { readonly schema: Schema; readonly description?: string; readonly required?: boolean }
export type Parameter = Field & { readonly name: string; readonly in: string }
type Example = { readonly summary: string; readonly description: string; readonly value: { readonly error: string } }
type Content = Readonly<
  Record<string, { readonly schema?: Schema; readonly examples?: Readonly<Record<string, Example>> }>
>
export type Response = {
  readonly description: string
  readonly headers?: Readonly<Record<string, Field>>
  readonly content?: Content
}
type Scheme = { readonly type: string; readonly scheme?: string; readonly description: string }
type Reference = { readonly $ref: string }
export type Operation = {
  readonly operationId: string
  readonly tags: readonly [string]
  readonly summary: string
  readonly description: string
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Reference | { readonly content: Content }
  readonly responses: Readonly<Record<string, Reference | Response>>
  readonly 'x-codeSamples': readonly { readonly label: string; readonly source: string }[]
}
type Path = { readonly get?: Operation; readonly post?: Operation }
type Description = {
  readonly info: { readonly description: string }
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Path>>
  readonly components: { readonly securitySchemes: Readonly<Record<string, Scheme>> }
}

export const description: Description = parse(readFileSync(join(ROOT, 'docs/openapi.yaml'), 'utf8'))

export type Endpoint = { readonly method: 'GET' | 'POST'; readonly path: string; readonly operation: Operation }

/** All operations. */
export function listEndpoints(): readonly Endpoint[] {
  return Object.entries(description.paths).flatMap(([path, { get, post }]) => [
    ...(get ? [{ method: 'GET' as const, path, operation: get }] : []),
    ...(post ? [{ method: 'POST' as const, path, operation: post }] : []),
  ])
}

export const isReference = (value: object): value is Reference => '$ref' in value

/** Follows `#/components/…`. */
export function resolve<T extends object>(value: T | Reference): T {
  if (!isReference(value)) return value
  const steps = value.$ref.replace(/^#\//, '').split('/')
  let found: unknown = description
  for (const step of steps) found = (found as Readonly<Record<string, unknown>>)[step]
  if (found === undefined) throw new Error(`docs/openapi.yaml has no ${value.$ref}`)
  return found as T
}
