/** Accounts, the users whose passwords leaked, and honest users: as many rows as an attack needs, made by SQL. */
import { randomUUID } from 'node:crypto'
import type { Context } from '../../src/flows/context.ts'
import { createChallenge, creationOptions, verifyRegistration } from '../../src/secrets/passkey.ts'
import { digestPassword } from '../../src/secrets/password.ts'
import { signBrowser } from '../../src/secrets/web-texts.ts'
import { insertPasskey } from '../../src/store/sign-in/methods.ts'
import { createSoftPasskey, type SoftPasskey } from '../rig/factors/soft-passkey.ts'

export const PASSWORD = 'the same words everywhere'

export type Somebody = { readonly id: string; readonly email: string; readonly slug: string }

export type Honest = Somebody & {
  readonly how: 'known browser' | 'passkey' | 'new browser'
  /** Cookie of a browser that signed in before. */
  readonly browser: string | null
  readonly passkey: SoftPasskey | null
}

export type Harness = {
  readonly slugs: readonly string[]
  /** Their password is in the attacker's list. */
  readonly leaked: readonly Somebody[]
  readonly honest: readonly Honest[]
}

export async function makeHarness(
  context: Context,
  sizes: { readonly accounts: number; readonly leaked: number; readonly honest: number },
): Promise<Harness> {
  const slugs = Array.from({ length: sizes.accounts }, (_, at) => `tenant-${at}`)
  await context.db.query(
    `insert into accounts (id, slug, name, created_at)
     select 'acc_' || lpad((at - 1)::text, 12, '0'), slug, slug, now()
     from unnest($1::text[]) with ordinality as each (slug, at)`,
    [slugs],
  )
  const digest = await digestPassword(PASSWORD)
  const leaked = await makeUsers(context, digest, 'leaked', sizes.leaked, sizes.accounts)
  const users = await makeUsers(context, digest, 'honest', sizes.honest, sizes.accounts)
  const honest: Honest[] = []
  for (const [at, user] of users.entries()) honest.push(await equip(context, user, at))
  return { slugs, leaked, honest }
}

async function makeUsers(
  context: Context,
  digest: string,
  name: 'leaked' | 'honest',
  count: number,
  accounts: number,
): Promise<readonly Somebody[]> {
  const letter = name.slice(0, 1)
  const { rows } = await context.db.query<Somebody & { at: number }>(
    `with made as (
       insert into users (id, account_id, email, password_digest, language, created_at)
       select 'usr_' || $3 || lpad(at::text, 11, '0'), 'acc_' || lpad((at % $4)::text, 12, '0'),
         $5 || at || '@victims.example', $1, 'en', now()
       from generate_series(0, $2 - 1) at returning id, email, account_id)
     select m.id, m.email, a.slug from made m join accounts a on a.id = m.account_id order by m.id`,
    [digest, count, letter, accounts, name],
  )
  return rows
}

/** Of five, three have signed in with their browser before, one has a passkey, one comes with a new browser. */
async function equip(context: Context, user: Somebody, at: number): Promise<Honest> {
  const how = at % 5 < 3 ? 'known browser' : at % 5 === 3 ? 'passkey' : 'new browser'
  const browser = how === 'known browser' ? signBrowser(context.config.keys, randomUUID(), user.id) : null
  const passkey = how === 'passkey' ? await givePasskey(context, user) : null
  return { ...user, how, browser, passkey }
}

async function givePasskey(context: Context, user: Somebody): Promise<SoftPasskey> {
  const { hostname, host } = new URL(context.config.publicUrl)
  const [rpId, origin] = [`${user.slug}.${hostname}`, `http://${user.slug}.${host}`]
  const challenge = createChallenge(context.config.keys, `register:${user.id}`, Date.now())
  const options = creationOptions({ rpId, rpName: 'x', userId: user.id, email: user.email, challenge, exclude: [] })
  const passkey = createSoftPasskey()
  const answer = passkey.create(options as Parameters<SoftPasskey['create']>[0], origin)
  const made = await verifyRegistration({ answer, origin, rpId, challengeOk: () => true })
  if (!made) throw new Error('the passkey was not accepted')
  await context.db.transaction((tx) => insertPasskey(tx, { ...made, userId: user.id, name: 'Phone' }))
  return passkey
}
