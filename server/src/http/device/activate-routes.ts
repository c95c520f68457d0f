/**
 * /activate, the one address that a device can show without knowing the account. docs/interface/standard-dialect.md.
 */
import type { Context } from '../../flows/context.ts'
import type { ChosenAccount } from '../../flows/dialog/choose-account.ts'
import { seeOther } from '../dialog/authorize-routes.ts'
import { askForAccount, goToAccount, onlyRememberedAccount } from '../dialog/choose-account.ts'
import type { BasePage } from '../route.ts'
import { optional, text } from '../schema.ts'
import type { BaseHandler } from '../web/answer.ts'

const PURPOSE = { kind: 'activate' } as const

/** Where a browser that has used one account chooses another. */
export function otherAccountAddress({ config }: Context): string {
  return `${config.publicUrl}/activate?another`
}

/** Asks for the account, unless this browser has used exactly one and does not ask for another. */
const show: BaseHandler = async (context, request) => {
  const account = request.fields.has('another') ? null : await onlyRememberedAccount(context, request)
  return account ? { seeOther: codeEntryAt(account) } : askForAccount(context, request, PURPOSE)
}

const codeEntryAt = ({ origin }: ChosenAccount) => `${origin}/connect/code`

/** Redirects to the page where codes are typed, with no code filled in. */
const choose: BaseHandler = (context, request) => goToAccount(context, request, PURPOSE, codeEntryAt)

export const showActivation = {
  method: 'GET',
  path: '/activate',
  dialect: 'page',
  handler: show,
  operation: {
    id: 'showActivation',
    tag: 'Standard dialect',
    summary: 'The page to send people to who hold a code',
    description:
      'The `verification_uri` of the device flow: a page for a person. It asks for the account and leads to where codes are entered there; a browser that has used exactly one account is led there at once. No code is ever filled in: people type what they see on their own device.',
    security: ['none'],
    query: { another: optional(text('Present: ask for the account, even if this browser has used exactly one.')) },
    answers: {
      200: { description: 'The page.', page: true },
      303: { description: 'On to the address of the account that this browser has used.', headers: seeOther },
    },
    refusals: [],
  },
} as const satisfies BasePage

export const chooseAccount = {
  method: 'POST',
  path: '/activate',
  dialect: 'page',
  handler: choose,
  operation: {
    id: 'chooseAccount',
    tag: 'Standard dialect',
    summary: 'The form of that page',
    description:
      'For the page itself; programs have no use for it. A form that comes from another site’s page is refused with 403.',
    security: ['none'],
    form: {
      typed: optional(text('The account, as the person typed it.', { examples: ['acme'] })),
      account: optional(text('The account, chosen from those that this browser knows.')),
    },
    answers: {
      200: {
        description: 'A page that goes on to the account by itself, if users sign in at your service.',
        page: true,
      },
      303: { description: 'On to the account’s own address.', headers: seeOther },
      400: { description: 'The page again: there is no such account.', page: true },
      403: { description: 'A page: the form came from elsewhere.', page: true },
    },
    refusals: ['invalid_request', 'unavailable'],
    samples: [{ label: 'As the page does', send: ['typed'] }],
  },
} as const satisfies BasePage
