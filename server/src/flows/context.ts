/**
 * Dependencies of every flow: built once in app.ts, passed as the first argument.
 *
 * `flows/` is the only place where rules meet storage. A flow locks, decides with `core/`, saves and issues in one
 * transaction, and returns a union of outcomes. Flows know nothing of HTTP, pages or environment variables.
 */
import type { Config } from '../config.ts'
import type { Dns } from '../dns.ts'
import type { Events } from '../events.ts'
import type { DecisionBus } from '../gate/decision-bus.ts'
import type { Gate } from '../gate/gate.ts'
import type { Limiter } from '../gate/limiter.ts'
import type { SignInFailures } from '../gate/sign-in-failures.ts'
import type { SlidingWindows } from '../gate/sliding-windows.ts'
import type { GeoIp } from '../geoip.ts'
import type { HostService } from '../host-service.ts'
import type { Mailer } from '../mail.ts'
import type { Outbound } from '../outbound.ts'
import type { Languages } from '../pages/ui/words.ts'
import type { ServiceLogo } from '../pictures/logo-file.ts'
import type { CredentialVerifier } from '../secrets/credentials.ts'
import type { DeviceCodeVerifier } from '../secrets/device-code-text.ts'
import type { Passwords } from '../secrets/password.ts'
import type { BatchedReads } from '../store/device/batched-reads.ts'
import type { ConfirmedCommits } from '../store/postgres/confirmed-commits.ts'
import type { Postgres } from '../store/postgres/postgres.ts'
import type { Journal } from '../store/restore/journal.ts'
import type { Counts } from '../telemetry/counts.ts'
import type { ApplicationCopy } from './applications/cache.ts'
import type { UsageCounters } from './applications/usage-counters.ts'
import type { DecisionFeed } from './device/decision-feed.ts'
import type { HeldPolls } from './device/held-polls.ts'
import type { LiveCodes } from './device/live-codes.ts'
import type { GrantCache } from './grants/cache.ts'
import type { Tasks } from './operator/tasks.ts'
import type { Load } from './overload/load.ts'
import type { Providers } from './provider/client.ts'
import type { EarlyPolls } from './reviews/early-polls.ts'
import type { Attempts } from './sign-in/attempts.ts'
import type { Refusals } from './sign-in/refusals.ts'

export type Context = {
  readonly config: Config
  readonly db: Postgres
  readonly commits: ConfirmedCommits
  /** Null: REVOCATION_JOURNAL is not set. */
  readonly journal: Journal | null
  readonly reads: BatchedReads
  readonly gate: Gate
  readonly decisions: DecisionFeed
  readonly decisionBus: DecisionBus
  readonly heldPolls: HeldPolls
  readonly limiter: Limiter
  readonly signInFailures: SignInFailures
  readonly load: Load
  readonly applications: ApplicationCopy
  readonly liveCodes: LiveCodes
  readonly verifyDeviceCode: DeviceCodeVerifier
  readonly verifyCredential: CredentialVerifier
  readonly grantCache: GrantCache
  readonly usage: UsageCounters
  readonly earlyPolls: EarlyPolls
  readonly tasks: Tasks
  readonly passwords: Passwords
  /** Passwords that were chosen, by link and by session. */
  readonly passwordChoices: SlidingWindows
  readonly attempts: Attempts
  readonly refusals: Refusals
  readonly geoip: GeoIp
  /** Null: SIGN_IN_URL is not set. */
  readonly hostService: HostService | null
  readonly providers: Providers
  /** Of pages and mails. */
  readonly languages: Languages
  /** Null: SERVICE_LOGO is not set. */
  readonly serviceLogo: ServiceLogo | null
  readonly dns: Dns
  /** Null without a mail server: mails stay in the outbox. */
  readonly mailer: Mailer | null
  /** Requests to URLs that developers and administrators chose. */
  readonly outbound: Outbound
  readonly events: Events
  /** For metrics only: the figures in the developer console come from `usage`. */
  readonly counts: Counts
}
