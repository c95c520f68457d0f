/** Rules about users of an account's identity provider and of the host service, left out. */
import type { Mutant } from './mutant.ts'

const TOKENS = 'server/test/attacks/provider/id-tokens.test.ts'
const OUTBOUND = 'server/test/attacks/provider/outbound.test.ts'
const PEOPLE = 'server/test/attacks/provider/people.test.ts'
const HAND_OVER = 'server/test/attacks/sign-in/hand-over.test.ts'
const CONSOLE_KEYS = 'server/test/attacks/manage/console-keys.test.ts'

type Left = readonly [id: string, file: string, text: string, replacement: string, allows: string, test: string]

const SIGN_IN = 'flows/provider/sign-in.ts'
const CLIENT = 'flows/provider/client.ts'
const SESSIONS = 'store/provider/identity-providers.ts'
const USERS = 'flows/provider/users.ts'
const KEYS = 'flows/manage/console-keys.ts'

/** The exchange of the code, with everything that openid-client compares. */
const EXCHANGE = `authorizationCodeGrant(opened.configuration, back, {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
      ...(maxAgeSeconds === null ? {} : { maxAge: maxAgeSeconds }),
    })`

const left: readonly Left[] = [
  [
    'provider-mix-up',
    SIGN_IN,
    'back.searchParams.set(name, value)',
    "back.searchParams.set(name, name === 'iss' ? provider.issuer : value)",
    'the answer of one provider passes for another’s (FD-21)',
    TOKENS,
  ],
  [
    'provider-nonce',
    SIGN_IN,
    EXCHANGE,
    `(await import('openid-client')).genericGrantRequest(opened.configuration, 'authorization_code', {
      code: fields.get('code') ?? '',
      redirect_uri: redirectUriOf(context, account),
      code_verifier: verifier,
    })`,
    'an ID token of another sign-in is accepted (FD-22, FD-33)',
    TOKENS,
  ],
  [
    'provider-changed-while-away',
    SIGN_IN,
    ' || provider.issuer !== issuer || provider.clientId !== clientId',
    '',
    'a sign-in that began at another provider is finished at the new one (FD-23)',
    TOKENS,
  ],
  [
    'provider-max-age',
    SIGN_IN,
    '...(maxAgeSeconds === null ? {} : { maxAge: maxAgeSeconds }),\n    })',
    '})',
    'an old sign-in at the provider passes for a recent one (FD-32)',
    TOKENS,
  ],
  [
    'provider-times',
    CLIENT,
    '[clockTolerance]: CLOCK_TOLERANCE_SECONDS,',
    '[clockTolerance]: 1_000_000,',
    'an ID token is accepted after it has expired (FD-32)',
    TOKENS,
  ],
  [
    'provider-authorized-party',
    'flows/provider/sign-in.ts',
    'return azp === undefined || azp === clientId',
    'return azp === undefined || clientId !== null',
    'an ID token for another authorized party is accepted (FD-31)',
    TOKENS,
  ],
  [
    'provider-by-address',
    USERS,
    'const known = await findProviderUser(tx, accountId, { issuer: provider.issuer, subject: claims.subject })',
    "const known = (await findProviderUser(tx, accountId, { issuer: provider.issuer, subject: claims.subject })) ?? (await findUser(tx, accountId, claims.email ?? ''))?.id ?? null",
    'an e-mail address at the provider opens the user who has it here (FD-42; FD-25 has a second guard, the proof of a session)',
    PEOPLE,
  ],
  [
    'provider-endpoints',
    CLIENT,
    "if (ADDRESSES.some((name) => outbound.problemWith(metadata[name] ?? '') !== null)) return 'endpoint'",
    '',
    'a discovery document names addresses inside (FD-35)',
    OUTBOUND,
  ],
  [
    'provider-size',
    CLIENT,
    'maxBytes: 256 * 1024,',
    'maxBytes: 1024 * 1024 * 1024,',
    'a provider fills the memory (FD-37)',
    OUTBOUND,
  ],
  [
    'provider-patience',
    CLIENT,
    'timeoutMs: 5_000 }',
    'timeoutMs: 60_000 }',
    'a provider holds connections for as long as it likes (FD-37)',
    OUTBOUND,
  ],
  [
    'provider-logout-account',
    SESSIONS,
    'u.account_id = $1 and u.origin',
    '$1::text is not null and u.origin',
    'a provider ends sessions at other accounts (FD-40)',
    OUTBOUND,
  ],
  [
    'provider-external-id',
    'store/accounts/users.ts',
    'where account_id = $1 and issuer = $2 and subject = $3',
    'where account_id = $1 and (issuer = $2 and subject = $3 or external_id = $3) order by external_id desc nulls last',
    'the external id of a user decides who signs in as that user (FD-66)',
    PEOPLE,
  ],
  [
    'hand-over-kept-back',
    'flows/sign-in/hand-over.ts',
    "if (await wasAccessSetSince(tx, known, signedBy)) return refused('expired')",
    '',
    'a statement that was kept back restores a permission (FD-63)',
    HAND_OVER,
  ],
  [
    'keys-operator-scopes',
    'core/manage/key.ts',
    "return scope.endsWith(':read')",
    "return scope !== ''",
    'one operator makes a key that changes every account (FD-64)',
    CONSOLE_KEYS,
  ],
  [
    'keys-rotatable',
    KEYS,
    "if (!isRotatable(of, known)) return { outcome: 'invalid' }",
    '',
    'one operator takes over a key that changes every account (FD-64)',
    CONSOLE_KEYS,
  ],
  [
    'keys-reach',
    'store/manage/keys.ts',
    'where k.account_id is not distinct from $1 and k.id = $2',
    'where ($1::text is null or true) and k.id = $2',
    'an administrator rotates or revokes a key of another account (FD-65)',
    CONSOLE_KEYS,
  ],
]

export const providerMutants: readonly Mutant[] = left.map(([id, file, text, replacement, allows, test]) => ({
  id,
  file: `server/src/${file}`,
  text,
  replacement,
  tests: [test],
  allows,
}))
