/**
 * What can prevent a grant, as a table: facts and their values, the smallest combinations that prevent a grant, and the order of the
 * outcomes. Written down independently of the rule that is tested with it.
 */

/** Values of every fact. The first is fine. */
const PARTIES = {
  flow: ['device', 'dialog'],
  parties: ['there', 'application deleted', 'user disabled'],
  policy: ['open', 'no codes', 'others listed', 'verified only'],
  publisher: ['verified', 'unverified'],
  testMode: ['off', 'on', 'over'],
  suspended: ['no', 'yes'],
  unvetted: ['no', 'counted', 'a hundred'],
  holds: ['all', 'some', 'not the required', 'none'],
  dangerous: ['no', 'yes'],
  variant: ['token_set', 'access_key'],
} as const

/** Facts about the user on a page. */
const USER = {
  signedIn: ['now', 'long ago', 'many grants ago'],
  /** Who entered codes besides: many users those of the application, or a colleague this one, from whom the user took it over. */
  others: ['nobody', 'a crowd', 'a colleague'],
  origin: ['same', 'other_country', 'other_network', 'unknown'],
  answer: ['right', 'none yet', 'not retyped', 'others shown', 'not retyped, others shown'],
} as const

export const ON_PAGE = { by: ['page'], ...PARTIES, ...USER } as const
export const DECIDERS = ['command_line', 'forecast', 'preview', 'own test', 'test of another', 'earlier test'] as const
export const ELSEWHERE = { by: DECIDERS, ...PARTIES } as const

export type Values = {
  [Fact in keyof typeof ON_PAGE]:
    | (typeof ON_PAGE)[Fact][number]
    | (Fact extends 'by' ? (typeof DECIDERS)[number] : never)
}

/** Outcomes in their order: what is impossible, then what the user is asked to do. */
export const ORDER = [
  ...['gone', 'barred', 'suspended', 'dangerous_scope', 'too_many_grants', 'lacking'],
  ...['reauthenticate', 'retype', 'changed', 'ok'],
] as const

export type Cause = readonly [
  words: string,
  outcome: (typeof ORDER)[number],
  { [Fact in keyof Values]?: readonly Values[Fact][] },
]

const PERSON = ['page', 'forecast'] as const
const ANY_SUSPECT = ['other_country', 'other_network'] as const
const NOT_RETYPED = ['none yet', 'not retyped', 'not retyped, others shown'] as const
/** Holds the scope that may be dangerous. */
const HOLDING = ['all', 'some'] as const
const DEVICE = { flow: ['device'] } as const
const DECIDED_BY = ['page', 'command_line', 'forecast', 'own test', 'test of another', 'earlier test'] as const
/** Tests grant no dangerous scopes. */
const WITH_DANGEROUS = ['page', 'command_line', 'forecast', 'preview'] as const
export const TESTS = ['own test', 'test of another', 'earlier test'] as const

/** The smallest combinations of facts that prevent a grant. */
export const CAUSES: readonly Cause[] = [
  ['a deleted application', 'gone', { parties: ['application deleted'] }],
  ['a disabled user', 'gone', { parties: ['user disabled'] }],
  ['codes at an account that uses none', 'barred', { ...DEVICE, policy: ['no codes'], by: DECIDED_BY }],
  ['an application that the account does not list', 'barred', { policy: ['others listed'], by: DECIDED_BY }],
  [
    'an unverified publisher where the account wants verified ones',
    'barred',
    { policy: ['verified only'], publisher: ['unverified'], by: DECIDED_BY },
  ],
  ['a person, while the application is in test mode', 'barred', { ...DEVICE, testMode: ['on'], by: PERSON }],
  ['a test, while it is not', 'barred', { ...DEVICE, testMode: ['off', 'over'], by: TESTS }],
  ['a test of another application', 'barred', { ...DEVICE, by: ['test of another'] }],
  ['a test with the secret of an earlier test mode', 'barred', { ...DEVICE, by: ['earlier test'] }],
  ['a suspended application', 'suspended', { suspended: ['yes'] }],
  [
    'a dangerous scope for an application that nobody has reviewed',
    'dangerous_scope',
    { unvetted: ['counted', 'a hundred'], dangerous: ['yes'], holds: HOLDING, by: WITH_DANGEROUS },
  ],
  ['one more than a hundred users of such an application', 'too_many_grants', { unvetted: ['a hundred'] }],
  ['a user without a required scope', 'lacking', { holds: ['not the required'] }],
  ['a user who holds nothing of it', 'lacking', { holds: ['none'] }],
  ['a dangerous scope that is required, in a test', 'lacking', { dangerous: ['yes'], by: TESTS }],
  [
    'an access key long after signing in',
    'reauthenticate',
    { by: ['page'], variant: ['access_key'], signedIn: ['long ago'] },
  ],
  [
    'a dangerous scope long after signing in',
    'reauthenticate',
    { by: ['page'], dangerous: ['yes'], signedIn: ['long ago'] },
  ],
  ['many grants since signing in', 'reauthenticate', { by: ['page'], signedIn: ['many grants ago'] }],
  ['a crowd long after signing in', 'reauthenticate', { by: ['page'], others: ['a crowd'], signedIn: ['long ago'] }],
  ['a code taken over from a colleague', 'retype', { by: ['page'], others: ['a colleague'], answer: NOT_RETYPED }],
  ['a crowd', 'retype', { by: ['page'], others: ['a crowd'], answer: NOT_RETYPED }],
  ['a request from elsewhere', 'retype', { by: ['page'], origin: ANY_SUSPECT, answer: NOT_RETYPED }],
  [
    'a request from an unknown place, by an unverified publisher',
    'retype',
    { by: ['page'], origin: ['unknown'], publisher: ['unverified'], answer: NOT_RETYPED },
  ],
  ['other scopes than were shown', 'changed', { by: ['page'], answer: ['others shown', 'not retyped, others shown'] }],
]

/** The earliest outcome among the causes that these values contain. */
export function expectedOutcome(values: Values): (typeof ORDER)[number] {
  const contained = CAUSES.filter(([, , needed]) => {
    const facts = Object.keys(needed) as (keyof Values)[]
    return facts.every((fact) => (needed[fact] as readonly string[]).includes(values[fact]))
  })
  return ORDER.find((outcome) => contained.some(([, each]) => each === outcome)) ?? 'ok'
}
