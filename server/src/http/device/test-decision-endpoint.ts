/**
 * Endpoint with which the application's own tests decide its codes in test mode.
 * docs/interface/device-flow.md, "Test mode".
 */
import { formatScope } from '../../core/grants/scope.ts'
import { decideTestCode as decide } from '../../flows/device/decide-test-code.ts'
import { grantedScope } from '../fields.ts'
import { applicationIn, byApplication } from '../grants/application-fields.ts'
import type { Endpoint, Handler } from '../route.ts'
import { oneOf, parse, text } from '../schema.ts'

const form = {
  ...byApplication,
  test_secret: text('The secret of this test mode: `lkt_` and 43 characters.'),
  user_code: text('What the code request answered.'),
  decision: oneOf(['grant', 'reject'], 'What a user would have said.'),
}

const handler: Handler = async (context, request) => {
  const given = parse(form, request.parameters())
  const { test_secret: testSecret, user_code: userCode, decision } = given
  const result = await decide(context, { ...applicationIn(given), testSecret, userCode, decision })
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
    security: ['applicationInForm', 'none'],
    summary: 'Decide a code in test mode',
    description:
      'For your own tests, without a browser: while an application is in test mode, this request grants or rejects its codes, as the user who switched test mode on. It requires the test secret, which the developer console shows once when test mode is switched on; the application’s own secret is not enough. The codes of such an application cannot be entered on a page.\n\nTest mode ends after a day at the latest, and everything granted in it is revoked then, access keys included. Dangerous scopes are left out of the grant; a code that requests nothing else, or whose application requires one, is `invalid`. To see a code expire, send `expires_in` with the code request: in test mode it shortens the lifetime of the code.',
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
    refusals: ['invalid_request', 'invalid_application', 'invalid_test_secret', 'invalid'],
    samples: [{ label: 'Grant a code', send: ['SVCappid', 'SVCsecret', 'test_secret', 'user_code', 'decision'] }],
  },
} as const satisfies Endpoint
