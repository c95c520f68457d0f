/** Preview of an application's consent page: as users will see it, with the default scopes, for the signed-in user. */
import { shownLogo } from '../../core/applications/application.ts'
import { groupDigits } from '../../core/device/user-code.ts'
import { redirectHost } from '../../core/dialog/redirect-uri.ts'
import { previewConsent } from '../../flows/grants/preview-consent.ts'
import { consentPage } from '../../pages/device/consent.tsx'
import { dialogConsentPage } from '../../pages/dialog/consent.tsx'
import { accessLifetimes } from '../grants/access-lifetimes.ts'
import type { PageHandler, UserRequest } from '../web/answer.ts'
import { logoAddress } from './logo.ts'

/** Placeholder with a wrong check digit: typed in by mistake, it cannot be another user's device. */
const NO_CODE = '123456789'

export const showPreview: PageHandler<UserRequest> = async (context, request) => {
  const { account, sessionUser, fields, frame, browser } = request
  const by = fields.get('by') === 'dialog' ? 'dialog' : 'code'
  const previewed = await previewConsent(context, account.id, sessionUser.id, fields.get('application') ?? '', by)
  if (!previewed) return { refusal: 'not_found' }
  const { application, consent } = previewed
  const shared = {
    ...consent,
    shown: '',
    application: application.name,
    publisher: application.publisher,
    logo: logoAddress(shownLogo(application)),
    ...accessLifetimes(context.config),
    problem: null,
    preview: true,
  } as const
  if (by === 'dialog') {
    const returnTo = redirectHost(application.redirectUris[0] ?? context.config.publicUrl)
    return { page: dialogConsentPage({ ...frame, dialog: true }, { ...shared, request: '', returnTo }) }
  }
  const location = context.geoip.find(browser.address)
  return {
    page: consentPage(frame, {
      ...shared,
      ref: '',
      userCode: groupDigits(NO_CODE),
      age: 0,
      remaining: context.config.deviceCodeLifetimeMs,
      variant: 'token_set',
      request: {
        address: browser.address,
        place: location.placeName(frame.words.language),
        network: location.network,
        origin: 'same',
        says: null,
      },
      retype: false,
      crowded: false,
      shared: false,
    }),
  }
}
