/** Pages of an account whose users sign in at the host service, for the tests of pages. */
import { homePage } from '../../src/pages/accounts/home.tsx'
import { peoplePage } from '../../src/pages/accounts/people.tsx'
import { personPage } from '../../src/pages/accounts/person.tsx'
import { policyPage } from '../../src/pages/accounts/policy.tsx'
import { atHostPage } from '../../src/pages/sign-in/at-host.tsx'
import { handOverRefusedPage } from '../../src/pages/sign-in/hand-over-refused.tsx'
import { linkGonePage } from '../../src/pages/sign-in/link-gone.tsx'
import { securityPage } from '../../src/pages/sign-in/security.tsx'
import type { Frame } from '../../src/pages/ui/frame.ts'

const AT = Date.UTC(2026, 10, 15, 14, 32)

export function everyPageAtHost(given: Frame, application: string): Readonly<Record<string, string>> {
  const frame = { ...given, signInAt: 'service.example' }
  const address = 'https://service.example/sign-in?account=northwind'
  const email = 'maria@northwind.example'
  const used = { createdAt: AT, lastUsedAt: AT, agent: null, place: null, address: null }
  return {
    atHostSignedOut: atHostPage(frame, { reason: 'signed_out', address }),
    atHostSwitched: atHostPage(frame, { reason: 'switched', address }),
    atHostEnded: atHostPage(frame, { reason: 'ended', address }),
    atHostConfirm: atHostPage(frame, { reason: 'confirm', address }),
    handOverExpired: handOverRefusedPage(frame, { problem: 'expired', next: '/' }),
    handOverInvalid: handOverRefusedPage(frame, { problem: 'invalid', next: '/' }),
    handOverNotRecent: handOverRefusedPage(frame, { problem: 'not_recent', next: '/' }),
    handOverUnknown: handOverRefusedPage(frame, { problem: 'unknown', next: '/' }),
    handOverDisabled: handOverRefusedPage(frame, { problem: 'disabled', next: '/' }),
    handOverConflict: handOverRefusedPage(frame, { problem: 'conflict', next: '/' }),
    linkGoneAtHost: linkGonePage(frame),
    homeAtHost: homePage(frame, { connected: 2, attention: null, notice: null }),
    securityAtHost: securityPage(frame, {
      hasPassword: false,
      problem: null,
      notice: null,
      passkeys: [],
      passkey: '{}',
      authenticator: null,
      recoveryCodes: null,
      sessions: [{ id: 'one', current: true, ...used }],
    }),
    policyAtHost: policyPage(frame, {
      secondFactor: 'optional',
      deviceFlow: true,
      unverifiedPublishers: true,
      only: false,
      applications: [],
      add: '',
      problem: null,
      saved: false,
    }),
    peopleAtHost: peoplePage(frame, {
      wish: { search: '', sort: 'email', descending: false, after: null },
      people: {
        lines: [{ id: 'usr', email, roles: [application], status: 'active', createdAt: AT, you: false }],
        after: null,
      },
      addressChanges: 0,
      notice: null,
      who: null,
    }),
    personAtHost: personPage(frame, {
      id: 'usr',
      email,
      status: 'active',
      you: false,
      roles: [{ id: 'rol', name: application, checked: true, titles: [], everything: false }],
      host: { name: 'Maria', permissions: [application] },
      provider: null,
      factors: { password: false, passkeys: 0, authenticator: false },
      problem: null,
    }),
  }
}
