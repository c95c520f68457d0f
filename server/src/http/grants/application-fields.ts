/** The part of a form in the native dialect that names the application. */
import { applicationId, applicationSecret, optionalSecret } from '../fields.ts'

/** For public applications as well. */
export const byApplication = { SVCappid: applicationId, SVCsecret: optionalSecret }

/** A missing secret is answered as a wrong one is. */
export const bySecret = {
  SVCappid: applicationId,
  SVCsecret: { ...applicationSecret, missing: 'invalid_application' },
} as const

/** A public application has no secret and sends none; an empty one counts as absent. */
export const applicationIn = (form: { readonly SVCappid: string; readonly SVCsecret: string | null }) => ({
  applicationId: form.SVCappid,
  secret: form.SVCsecret || null,
})
