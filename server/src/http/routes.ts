/** Every door of the service, in the order of docs/interface.md. What is not here is a 404. */
import type { Context } from '../flows/context.ts'
import type { Answer } from './answer.ts'
import { me } from './credential-endpoints.ts'
import { polling, requestCode } from './device-endpoints.ts'
import { live, ready } from './health-endpoints.ts'
import type { Parameters } from './parameters.ts'

/** What a handler may know of a request. Not the URL: a secret may be in it. */
export type Request = {
  /** Throws a Refusal, now or later. */
  parameters(): Parameters | Promise<Parameters>
  header(name: string): string | null
  /** Where the client is, as far as we can know. */
  address(): string | null
  readonly draining: boolean
}

export type Handler = (context: Context, request: Request) => Promise<Answer>

export type Door = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly handler: Handler
  /** `interface`: also under /1, and both also with .xml. `plain`: just the path, JSON. */
  readonly face: 'interface' | 'plain'
}

export const doors: readonly Door[] = [
  { method: 'POST', path: '/auth/oauth/device/code', handler: requestCode('token_set'), face: 'interface' },
  { method: 'POST', path: '/auth/key/device/code', handler: requestCode('access_key'), face: 'interface' },
  { method: 'POST', path: '/auth/oauth/device/polling', handler: polling('token_set'), face: 'interface' },
  { method: 'POST', path: '/auth/key/device/polling', handler: polling('access_key'), face: 'interface' },
  { method: 'GET', path: '/me', handler: me, face: 'interface' },
  { method: 'GET', path: '/health/live', handler: live, face: 'plain' },
  { method: 'GET', path: '/health/ready', handler: ready, face: 'plain' },
]
