/** Handler of back-channel logout: called by the identity provider, not by a browser. */
import { logOutByProvider } from '../../flows/provider/logout.ts'
import type { PageHandler, PageRequest } from '../web/answer.ts'

const EMPTY = { bytes: Buffer.alloc(0), type: 'text/plain', lasting: false } as const

export const logOutHere: PageHandler<PageRequest> = async (context, { account, fields, now }) => {
  const { outcome } = await logOutByProvider(context, account, fields.get('logout_token') ?? '', now)
  if (outcome === 'done') return EMPTY
  return { refusal: outcome === 'invalid' ? 'invalid_request' : outcome }
}
