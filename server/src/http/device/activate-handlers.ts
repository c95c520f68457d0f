/**
 * /activate, the one address that a device can show without knowing the account. docs/interface.md, "The standard
 * dialect".
 */
import { askForAccount, goToAccount } from '../dialog/choose-account.ts'
import type { BaseHandler } from '../web/base-route.ts'

const PURPOSE = { kind: 'activate' } as const

export const showActivation: BaseHandler = async (context, request) => askForAccount(context, request, PURPOSE)

/** Redirects to the page where codes are typed, with no code filled in. */
export const chooseForActivation: BaseHandler = (context, request) =>
  goToAccount(context, request, PURPOSE, ({ origin }) => `${origin}/connect/code`)
