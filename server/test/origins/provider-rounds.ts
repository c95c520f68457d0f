/** Rounds with users of an account's identity provider, `oidc-provider`: deactivated by SCIM, or signed out there. */
import type { Chromium } from '../rig/browser/chromium.ts'
import { press } from '../rig/browser/clicks.ts'
import {
  keepFromInternet,
  signInAtCertifiedProvider,
  signOutAtCertifiedProvider,
  startCertifiedProvider,
} from '../rig/certified-provider.ts'
import { connectProvider, makeRole } from '../rig/identity-provider.ts'
import { manageClient } from '../rig/manage.ts'
import { connectInBrowser, cookieOf } from './connect-in-browser.ts'
import type { Harness } from './harness.ts'
import { placesOfCredential, placesOfSession, SCOPE, type Watched, watchChange } from './watch.ts'

export type ProviderRounds = { round(kind: 'scim' | 'logout'): Promise<Watched>; end(): Promise<void> }

const PATCH = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'

export async function providerRounds(harness: Harness, chromium: Chromium): Promise<ProviderRounds> {
  const provider = await startCertifiedProvider(harness.origin)
  const role = await makeRole(harness.context.db, harness.account.slug, [SCOPE])
  await connectProvider(harness, provider, { defaultRole: role.id })
  const scim = manageClient(harness.addresses[0] ?? '', harness.managementKey)
  let users = 0

  const deactivate = async (email: string) => {
    const filter = encodeURIComponent(`userName eq "${email}"`)
    const { body } = await scim('GET', `/scim/2/Users?filter=${filter}`)
    const change = { schemas: [PATCH], Operations: [{ op: 'replace', value: { active: false } }] }
    const { status } = await scim('PATCH', `/scim/2/Users/${body.Resources[0].id}`, change)
    if (status !== 200) throw new Error(`the deactivation was answered ${status}`)
  }
  return {
    round: async (kind) => {
      users += 1
      const login = `user-${users}`
      const page = await chromium.open({ baseURL: harness.origin })
      await keepFromInternet(page)
      const credential = await connectInBrowser(harness, page, async () => {
        await press(page, 'a[href^="/sign-in/provider"]')
        await signInAtCertifiedProvider(page, provider, login)
      })
      const sessions = placesOfSession(harness, await cookieOf(page, harness.origin))
      // Signing out is not the end of what a user granted.
      const places = kind === 'scim' ? [...placesOfCredential(harness, credential), ...sessions] : sessions
      const watched = await watchChange(places, () =>
        kind === 'scim' ? deactivate(`${login}@corp.example`) : signOutAtCertifiedProvider(page, provider),
      )
      await page.context().close()
      return watched
    },
    end: () => provider.stop(),
  }
}
