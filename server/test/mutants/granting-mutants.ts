/** Facts for the rule of granting, gathered wrongly: the page, the forecast or the transaction then differs from what the facts say. */
import type { Mutant } from './mutant.ts'

const TESTS = ['server/test/flows/grants/granting.test.ts']

type Changed = readonly [id: string, file: string, text: string, replacement: string, allows: string]

const FACTS = 'flows/grants/granting-facts.ts'

const changed: readonly Changed[] = [
  ['facts-unvetted', FACTS, 'scopes, unvetted, by, now }', 'scopes, unvetted: null, by, now }', 'nothing is limited'],
  [
    'facts-scopes',
    FACTS,
    'await readScopes(db, requested)',
    'await readScopes(db, requested.slice(0, 2))',
    'a dangerous scope is granted like any other',
  ],
  ['facts-crowd', FACTS, '>= CROWD.max', '> CROWD.max', 'one user more is no crowd'],
  [
    'facts-origin',
    FACTS,
    'compareOrigin(locate(context, requestedFrom), locate(context, address))',
    'compareOrigin(locate(context, address), locate(context, address))',
    'a code that was dictated by phone is granted without typing it again',
  ],
  [
    'facts-many',
    FACTS,
    'mustSignInAgain(await readGrantAges(db, userId), signedInMs, codeGrantLimit)',
    'false',
    'somebody who is talked into it grants any number of codes in minutes',
  ],
  [
    'facts-fresh',
    'flows/device/read-decision.ts',
    'session: sessionUser.session, address',
    'session: { ...sessionUser.session, authenticatedAt: now }, address',
    'the page offers what the transaction refuses',
  ],
  [
    'facts-forecast',
    'flows/device/foresee-decision.ts',
    "{ kind: 'forecast' }",
    "{ kind: 'command_line' }",
    'a user is forecast to enter a code of an application in test mode',
  ],
]

export const grantingMutants: readonly Mutant[] = changed.map(([id, file, text, replacement, allows]) => {
  return { id, file: `server/src/${file}`, text, replacement, tests: TESTS, allows }
})
