/** Pages of an account with an identity provider, for the tests of pages. */
import { providerProblems } from '../../src/core/provider/provider.ts'
import { personPage } from '../../src/pages/accounts/person.tsx'
import { type ProviderRefusedModel, providerRefusedPage } from '../../src/pages/provider/refused.tsx'
import { type ProviderModel, providerPage } from '../../src/pages/provider/settings.tsx'
import { atHostPage } from '../../src/pages/sign-in/at-host.tsx'
import { choosePasswordPage } from '../../src/pages/sign-in/choose-password.tsx'
import { signInPage } from '../../src/pages/sign-in/sign-in.tsx'
import type { Frame } from '../../src/pages/ui/frame.ts'

const HOST = 'login.northwind.example'

const FIELD_PROBLEMS = [
  'client_id',
  'client_secret',
  'domains',
  'domain_needed',
  'default_role',
  'role_claim',
  'break_glass',
  'no_own_administrator',
] as const

const REFUSED: readonly ProviderRefusedModel['problem'][] = [
  'expired',
  'invalid',
  'not_recent',
  'declined',
  'unavailable',
  'disabled',
  'unverified',
  'domain',
  'unknown',
  'invited',
  'other_address',
  'conflict',
]

function makeProvider(given: Partial<ProviderModel> = {}): ProviderModel {
  return {
    stored: true,
    state: 'optional',
    issuer: `https://${HOST}`,
    clientId: 'latchkey',
    domains: 'northwind.example',
    admission: 'domain',
    defaultRole: 'rol_sales',
    roleClaim: 'groups',
    roles: [
      { id: 'rol_administrator', name: 'administrator', value: 'admins', canBeDefault: false },
      { id: 'rol_sales', name: 'Sales', value: '', canBeDefault: true },
    ],
    administrators: [{ id: 'usr', email: 'maria@northwind.example', chosen: true }],
    redirectUri: 'https://northwind.service.example/sign-in/provider/return',
    logoutUri: 'https://northwind.service.example/sign-in/provider/logout',
    problem: null,
    notice: null,
    ...given,
  }
}

export function everyProviderPage(frame: Frame, application: string): Readonly<Record<string, string>> {
  const email = 'maria@northwind.example'
  const provider = { host: HOST, href: '/sign-in/provider?next=%2F' }
  const signIn = { email: '', next: '/', problem: null, minutes: 0, notice: null, passkey: '{}', otherAccount: null }
  const invitation = { kind: 'invitation', email, link: 'link', problem: null, provider } as const
  return {
    provider: providerPage(frame, makeProvider({ notice: 'tested' })),
    providerNew: providerPage(frame, makeProvider({ stored: false, state: 'off', issuer: '', notice: 'saved' })),
    ...Object.fromEntries(
      [...providerProblems, ...FIELD_PROBLEMS].map((problem) => [
        `provider_${problem}`,
        providerPage(frame, makeProvider({ problem })),
      ]),
    ),
    ...Object.fromEntries(
      REFUSED.map((problem) => [
        `providerRefused_${problem}`,
        providerRefusedPage(frame, { problem, host: HOST, next: '/' }),
      ]),
    ),
    signInOptional: signInPage(frame, { ...signIn, provider, ownAt: null }),
    signInRequired: signInPage(frame, { ...signIn, provider, ownAt: '/sign-in?next=%2F&own=1' }),
    invitationByProvider: choosePasswordPage(frame, { ...invitation, own: false }),
    invitationByBoth: choosePasswordPage(frame, { ...invitation, own: true }),
    confirmAtProvider: atHostPage(frame, { reason: 'confirm', address: provider.href, provider: HOST }),
    personAtProvider: personPage(frame, {
      id: 'usr',
      email,
      status: 'active',
      you: false,
      roles: [{ id: 'rol', name: application, checked: true, titles: [], everything: false }],
      host: null,
      provider: HOST,
      factors: { password: false, passkeys: 0, authenticator: false },
      problem: null,
    }),
  }
}
