/** Pages of lists: a cursor names the last item of the previous page, so that new items do not shift pages. */
import { Refusal } from '../../core/refusal.ts'
import type { ApiRequest } from '../route.ts'
import { type Body, integer, nullable, optional, type Properties, text } from '../schema.ts'
import type { Outcome, Resource } from './endpoint.ts'

const MAX_LINES = 200
const DEFAULT_LINES = 50

export const pageQuery = {
  cursor: optional(text('`next` of the page before; absent: the first page.')),
  limit: optional(integer(`Most items of a page, 1 to ${MAX_LINES}.`, { examples: [DEFAULT_LINES] })),
} satisfies Properties

export type Page = { readonly after: string | null; readonly lines: number }

/** `cursor`: what a cursor of this list looks like. Throws a Refusal. */
export function readPage(request: ApiRequest, cursor: RegExp): Page {
  const parameters = request.parameters()
  const after = parameters.get('cursor') ?? null
  if (after !== null && !cursor.test(after)) throw new Refusal('invalid_request', 'The cursor is none of this list.')
  const limit = parameters.get('limit') ?? String(DEFAULT_LINES)
  const lines = /^\d{1,3}$/.test(limit) ? Number(limit) : 0
  if (lines < 1 || lines > MAX_LINES) throw new Refusal('invalid_request', `limit is a number from 1 to ${MAX_LINES}.`)
  return { after, lines }
}

/** A filter of the query; null if it is absent. Throws a Refusal. */
export function readFilter(request: ApiRequest, name: string): string | null {
  const given = request.parameters().get(name) || null
  if (given?.includes('\0')) throw new Refusal('invalid_request', `${name} contains a NUL character.`)
  return given
}

export function pageOf(items: readonly Resource[], next: string | null): Outcome {
  return { status: 200, list: { items, next } }
}

export function listBody(item: Body): Body {
  return {
    name: `${item.name}List`,
    description: `A page of a list. ${item.description}`,
    properties: {
      items: { type: 'array', items: { type: 'object', properties: item.properties }, description: 'The items.' },
      next: nullable(text('`cursor` of the next page; null on the last one.')),
    },
  }
}

/** Times are written as in 2026-11-17T02:05:00.000Z. */
export function moment(ms: number): string
export function moment(ms: number | null): string | null
export function moment(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}

export const momentField = (description: string) => text(description, { format: 'date-time' })
