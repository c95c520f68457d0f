/** Operations of the device flow. docs/interface.md, "Request a device code" and "Poll for authorization". */
import { Type } from 'typebox'
import { applicationId, applicationSecret, askedScope, askedState, given } from './fields.ts'
import type { Operation } from './operation.ts'

const codeRequest = Type.Object({
  SVCappid: applicationId,
  SVCsecret: applicationSecret,
  scope: askedScope,
  state: askedState,
})

const poll = Type.Object({
  SVCappid: applicationId,
  SVCsecret: applicationSecret,
  device_code: given('What the code request answered.'),
})

const idempotencyKey = Type.Object({
  'Idempotency-Key': Type.Optional(
    Type.String({
      description:
        'One random text per device code, sent with every poll: 1 to 255 printable characters without spaces. If the final answer got lost on its way, a poll with the same key gets it again for 10 minutes, with the `expires_in` that is left.',
      maxLength: 255,
    }),
  ),
})

const requesting = {
  tag: 'Device flow',
  security: ['applicationInForm'],
  form: codeRequest,
  answers: { 200: { description: 'A code to show, and a code to poll with.', schema: 'DeviceCode' } },
  refusals: [
    'invalid_request',
    'invalid_scope',
    'invalid_application',
    'application_suspended',
    'device_flow_disabled',
    'too_many_requests',
    'unavailable',
  ],
  samples: [{ label: 'Request a code', send: ['SVCappid', 'SVCsecret', 'state'] }],
} as const satisfies Partial<Operation>

const polling = {
  tag: 'Device flow',
  security: ['applicationInForm'],
  form: poll,
  headers: idempotencyKey,
  refusals: ['auth_pending', 'slow_down', 'auth_expired', 'auth_rejected', 'invalid'],
  noOther: true,
} as const satisfies Partial<Operation>

const POLLING = `A poll has exactly six outcomes: accepted, with status 200, and five errors, all with status 400. Poll again only after \`auth_pending\` and \`slow_down\`, and wait \`interval\` seconds before you do; \`Retry-After\` repeats the number. Everything else is final.

The first poll may come at once. A device that polls every \`interval\` seconds never sees \`slow_down\`.

Wrong credentials, an unknown code and the other variant’s path are all \`invalid\`, and change nothing: if a first poll is \`invalid\`, compare the four values with those of the code request.`

export const deviceOperations = {
  requestTokenCode: {
    ...requesting,
    summary: 'Request a code for a token set',
    description:
      'Show `user_code` to the user and start polling `/auth/oauth/device/polling` at the same time. The user signs in at their own account’s address, chooses to enter an application code, types it, and decides.\n\nWhen a code has expired, tell the user and let them ask for the next one; do not request codes with nobody in front of the device.',
  },
  requestKeyCode: {
    ...requesting,
    summary: 'Request a code for an access key',
    description:
      'As for a token set, but the poll (at `/auth/key/device/polling`) ends with an access key, which does not expire. A code is bound to its variant: the other one’s path does not know it.',
  },
  decideTestCode: {
    tag: 'Device flow',
    security: ['applicationInForm'],
    summary: 'Decide a code in test mode',
    description:
      'For your own tests, without a browser: an application in test mode grants or rejects its own codes, as the user who switched test mode on. Nobody can enter the codes of such an application on a page. To see a code expire, send `expires_in` with the code request: in test mode it makes a code that runs out sooner.',
    form: Type.Object({
      SVCappid: applicationId,
      SVCsecret: applicationSecret,
      user_code: given('What the code request answered.'),
      decision: Type.Enum(['grant', 'reject'], { type: 'string', description: 'What a user would have said.' }),
    }),
    answers: { 200: { description: 'Decided. The next poll says so.', schema: 'TestDecision' } },
    refusals: ['invalid_request', 'invalid_application', 'test_mode_off', 'invalid'],
    samples: [{ label: 'Grant a code', send: ['SVCappid', 'SVCsecret', 'user_code', 'decision'] }],
  },
  pollForTokenSet: {
    ...polling,
    summary: 'Poll for a token set',
    description: POLLING,
    answers: { 200: { description: 'Accepted: the user granted the code. Given once.', schema: 'TokenSet' } },
  },
  pollForAccessKey: {
    ...polling,
    summary: 'Poll for an access key',
    description: POLLING,
    answers: { 200: { description: 'Accepted: the user granted the code. Given once.', schema: 'AccessKey' } },
  },
} as const satisfies Readonly<Record<string, Operation>>
