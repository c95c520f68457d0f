/** Every rule by which a management key gives only what it may and its use leaves a trace, left out. */
import type { Mutant } from './mutant.ts'

const FOLDER = 'server/test/attacks/manage'
const ADDRESSES = `${FOLDER}/addresses.test.ts`
const ESCALATION = `${FOLDER}/escalation.test.ts`
const TRACES = `${FOLDER}/traces.test.ts`

const PEOPLE = 'flows/accounts/people.ts'
const CHANGE = 'flows/accounts/change-address.ts'
const AUTHENTICATE = 'flows/manage/authenticate.ts'

type Left = readonly [id: string, file: string, text: string, replacement: string, allows: string, test: string]

const left: readonly Left[] = [
  [
    'address-at-once',
    'core/accounts/address-change.ts',
    "return origin !== 'own' || (!hasSignedIn && couldBeMade) ? 'at_once' : 'pending'",
    "return 'at_once'",
    'a key takes over a user by a new address (MK-01)',
    ADDRESSES,
  ],
  [
    'address-after-reset',
    'flows/accounts/update.ts',
    'hasSignInMethod(member) || member.wasReset',
    'hasSignInMethod(member)',
    'a key takes over a user who was reset (MK-01)',
    ADDRESSES,
  ],
  [
    'address-of-more',
    'flows/accounts/update.ts',
    'couldBeMade: scopeToGive(by.scopes, holds) === null',
    'couldBeMade: true',
    'a key becomes an invited administrator (MK-01, MK-03)',
    ESCALATION,
  ],
  [
    'address-password',
    'store/sign-in/links.ts',
    "return link.kind === 'setup' || link.kind === 'invitation' || link.kind === 'recovery'",
    "return link.kind !== 'remove_grant'",
    'the link about an address sets a password (MK-02)',
    ADDRESSES,
  ],
  [
    'address-any-link',
    CHANGE,
    "if (known?.kind !== 'address') return { outcome: 'gone' }",
    "if (!known) return { outcome: 'gone' }",
    'a link for recovery confirms an address (MK-02)',
    ADDRESSES,
  ],
  [
    'address-older-link',
    CHANGE,
    "await spendLinks(tx, userId, ['address'])\n  await saveAddressChange",
    'await saveAddressChange',
    'the link of an older change confirms a newer one (MK-02)',
    ADDRESSES,
  ],
  [
    'address-shown',
    CHANGE,
    'return { ...change, mark: markOf([change.userId, change.email, change.pendingEmail]) }',
    'return { ...change, mark: markOf([change.userId]) }',
    'an administrator confirms another address than was shown (MK-02)',
    ADDRESSES,
  ],
  [
    'address-taken',
    'flows/accounts/update.ts',
    "if (await isAddressTaken(tx, member.accountId, wished, member.id)) return { outcome: 'exists' }",
    '',
    'two users wait for one address (MK-02)',
    ADDRESSES,
  ],
  [
    'key-promotes',
    PEOPLE,
    'checkMayGive(by, { access, administrator: administers })',
    '',
    'a key makes an administrator of a user (MK-03)',
    ESCALATION,
  ],
  [
    'key-enables',
    PEOPLE,
    'checkMayGive(by, { access: false, administrator: returns })',
    '',
    'a key brings a former administrator back (MK-03)',
    ESCALATION,
  ],
  [
    'key-creates',
    'flows/manage/users.ts',
    'checkMayGive(by, { access: roles.roleIds.length + permissions.length > 0, administrator })',
    '',
    'a key creates an administrator (MK-03)',
    ESCALATION,
  ],
  [
    'key-permits',
    'flows/accounts/update.ts',
    'checkMayGive(by, { access: gives, administrator: false })',
    '',
    'a key gives permissions (MK-04)',
    ESCALATION,
  ],
  [
    'key-announced',
    'flows/accounts/announce-administrator.ts',
    "if (kind === 'management_key') return 'program'",
    '',
    'nobody is told of an administrator whom a key made (MK-03)',
    ESCALATION,
  ],
  [
    'key-network',
    AUTHENTICATE,
    "fromItsNetworks ? null : 'network'",
    'null',
    'a key is accepted from elsewhere (MK-06)',
    TRACES,
  ],
  [
    'key-network-named',
    'flows/manage/change.ts',
    'await nameNetwork(tx, network)',
    '',
    'events do not say from where a key was used (MK-06)',
    TRACES,
  ],
  [
    'key-network-new',
    AUTHENTICATE,
    'if (newNetwork && network !== null) await noteNetwork(context, key, network)',
    '',
    'nobody is told of a new network (MK-06)',
    TRACES,
  ],
  [
    'key-refused',
    AUTHENTICATE,
    'countRefusedKey(context, key, address, needed)',
    '',
    'a key tries what it may not, without a trace (MK-07)',
    TRACES,
  ],
  [
    'key-label',
    'core/manage/key.ts',
    'return isAccountName(text) && text.length <= MAX_LABEL_LENGTH',
    'return text.length <= MAX_LABEL_LENGTH',
    'the name of a key is a message (MK-08)',
    TRACES,
  ],
]

export const managementMutants: readonly Mutant[] = left.map(([id, file, text, replacement, allows, test]) => ({
  id,
  file: `server/src/${file}`,
  text,
  replacement,
  tests: [test],
  allows,
}))
