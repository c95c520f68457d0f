/** `/activate`: the one address that a device can show without knowing the account. docs/interface.md, "The standard dialect". */
import { askForAccount, goToAccount } from '../dialog/choose-account.ts'
import type { BaseHandler } from '../web/base-route.ts'

const PURPOSE = { kind: 'activate' } as const

export const showActivation: BaseHandler = async (context, request) => askForAccount(context, request, PURPOSE)

/** To the page where codes are typed; nothing is filled in there. */
export const chooseForActivation: BaseHandler = (context, request) =>
  goToAccount(context, request, PURPOSE, ({ origin }) => `${origin}/connect/code`)
