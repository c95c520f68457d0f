/** The part of a form in the native dialect that names the application. The dialog calls its id `client_id`. */

import { applicationId, applicationSecret, optionalSecret } from '../fields.ts'
import type { FormFields } from '../parameters.ts'
import type { Property } from '../schema.ts'

/** For the device flow, where these are the only names. */
export const byDevice = {
  SVCappid: { ...applicationId, elsewhere: 'client_id' },
  SVCsecret: { ...applicationSecret, elsewhere: 'client_secret' },
} as const

function orNamed<P extends Property>(property: P, alias: string) {
  return { ...property, alias, description: `${property.description} \`${alias}\` is accepted as well.` } as const
}

const id = orNamed(applicationId, 'client_id')

/** For public applications as well. */
export const byApplication = { SVCappid: id, SVCsecret: orNamed(optionalSecret, 'client_secret') }

/** A missing secret is answered as a wrong one is. */
export const bySecret = {
  SVCappid: id,
  SVCsecret: { ...orNamed(applicationSecret, 'client_secret'), missing: 'invalid_application' },
} as const

/** A public application has no secret and sends none; an empty one counts as absent. */
export const applicationIn = (form: { readonly SVCappid: string; readonly SVCsecret: string | null }) => ({
  applicationId: form.SVCappid,
  secret: form.SVCsecret || null,
})

/** The application that a request names, in either dialect, before anything else of the request was checked. */
export const claimedApplication = (parameters: FormFields) => ({
  applicationId: parameters.get('SVCappid') ?? parameters.get('client_id') ?? null,
  secret: parameters.get('SVCsecret') || parameters.get('client_secret') || null,
})
