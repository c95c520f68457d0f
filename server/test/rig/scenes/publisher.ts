/** Applications of an account and the domains of their publishers. */
import { registerApplication } from '../../../src/flows/applications/own.ts'
import { type PublisherRecord, provePublisher, recordFor } from '../../../src/flows/applications/publisher.ts'
import { makeSettings } from '../application-settings.ts'
import { type MadeApplication, type MadeUser, makeAccount, makeUser } from '../make.ts'
import type { DnsServer } from '../network/dns-server.ts'
import type { TestService } from '../service.ts'
import { signInAs } from '../signed-in.ts'
import type { Web } from '../web.ts'

/** Settings of their registration. The scope has to be in the catalogue. */
export const OWN_SETTINGS = makeSettings({ name: 'Acme Television', redirectUris: ['https://acme.example/back'] })

export async function makeOwn(service: TestService, by: MadeUser, name: string): Promise<MadeApplication> {
  // Tests register more of them than an account may have before a review.
  await service.database.query('delete from application_vettings')
  const made = await registerApplication(service.context, by.id, { ...OWN_SETTINGS, name, public: false })
  if (made.outcome !== 'registered') throw new Error(JSON.stringify(made))
  await service.context.applications.refresh()
  return { id: made.id, secret: made.secret ?? '' }
}

export function recordOf({ context }: TestService, id: string, domain: string): PublisherRecord {
  const record = recordFor(context, id, domain)
  if ('problem' in record) throw new Error(record.problem)
  return record
}

/** Replaces the DNS records by this one and has it checked. */
export async function proveDomain(service: TestService, dns: DnsServer, by: MadeUser, id: string, domain: string) {
  const { name, value } = recordOf(service, id, domain)
  await dns.know({ texts: { [name]: [value] } })
  const { outcome } = await provePublisher(service.context, by.id, id, domain)
  await service.context.applications.refresh()
  return outcome
}

/** An administrator of another account, signed in there. */
export async function makeStranger(service: TestService): Promise<MadeUser & { readonly web: Web }> {
  const account = await makeAccount(service.context.db)
  const user = await makeUser(service.context.db, account.slug)
  return { ...user, web: await signInAs(service, user, { account }) }
}
