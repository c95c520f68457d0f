/** Logos of applications, served on every account's host: only pictures written by pictures/. */
import type { LogoName } from '../../core/applications/application.ts'
import { readApplicationLogo } from '../../flows/applications/logo.ts'
import { PICTURE_TYPE } from '../../pictures/picture.ts'
import type { PageHandler, PageRequest } from '../web/answer.ts'

export function logoAddress(logo: LogoName | null): string | null {
  return logo && `/application-logo?application=${logo.applicationId}&v=${logo.version}`
}

export const showApplicationLogo: PageHandler<PageRequest> = async (context, { account, sessionUser, fields }) => {
  const [id = '', version = ''] = [fields.get('application'), fields.get('v')]
  const logo = await readApplicationLogo(context, sessionUser && account.id, id, version)
  return logo ? { bytes: logo.bytes, type: PICTURE_TYPE, lasting: logo.lasting } : { refusal: 'not_found' }
}
