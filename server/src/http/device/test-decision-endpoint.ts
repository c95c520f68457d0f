/** Endpoint with which an application in test mode decides its own codes. docs/interface.md, "Test mode". */
import { formatScope } from '../../core/grants/scope.ts'
import { decideTestCode as decide } from '../../flows/device/decide-test-code.ts'
import { applicationId, applicationSecret, grantedScope } from '../fields.ts'
import type { Endpoint, Handler } from '../route.ts'
import { oneOf, parse, text } from '../schema.ts'

const form = {
  SVCappid: applicationId,
  SVCsecret: applicationSecret,
  user_code: text('What the code request answered.'),
  decision: oneOf(['grant', 'reject'], 'What a user would have said.'),
}

const handler: Handler = async (context, request) => {
  const { SVCappid, SVCsecret, user_code, decision } = parse(form, request.parameters())
  const by = { applicationId: SVCappid, secret: SVCsecret }
  const result = await decide(context, { ...by, userCode: user_code, decision })
  if (result.outcome === 'granted') return { status: 200, fields: { decision, scope: formatScope(result.scopes) } }
  if (result.outcome === 'rejected') return { status: 200, fields: { decision, scope: '' } }
  return { refusal: result.outcome }
}

export const decideTestCode = {
  method: 'POST',
  path: '/auth/test/decision',
  dialect: 'interface',
  handler,
  operation: {
    id: 'decideTestCode',
    tag: 'Device flow',
    security: ['applicationInForm'],
    summary: 'Decide a code in test mode',
    description:
      'For your own tests, without a browser: an application in test mode grants or rejects its own codes, as the user who switched test mode on. Nobody can enter the codes of such an application on a page. To see a code expire, send `expires_in` with the code request: in test mode it makes a code that runs out sooner.',
    form,
    answers: {
      200: {
        description: 'Decided. The next poll says so.',
        body: {
          name: 'TestDecision',
          description: 'What was decided in test mode.',
          properties: {
            decision: oneOf(['grant', 'reject'], 'As it was asked for.', { examples: ['grant'] }),
            scope: grantedScope,
          },
          xml: true,
        },
      },
    },
    refusals: ['invalid_request', 'invalid_application', 'test_mode_off', 'invalid'],
    samples: [{ label: 'Grant a code', send: ['SVCappid', 'SVCsecret', 'user_code', 'decision'] }],
  },
} as const satisfies Endpoint
