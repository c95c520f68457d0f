/** The catalogue of scopes in the management API. */
import { createScope as create } from '../../flows/accounts/register.ts'
import { setScopeTitle } from '../../flows/applications/scope-catalogue.ts'
import { readScopeCatalogue, readScopes, type Scope } from '../../store/applications/scopes.ts'
import { type Body, boolean, optional, text } from '../schema.ts'
import { parseBody } from './body.ts'
import { type Asked, endpoint, type Resource } from './endpoint.ts'
import { listBody, pageOf } from './paging.ts'
import { notFound, refuse, registered } from './refused.ts'

const name = text('The name.', { examples: ['orders:read'] })
const title = text('What it allows, as shown to the user who decides.', { examples: ['See your orders'] })
const dangerous = boolean('Highlighted on the consent page, and granted only after a recent sign-in.')
const deviceFlow = boolean('Can be granted by the device flow.')

const scopeBody: Body = {
  name: 'Scope',
  description: 'Something that can be granted. What it allows never changes, only its title.',
  properties: { name, title, dangerous, device_flow: deviceFlow },
}

function renderScope({ name, title, dangerous, deviceFlow }: Scope): Resource {
  return { name, title, dangerous, device_flow: deviceFlow }
}

async function read({ context }: Asked, name: string): Promise<Resource> {
  const [scope] = await readScopes(context.db, [name])
  return scope ? renderScope(scope) : notFound('scope')
}

const newScope = { name, title, dangerous: optional(dangerous), device_flow: optional(deviceFlow) }

export const listScopes = endpoint({
  method: 'GET',
  path: '/manage/1/scopes',
  scope: 'scopes:read',
  operation: {
    id: 'listScopes',
    tag: 'Scopes',
    summary: 'List the catalogue of scopes',
    description: 'All of them, by name.',
    answers: { 200: { description: 'The scopes.', body: listBody(scopeBody) } },
  },
  handle: async ({ context }) => pageOf((await readScopeCatalogue(context.db)).map(renderScope), null),
})

export const createScope = endpoint({
  method: 'POST',
  path: '/manage/1/scopes',
  scope: 'scopes:write',
  operation: {
    id: 'createScope',
    tag: 'Scopes',
    summary: 'Add a scope',
    description: 'A scope cannot be removed, because grants may have it.',
    json: newScope,
    answers: { 201: { description: 'It is added.', body: scopeBody } },
    refusals: ['conflict'],
  },
  handle: async (asked) => {
    const { context, request, caller } = asked
    const { name, title, dangerous = false, device_flow: deviceFlow = true } = parseBody(newScope, request.json())
    registered(await create(context.db, { name, title, dangerous, deviceFlow }, caller.actor))
    return { status: 201, resource: await read(asked, name) }
  },
})

export const changeScope = endpoint({
  method: 'PATCH',
  path: '/manage/1/scopes/{scope}',
  scope: 'scopes:write',
  operation: {
    id: 'changeScope',
    tag: 'Scopes',
    summary: 'Correct the title of a scope',
    description: 'Nothing else of a scope ever changes.',
    json: { title },
    answers: { 200: { description: 'The scope as it is now.', body: scopeBody } },
    refusals: ['not_found'],
  },
  handle: async (asked) => {
    const { context, request, caller } = asked
    const name = request.segments.scope ?? ''
    const { title: wished } = parseBody({ title }, request.json())
    const { actor } = caller
    const result = await context.db.transaction((tx) => setScopeTitle(tx, { actor }, name, wished))
    return result.outcome === 'saved' ? { status: 200, resource: await read(asked, name) } : refuse(result)
  },
})
