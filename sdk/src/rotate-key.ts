/** Rotation of an access key. docs/interface/credentials.md, "Access keys". */
import { askAgain } from './ask-again.ts'
import type { Context } from './context.ts'
import { type AccessKey, readAccessKey } from './credentials.ts'
import { LatchkeyError } from './errors.ts'
import { refused } from './refusal.ts'
import type { Tokens } from './tokens.ts'

export function rotateKey(context: Context, tokens: Tokens): Promise<AccessKey> {
  return tokens.replace(async (kept) => {
    if (kept?.variant !== 'access_key')
      throw new LatchkeyError('not_authorized', { message: 'There is no access key.' })
    const form = { ...context.application, access_key: kept.accessKey }
    const answer = await askAgain(context, '/auth/key/rotate', form)
    if (answer.status !== 200) throw refused(answer, form, { invalid_grant: 'reauthorize' })
    return readAccessKey(answer, kept.state)
  })
}
