/** GET /manage/1/openapi.json: the description of the management API, public as that of the interface is. */
import type { Endpoint, Handler } from '../route.ts'

/** Routes are passed as a function, because this route stands beside them. */
export function readManagementDescription(routes: () => readonly Endpoint[]): Endpoint {
  const handler: Handler = async ({ config }) => {
    const { describeManagement } = await import('../openapi/management-document.ts')
    const text = JSON.stringify(describeManagement(routes(), config.publicUrl))
    return { status: 200, text, type: 'application/json; charset=utf-8', allowOrigin: '*' }
  }
  return {
    method: 'GET',
    path: '/manage/1/openapi.json',
    dialect: 'plain',
    handler,
    operation: {
      id: 'readManagementDescription',
      tag: 'Health and description',
      summary: 'The description of the management API',
      description: 'OpenAPI 3.1, in JSON.',
      security: ['none'],
      answers: { 200: { description: 'The document.' } },
      refusals: [],
    },
  }
}
