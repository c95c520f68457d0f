/** The user of the browser, for libraries: opens an address, and returns the callback. */
import { DialogWindow } from '../rig/dialog.ts'
import type { TestService } from '../rig/service.ts'

export type Decision = 'allow' | 'cancel'

/** Opens the library's address, chooses the account, decides; returns the redirect. */
export async function decideDialog(
  service: TestService,
  address: string | URL,
  decision: Decision = 'allow',
): Promise<URL> {
  const window = await new DialogWindow(service).signIn(service.user)
  await window.go(String(address))
  await window.submit(window.base, '/dialog', { typed: service.account.slug })
  const { left, page } = await window.submit(window.account, '/dialog/decision', { decision })
  if (!left) throw new Error(`the dialog did not return: ${page.status} ${page.text.slice(0, 400)}`)
  return left
}

/** Opens the verification URI, chooses the account, types the code, decides. */
export async function decideDevice(
  service: TestService,
  shown: { readonly verification_uri: string; readonly user_code: string },
  decision: Decision = 'allow',
): Promise<void> {
  const window = await new DialogWindow(service).signIn(service.user)
  await window.go(shown.verification_uri)
  await window.submit(window.base, '/activate', { typed: service.account.slug })
  await window.submit(window.account, '/connect/code', { code: shown.user_code })
  await window.submit(window.account, '/connect/decision', { decision })
}
