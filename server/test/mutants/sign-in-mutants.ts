/** Every rule that asks for a second factor, and those by which sign-ins share the password queue, left out. */
import type { Mutant } from './mutant.ts'

const FACTOR = ['server/test/attacks/sign-in/second-factor.test.ts', 'server/test/flows/sign-in/second-factor.test.ts']
const STEPS = ['server/test/attacks/sign-in/skipped-steps.test.ts', 'server/test/flows/sign-in/second-factor.test.ts']

type Left = readonly [
  id: string,
  file: string,
  text: string,
  replacement: string,
  allows: string,
  tests: readonly string[],
]

const GUARD = 'http/web/serve-account.ts'
const SIGN_IN = 'flows/sign-in/sign-in.ts'
const KEPT = "if (isLast && mustKeepSecondFactor(context, account, sessionUser, now)) return { outcome: 'required' }"

const left: readonly Left[] = [
  ['factor-enrol', GUARD, "if (duty === 'enrol' && !open)", 'if (false)', 'who needs one goes on without it', FACTOR],
  [
    'factor-confirm',
    GUARD,
    "if (duty === 'confirm' && open !== 'always')",
    'if (false)',
    'a session that a stolen password opened goes on after the enrolment',
    FACTOR,
  ],
  [
    'factor-operators',
    'core/sign-in/second-factor.ts',
    'if (operators && administratorSince !== null) return administratorSince',
    '',
    'operators have a week without one',
    FACTOR,
  ],
  [
    'factor-asked',
    SIGN_IN,
    'if (hasSecondFactor(user)) return secondStep',
    'if (false) return secondStep',
    'the password or a mailed link alone signs in',
    STEPS,
  ],
  [
    'factor-confirmed',
    'flows/sign-in/confirm.ts',
    "if (second === null) return { outcome: 'wrong' }",
    '',
    'the password alone confirms a sensitive action',
    FACTOR,
  ],
  ['factor-kept-passkey', 'flows/sign-in/passkeys.ts', KEPT, '', 'who needs one removes the last passkey', FACTOR],
  [
    'factor-kept-authenticator',
    'flows/sign-in/authenticator.ts',
    KEPT,
    '',
    'who needs one removes the authenticator',
    FACTOR,
  ],
  [
    'step-time',
    SIGN_IN,
    'user.readAt - step.at > SECOND_STEP_MS',
    'false',
    'the first step is valid for longer than five minutes',
    STEPS,
  ],
  [
    'step-once',
    SIGN_IN,
    "if (!(await spendStep(context, step))) return { outcome: 'expired' }",
    '',
    'the first step is valid twice',
    STEPS,
  ],
  [
    'queue-network',
    'core/fair-queue.ts',
    ' || sum - inAll',
    '',
    'one network fills a queue as many accounts',
    ['server/test/core/fair-queue.test.ts'],
  ],
  [
    'queue-account',
    'secrets/password-queue.ts',
    ' group: source.accountId',
    " group: ''",
    'known browsers of one account turn those of others away',
    ['server/test/secrets/password.test.ts'],
  ],
  [
    'retired-enabled',
    'flows/accounts/give-access.ts',
    'const reset = await hasRetiredFactor(tx, userId)',
    'const reset = false',
    'who is enabled after the key of the authenticator was retired cannot sign in',
    ['server/test/flows/operator/retire-key.test.ts'],
  ],
]

export const signInMutants: readonly Mutant[] = left.map(([id, file, text, replacement, allows, tests]) => {
  return { id, file: `server/src/${file}`, text, replacement, tests, allows }
})
