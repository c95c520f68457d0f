/** An authenticator app in software: computes codes from a user's secret and PostgreSQL's time. */
import { randomUUID } from 'node:crypto'
import { authenticatorSecret, secretText } from '../../../src/secrets/authenticator.ts'
import { insertAuthenticator } from '../../../src/store/sign-in/methods.ts'
import type { MadeUser } from '../make.ts'
import type { TestService } from '../service.ts'
import { giveCodes } from './second-factor-codes.ts'
import { codeOf } from './totp.ts'

/** From now on the rig completes the sign-ins of this user with an authenticator code. */
export async function useAuthenticator(service: TestService, user: MadeUser): Promise<void> {
  const { code } = await makeAuthenticator(service, user)
  giveCodes(user.email, async () => {
    // A code works once, and tests sign in more often than every thirty seconds.
    await service.database.query('update authenticators set last_step = 0 where user_id = $1', [user.id])
    return code()
  })
}

export type Authenticated = {
  /** The current code. */
  code(): Promise<string>
}

export async function makeAuthenticator(service: TestService, user: MadeUser): Promise<Authenticated> {
  const { keys } = service.config
  const reference = { id: randomUUID(), keyId: keys.signing.id }
  await service.context.db.transaction((tx) => insertAuthenticator(tx, user.id, { ...reference, lastStep: 0 }))
  const secret = secretText(authenticatorSecret(keys, reference) ?? Buffer.alloc(0))
  return {
    code: async () => {
      const [row] = await service.database.query<{ now: Date }>('select now()')
      return codeOf(secret, row?.now.getTime() ?? 0)
    },
  }
}
