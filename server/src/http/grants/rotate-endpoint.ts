/** Endpoint that replaces an access key. docs/interface/credentials.md, "Credentials". */
import { formatScope } from '../../core/grants/scope.ts'
import { rotateAccessKey as rotateKey } from '../../flows/grants/rotate-access-key.ts'
import { accessKey, grantedScope, overlap } from '../fields.ts'
import type { Endpoint, Handler } from '../route.ts'
import { parse, text } from '../schema.ts'
import { applicationIn, bySecret } from './application-fields.ts'

const rotateForm = { ...bySecret, access_key: text('The key to replace.') }

const rotateHandler: Handler = async (context, request) => {
  const form = parse(rotateForm, request.parameters())
  const result = await rotateKey(context, { ...applicationIn(form), accessKey: form.access_key })
  if (result.outcome !== 'rotated') return { refusal: result.outcome }
  const { issued, overlapSeconds } = result
  const scope = formatScope(issued.scopes)
  return { status: 200, fields: { access_key: issued.accessKey, scope, overlap: overlapSeconds } }
}

export const rotateAccessKey = {
  method: 'POST',
  path: '/auth/key/rotate',
  dialect: 'interface',
  handler: rotateHandler,
  operation: {
    id: 'rotateAccessKey',
    tag: 'Credentials',
    summary: 'Replace an access key',
    description:
      'Gives a new key; the old one goes on working for `overlap` seconds, so that every device can be told. If the answer got lost, repeat the request within that time: you get the same new key again.',
    security: ['applicationInForm'],
    form: rotateForm,
    answers: {
      200: {
        description: 'The new key.',
        body: {
          name: 'ReplacedAccessKey',
          description: 'The key that replaces the old one.',
          properties: {
            access_key: accessKey,
            scope: grantedScope,
            overlap,
          },
          xml: true,
        },
      },
    },
    refusals: ['invalid_request', 'invalid_grant', 'invalid_application', 'unavailable'],
  },
} as const satisfies Endpoint
