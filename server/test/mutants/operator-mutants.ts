/** Every rule by which two operators are two people, left out. */
import type { Mutant } from './mutant.ts'

const TESTS = ['server/test/attacks/operator/one-person-two-operators.test.ts']

type Left = readonly [id: string, file: string, text: string, replacement: string, allows: string]

const RULE = 'core/operator/second-operator.ts'
const PEOPLE = 'flows/accounts/people.ts'

const left: readonly Left[] = [
  ['second-own', RULE, "if (by.id === confirmer.id) return 'own'", '', 'an operator confirms their own proposal'],
  [
    'second-newer',
    RULE,
    "if (!operators.includes(confirmer.id)) return 'newer'",
    '',
    'an operator who was made for it confirms',
  ],
  [
    'second-pending',
    RULE,
    "if (confirmer.changePending) return 'change_pending'",
    '',
    'an operator whose sign-in may be stolen confirms',
  ],
  ['second-left', RULE, "if (!by.active) return 'proposer_left'", '', 'the proposal of a former operator is confirmed'],
  [
    'second-from',
    RULE,
    "if (confirmer.accessFrom.includes(by.id)) return 'access_from_proposer'",
    '',
    'the second mailbox of the proposer confirms',
  ],
  [
    'second-to',
    RULE,
    "return by.accessFrom.includes(confirmer.id) ? 'access_to_proposer' : null",
    'return null',
    'the second mailbox proposes, and its owner confirms',
  ],
  [
    'second-review',
    'flows/reviews/decide.ts',
    "if (problem) return { outcome: 'not_eligible', problem }",
    '',
    'decisions about applications do not follow the rule',
  ],
  [
    'operator-invited',
    PEOPLE,
    'if (roles.administrator && isOperatorsAccount(context, account))',
    'if (false)',
    'one operator invites another',
  ],
  [
    'operator-promoted',
    PEOPLE,
    'if (administers && isOperatorsAccount(context, account))',
    'if (false)',
    'one operator promotes another',
  ],
  [
    'operator-enabled',
    PEOPLE,
    'if (returns && isOperatorsAccount(context, account))',
    'if (false)',
    'one operator enables another',
  ],
  [
    'operator-reset',
    PEOPLE,
    'if (member.administrator && isOperatorsAccount(context, account))',
    'if (false)',
    'one operator resets another',
  ],
  [
    'tie-confirmed',
    'flows/operator/decide-change.ts',
    'givers: [proposer.id, operator.id]',
    'givers: [proposer.id]',
    'who confirmed the second mailbox of their own is forgotten',
  ],
  ...(['invited', 'promoted', 'enabled', 'reset'] as const).map((how): Left => {
    const givers = how === 'enabled' ? 'giver.givers' : 'givers'
    const text = `await saveAccessGivers(tx, ${how === 'invited' ? 'user.id' : 'userId'}, '${how}', ${givers})`
    const [file, allows] = ['flows/accounts/give-access.ts', `who ${how} an operator is forgotten`]
    return [`tie-${how}`, file, text, how === 'promoted' ? 'await null' : '', allows]
  }),
]

export const operatorMutants: readonly Mutant[] = left.map(([id, file, text, replacement, allows]) => {
  return { id, file: `server/src/${file}`, text, replacement, tests: TESTS, allows }
})
