/** A virtual authenticator for Chromium (WebAuthn, section 11): holds passkeys and confirms the user's presence. */
import type { Page } from 'playwright-core'

export type HeldPasskey = { readonly rpId?: string; readonly signCount: number; readonly isResidentCredential: boolean }

export type VirtualAuthenticator = {
  passkeys(): Promise<readonly HeldPasskey[]>
  /** Whether user verification succeeds. */
  verify(verified: boolean): Promise<void>
}

/** For this window, at any account. */
export async function addVirtualAuthenticator(page: Page): Promise<VirtualAuthenticator> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return {
    passkeys: async () => (await devtools.send('WebAuthn.getCredentials', { authenticatorId })).credentials,
    verify: async (isUserVerified) => {
      await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified })
    },
  }
}
