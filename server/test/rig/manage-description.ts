/** Answers of the management API held against its description: a member too many is a problem as well as one too few. */

import { describedManagement } from '../../src/http/manage/routes.ts'
import { describeManagement } from '../../src/http/openapi/management-document.ts'

type Json = Readonly<Record<string, unknown>>

// biome-ignore lint/suspicious/noExplicitAny: the document is looked into by paths.
const document: any = JSON.parse(JSON.stringify(describeManagement(describedManagement, 'https://service.example')))

/** Null: the answer is as described. */
export function problemOfAnswer(method: string, path: string, status: number, body: unknown): string | null {
  const route = Object.keys(document.paths).find((each) => matches(each, path.replace(/\?.*/, '')))
  const operation = route && document.paths[route][method.toLowerCase()]
  // A 404 or 405 of an address that is not described.
  if (!operation) return status === 404 || status === 405 ? null : `${method} ${path} is not described`
  const response = resolve(operation.responses[status])
  if (!response) return `${method} ${route} is not described to answer ${status}`
  const schema = Object.values((response.content ?? {}) as Record<string, { schema: Json }>)[0]?.schema
  if (!schema) return body === null ? null : `${method} ${route} ${status} has a body`
  const differences = compare(resolve(schema), body, '')
  return differences.length === 0 ? null : `${method} ${route} ${status}: ${differences.join(', ')}`
}

function matches(template: string, path: string): boolean {
  return new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path)
}

// biome-ignore lint/suspicious/noExplicitAny: as above.
function resolve(value: any): any {
  const name = value?.$ref
  if (typeof name !== 'string') return value
  return name
    .slice(2)
    .split('/')
    .reduce((at, part) => at[part], document)
}

// biome-ignore lint/suspicious/noExplicitAny: as above.
function compare(schema: any, value: unknown, at: string): string[] {
  const types = [schema.type].flat()
  if (value === null) return types.includes('null') ? [] : [`${at} is null`]
  if (types.includes('array')) {
    if (!Array.isArray(value)) return [`${at} is no list`]
    return value.flatMap((each, index) => compare(schema.items, each, `${at}/${index}`))
  }
  if (types.includes('object')) return compareMembers(schema, value as Json, at)
  const type = types.includes('integer') ? 'number' : types[0]
  return typeof value === type ? [] : [`${at} is no ${type}`]
}

// biome-ignore lint/suspicious/noExplicitAny: as above.
function compareMembers(schema: any, value: Json, at: string): string[] {
  const { properties, required = [] } = schema
  if (!properties) return []
  const missing = required.filter((name: string) => !(name in value)).map((name: string) => `${at}/${name} is missing`)
  const members = Object.entries(value).filter(([name]) => name !== 'dry_run')
  return [
    ...missing,
    ...members.flatMap(([name, each]) =>
      properties[name] ? compare(properties[name], each, `${at}/${name}`) : [`${at}/${name} is not described`],
    ),
  ]
}
