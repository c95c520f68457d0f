/**
 * A service after thirty days of use (thirty-days.ts), as its operators find it: judged by the suspension rule, with locations of
 * its networks. Used for the screenshots of the operators' console.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import type { Registered } from '../../../src/flows/accounts/register.ts'
import { judgeApplications } from '../../../src/flows/reviews/judge.ts'
import { writeMmdb } from '../corpora/mmdb.ts'
import { createAccount, createUser } from '../create.ts'
import { useAuthenticator } from '../factors/second-factor.ts'
import type { MadeUser } from '../make.ts'
import { startMailbox } from '../network/mailbox.ts'
import { PASSWORD } from '../scenes/northwind.ts'
import { seedThirtyDays, type ThirtyDays } from '../scenes/thirty-days.ts'
import { startTestService, type TestService } from '../service.ts'

export type BusyService = ThirtyDays & {
  readonly service: TestService
  readonly operator: MadeUser
  /** Owner of the application with the broken firmware. */
  readonly developer: MadeUser
  originOf(slug: string): string
  stop(): Promise<void>
}

const COUNTRIES = ['DE', 'PT', 'ES', 'FR', 'PL', 'NL', 'IT', 'AT', 'SE', 'EG', 'MA', 'US']

export async function startBusyService(environment: Record<string, string> = {}): Promise<BusyService> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-busy-'))
  // The networks of RFC 2544, distributed over countries.
  const places = writeMmdb(
    join(folder, 'places.mmdb'),
    [18, 19].flatMap((second) =>
      Array.from({ length: 120 }, (_, third) => {
        const iso = COUNTRIES[(third * 7 + second) % COUNTRIES.length] ?? ''
        return [`198.${second}.${third}.0/24`, { country: { iso_code: iso, names: { en: iso } } }] as const
      }),
    ),
  )
  const mailbox = await startMailbox()
  const settings = { OPERATOR_ACCOUNT: 'operators', GEOIP_CITY_FILE: places, SMTP_URL: mailbox.url }
  const service = await startTestService({ ...settings, ...environment })
  const { context, database, application } = service
  // Removes the rows that startTestService adds.
  await database.query('update applications set deleted_at = now() where id = $1', [application.id])
  done(await createAccount(context.db, { slug: 'operators', name: 'Operations' }))
  const person = async (account: string, email: string): Promise<MadeUser> => {
    const made = await createUser(context.db, { account, email, roles: ['administrator'], password: PASSWORD })
    const user = { ...done(made), email }
    await useAuthenticator(service, user)
    return user
  }
  const operator = await person('operators', 'olga@operators.example')
  const history = await seedThirtyDays(context.db)
  const developer = await person('brightframe', 'dev@brightframe.example')
  await context.applications.refresh()
  // The number of live codes was counted at start-up, before there were any.
  await database.query('update live_device_codes set codes = null, counted_at = null')
  await context.liveCodes.recount()
  await judgeApplications(context)
  return {
    ...history,
    service,
    operator,
    developer,
    originOf: (slug) => `http://${slug}.${new URL(service.config.publicUrl).host}`,
    stop: async () => {
      await service.stop()
      await mailbox.stop()
      removeFolder(folder)
    },
  }
}

function done<T>(result: Registered<T>): T {
  if (result.outcome === 'refused') throw new Error(result.reason)
  return result.value
}
