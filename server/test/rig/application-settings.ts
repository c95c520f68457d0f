/** Settings of applications. Tests name only those that they are about, so that a new one is added here alone. */
import type { ChangedSettings, NewOwnApplication } from '../../src/flows/applications/own.ts'

/** Unless given: the device flow, and no dialog. */
export function makeSettings(given: Partial<ChangedSettings> = {}): ChangedSettings {
  return {
    name: 'Order Board',
    allowedScopes: ['orders:read'],
    defaultScopes: ['orders:read'],
    requiredScopes: [],
    deviceFlow: true,
    redirectUris: [],
    pkceRequired: false,
    ...given,
  }
}

/** Unless given: an application with a secret that is no resource server. */
export function makeRegistration(
  account: string,
  given: Partial<NewOwnApplication> = {},
): NewOwnApplication & { readonly account: string } {
  return { ...makeSettings(), account, public: false, resourceServer: false, ...given }
}
