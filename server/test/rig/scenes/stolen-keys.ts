/** An account, and the keys that somebody may steal of its programs. Mails arrive. */
import { listRoles } from '../../../src/store/accounts/roles.ts'
import { type MadeUser, makeUser } from '../make.ts'
import { type ManageClient, makeManagementKey, manageClient } from '../manage.ts'
import { type Mailbox, startMailbox } from '../network/mailbox.ts'
import { startTestService, type TestService } from '../service.ts'

export const PASSWORD = 'a quiet green harbour'

export type StolenKeys = {
  readonly service: TestService
  readonly mailbox: Mailbox
  /** Path of the account's users. */
  readonly users: string
  /** Ids. */
  readonly roles: { readonly administrator: string; readonly clerk: string }
  /** A client with a new key of the account that has these scopes. */
  keyWith(...scopes: readonly string[]): Promise<ManageClient>
  /** A user with a password. */
  somebody(role?: 'clerk' | 'administrator'): Promise<MadeUser>
  emailOf(user: MadeUser): Promise<string | undefined>
  stop(): Promise<void>
}

export async function startStolenKeys(): Promise<StolenKeys> {
  const mailbox = await startMailbox()
  const settings = { SMTP_URL: mailbox.url, MAIL_FROM: 'latchkey@service.example', LOG_LEVEL: 'silent' }
  const service = await startTestService(settings)
  const { db } = service.context
  const { id, slug } = service.account
  const keyWith = async (...scopes: readonly string[]) => {
    const { key } = await makeManagementKey(service, { account: slug, scopes })
    const call = manageClient(service.address, key)
    // Its first use is an event of its own.
    await call('GET', '/scopes')
    return call
  }
  const { body } = await (await keyWith('roles:write'))('POST', `/accounts/${slug}/roles`, {
    name: 'clerk',
    scopes: ['orders:read'],
  })
  const administrator = (await listRoles(db, id)).find(({ holdsEveryScope }) => holdsEveryScope)?.id ?? ''
  return {
    service,
    mailbox,
    users: `/accounts/${slug}/users`,
    roles: { administrator, clerk: body.id },
    keyWith,
    somebody: (role = 'clerk') => makeUser(db, slug, { password: PASSWORD, role }),
    emailOf: async (user) =>
      (await service.database.query<{ email: string }>('select email from users where id = $1', [user.id]))[0]?.email,
    stop: async () => {
      await service.stop()
      await mailbox.stop()
    },
  }
}

let made = 0
/** An address that nobody has. */
export function fresh(name: string): string {
  made += 1
  return `${name}${made}@evil.example`
}
