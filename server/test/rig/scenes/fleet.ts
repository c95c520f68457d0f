/** Devices of many accounts of any age, and their polling, as rows or over HTTP. */
import { randomUUID } from 'node:crypto'
import { judgeApplications } from '../../../src/flows/reviews/judge.ts'
import { post, type WireAnswer, whenServed } from '../device.ts'
import { type MadeApplication, type MadeUser, makeAccount, makeUser } from '../make.ts'
import type { TestService } from '../service.ts'

const MINUTE = 60_000

export type Stranger = MadeUser & { readonly account: { readonly id: string; readonly slug: string } }

/** Administrators, each of an account of this age in days. */
export async function makeStrangers(service: TestService, count: number, ageDays = 60): Promise<Stranger[]> {
  const { db } = service.context
  const strangers: Stranger[] = []
  for (let each = 0; each < count; each += 1) {
    const account = await makeAccount(db)
    strangers.push({ ...(await makeUser(db, account.slug)), account })
  }
  await service.database.query("update accounts set created_at = now() - $2 * interval '1 day' where id = any($1)", [
    strangers.map(({ account }) => account.id),
    ageDays,
  ])
  return strangers
}

/** A different network for each number, up to 250. */
export const addressOf = (index: number) => `198.51.${index % 250}.7`

/** Each of them grants a code that was answered slow_down this often. Inserts rows, for tests of the judging. */
export async function connectAsRows(
  service: TestService,
  application: Pick<MadeApplication, 'id'>,
  strangers: readonly Stranger[],
  earlyPolls: number,
): Promise<void> {
  const codes = strangers.map(() => randomUUID())
  await service.database.query(
    `with granted as (
       insert into grants (id, secret, account_id, user_id, application_id, variant, scopes, device_code_id, key_id, created_at, requested_from)
       select 'grt_' || left(md5(gen_random_uuid()::text), 20), gen_random_uuid(), account_id, user_id, $1, 'token_set', '{}', code, 1, now(), address
       from unnest($2::text[], $3::text[], $4::uuid[], $5::inet[]) as happened(account_id, user_id, code, address))
     insert into early_polls (device_code_id, application_id, polls, last_at)
     select code, $1, $6, now() from unnest($4::uuid[]) as early(code) where $6 > 0`,
    [
      application.id,
      strangers.map(({ account }) => account.id),
      strangers.map(({ id }) => id),
      codes,
      strangers.map((_, index) => addressOf(index)),
      earlyPolls,
    ],
  )
}

/** Moves the clock a few seconds past the next full ten minutes. */
export async function nextWindow(service: TestService): Promise<void> {
  const [clock] = await service.database.query<{ ms: number }>(
    'select (extract(epoch from now()) * 1000)::float8 as ms',
  )
  const ms = clock?.ms ?? 0
  await advance(service, Math.ceil((ms + 1) / (10 * MINUTE)) * 10 * MINUTE - ms + 3_000)
}

export async function advance(service: TestService, ms: number): Promise<void> {
  await service.database.advance(ms)
  await service.context.applications.refresh()
}

/** Runs the job of every minute, after saving what this process has counted. */
export async function judgeNow({ context }: Pick<TestService, 'context'>): Promise<void> {
  await context.usage.save()
  await context.earlyPolls.save()
  await judgeApplications(context)
  await context.applications.refresh()
}

/** Fills this many windows in a row with the same devices, completes the last one, and judges. */
export async function misbehave(
  service: TestService,
  application: Pick<MadeApplication, 'id'>,
  strangers: readonly Stranger[],
  windows = 1,
): Promise<void> {
  for (let each = 0; each < windows; each += 1) {
    await nextWindow(service)
    await connectAsRows(service, application, strangers, 25)
  }
  await nextWindow(service)
  await judgeNow(service)
}

/** Over HTTP, from an address of its own (TRUST_PROXY has to name this machine): polls this often at once, then is granted. */
export async function connectDevice(
  service: TestService,
  application: MadeApplication,
  stranger: Stranger | null,
  { address, polls }: { readonly address: string; readonly polls: number },
): Promise<readonly WireAnswer[]> {
  const headers = { 'x-forwarded-for': address }
  const device = service.device('oauth', application)
  const sent = { form: device.credentials, headers }
  const asked = await whenServed(() => post(service.address, '/auth/oauth/device/code', sent))
  if (asked.status !== 200) throw new Error(`the code request was answered ${asked.status} ${asked.text}`)
  const poll = () => device.poll(asked.body.device_code, headers)
  const first = await poll()
  // In parallel, so that no poll comes after the interval on a busy machine.
  const answers = [first, ...(await Promise.all(Array.from({ length: polls - 1 }, poll)))]
  if (stranger && (await service.grant(asked.body.user_code, stranger)) !== 'granted') throw new Error('not granted')
  return answers
}
