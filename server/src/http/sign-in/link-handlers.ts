/** Handlers of mailed links and of the request for one. Opening a link changes nothing; submitting its form does. */
import { readEmail } from '../../core/sign-in/email.ts'
import { decideAddressByLink } from '../../flows/accounts/change-address.ts'
import type { Context } from '../../flows/context.ts'
import {
  maySetPassword,
  readLink,
  removeGrantByLink,
  requestRecovery,
  setPasswordByLink,
  signInByLink,
} from '../../flows/sign-in/links.ts'
import { accountHas, hasProvider } from '../../flows/sign-in/origin.ts'
import { removeByLinkPage } from '../../pages/grants/remove-by-link.tsx'
import { addressDecidedPage, changeAddressPage } from '../../pages/sign-in/change-address.tsx'
import { choosePasswordPage } from '../../pages/sign-in/choose-password.tsx'
import { confirmBrowserPage } from '../../pages/sign-in/confirm-browser.tsx'
import { linkGonePage } from '../../pages/sign-in/link-gone.tsx'
import { recoverPage } from '../../pages/sign-in/recover.tsx'
import type { Link } from '../../store/sign-in/links.ts'
import type { HostAccount } from '../../store/sign-in/sessions.ts'
import type { PageHandler, PageRequest } from '../web/answer.ts'
import { providerHost } from '../web/frame.ts'
import { signedIn } from './handlers.ts'

export const showRecover: PageHandler<PageRequest> = async (_context, { frame }) => ({
  page: recoverPage(frame, { email: '', sent: false, problem: null }),
})

export const recover: PageHandler<PageRequest> = async (context, { account, fields, frame }) => {
  const email = (fields.get('email') ?? '').trim()
  if (readEmail(email) === null) {
    return { page: recoverPage(frame, { email, sent: false, problem: 'email' }), status: 400 }
  }
  return {
    page: recoverPage(frame, { email, sent: true, problem: null }),
    afterwards: () => requestRecovery(context, account, email, frame.words.language),
  }
}

export const showLink: PageHandler<PageRequest> = async (context, { account, fields, frame }) => {
  const text = fields.get('token') ?? ''
  const link = await readLink(context, account, text)
  if (!link) return { page: linkGonePage(frame), status: 404 }
  const { kind, email, pendingEmail } = link
  if (kind === 'address') {
    if (pendingEmail === null) return { page: linkGonePage(frame), status: 404 }
    return { page: changeAddressPage(frame, { link: text, email, pendingEmail }) }
  }
  if (kind === 'remove_grant') {
    return {
      page: removeByLinkPage(frame, { link: text, application: link.application ?? '', email, removed: false }),
    }
  }
  if (!accountHas(context, account, 'password')) return { page: linkGonePage(frame), status: 404 }
  if (kind === 'sign_in') return { page: confirmBrowserPage(frame, { email, link: text }) }
  const ways = waysToUse(context, account, link, text)
  if (!ways.own && ways.provider === null) return { page: linkGonePage(frame), status: 404 }
  return { page: choosePasswordPage(frame, { kind, email, link: text, problem: null, ...ways }) }
}

/** A user without any means of signing in can be bound to the identity provider instead of choosing a password. */
function waysToUse(context: Context, account: HostAccount, link: Link, text: string) {
  const host = hasProvider(context, account) && link.linkable ? providerHost(account) : null
  const provider = host === null ? null : { host, href: `/sign-in/provider?link=${encodeURIComponent(text)}` }
  return { provider, own: maySetPassword(context, account, link) }
}

export const usePasswordLink: PageHandler<PageRequest> = async (context, request) => {
  const { account, fields, frame, browser } = request
  const text = fields.get('link') ?? ''
  const given = { link: text, password: fields.get('password') ?? '', again: fields.get('again') ?? '' }
  const result = await setPasswordByLink(context, account, given, browser)
  if (result.outcome === 'gone') return { page: linkGonePage(frame), status: 404 }
  if (result.outcome === 'busy') return { refusal: 'unavailable' }
  if (result.outcome !== 'unfit') return signedIn(context, request, result, '/?notice=welcome')
  const { problem, kind, email } = result
  return {
    page: choosePasswordPage(frame, { kind, email, link: text, problem, provider: null, own: true }),
    status: 400,
  }
}

export const useSignInLink: PageHandler<PageRequest> = async (context, request) => {
  const { account, fields, frame, browser } = request
  const result = await signInByLink(context, account, fields.get('link') ?? '', browser)
  if (result.outcome === 'gone') return { page: linkGonePage(frame), status: 404 }
  return signedIn(context, request, result)
}

export const decideOnAddress: PageHandler<PageRequest> = async (context, { account, fields, frame }) => {
  const decision = fields.get('decision')
  if (decision !== 'change' && decision !== 'keep') return { refusal: 'invalid_request' }
  const result = await decideAddressByLink(context, account, fields.get('link') ?? '', decision)
  if (result.outcome === 'gone') return { page: linkGonePage(frame), status: 404 }
  return { page: addressDecidedPage(frame, result), status: result.outcome === 'exists' ? 400 : 200 }
}

export const removeByLink: PageHandler<PageRequest> = async (context, { account, fields, frame }) => {
  const text = fields.get('link') ?? ''
  const result = await removeGrantByLink(context, account, text)
  if (result.outcome === 'gone') return { page: linkGonePage(frame), status: 404 }
  const { application, email } = result.link
  return { page: removeByLinkPage(frame, { link: text, application: application ?? '', email, removed: true }) }
}
