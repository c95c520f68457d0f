/** Every rule that limits an application no operator has approved, left out. */
import type { Mutant } from './mutant.ts'

const TESTS = ['server/test/flows/applications/vetting.test.ts']

type Left = readonly [id: string, file: string, text: string, replacement: string, allows: string]

const RULE = 'core/applications/vetting.ts'
const STORE = 'store/applications/vettings.ts'
const REACHED = '!unvetted.counted && unvetted.outsideGrants >= MAX_OUTSIDE_GRANTS'
const COUNT = 'if (unvetted && !unvetted.counted) await countOutsideGrant(tx, application.id)'

const left: readonly Left[] = [
  ['vetting-hundred', RULE, REACHED, 'false', 'any number of users connect it'],
  [
    'vetting-again',
    RULE,
    REACHED,
    'unvetted.outsideGrants >= MAX_OUTSIDE_GRANTS',
    'users who connected it cannot connect it again',
  ],
  ['vetting-dangerous', RULE, "if (dangerous) return 'dangerous_scope'", '', 'it gets dangerous scopes'],
  ['vetting-locked', STORE, ' for update of v', '', 'at 99, several grants at the same moment pass'],
  ['vetting-name', STORE, 'v.vetted_name = a.name and ', '', 'an approval holds under another name'],
  ['vetting-scopes', STORE, ' and v.vetted_scopes @> a.allowed_scopes', '', 'an approval holds with more scopes'],
  ['vetting-counted-code', 'flows/device/decide.ts', COUNT, '', 'grants by code are not counted'],
  ['vetting-counted-dialog', 'flows/dialog/decide.ts', COUNT, '', 'grants in the dialog are not counted'],
  [
    'vetting-rule',
    'core/grants/granting.ts',
    'return vettingProblem(unvetted, dangerous) ?? ',
    'return ',
    'what the page refuses is granted',
  ],
  [
    'vetting-applications',
    'flows/applications/own.ts',
    "if (unvetted >= MAX_UNVETTED_APPLICATIONS) return { outcome: 'too_many_unvetted' }",
    '',
    'another application has another hundred users',
  ],
]

export const vettingMutants: readonly Mutant[] = left.map(([id, file, text, replacement, allows]) => {
  return { id, file: `server/src/${file}`, text, replacement, tests: TESTS, allows }
})
