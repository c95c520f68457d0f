/**
 * Composition root: builds the context from the configuration, starts and stops the service. The only file that imports
 * every layer.
 */
import { CommandRefused } from './cli/client/output.ts'
import { type Config, everyOption, readConfig } from './config.ts'
import { createDns } from './dns.ts'
import { createEvents } from './events.ts'
import { createApplicationCopy } from './flows/applications/cache.ts'
import { createUsageCounters } from './flows/applications/usage-counters.ts'
import type { Context } from './flows/context.ts'
import { createDecisionFeed } from './flows/device/decision-feed.ts'
import { createHeldPolls } from './flows/device/held-polls.ts'
import { createLiveCodes } from './flows/device/live-codes.ts'
import { createGrantCache } from './flows/grants/cache.ts'
import { createMetricsReader, type MetricsReader, readInProcess } from './flows/operator/metrics.ts'
import { dropRetiredKeys } from './flows/operator/retire-key.ts'
import { createTasks } from './flows/operator/tasks.ts'
import { createLoad } from './flows/overload/load.ts'
import { createProviders } from './flows/provider/client.ts'
import { noteActivity, noteEnd } from './flows/restore/activity.ts'
import { settleBeforeServing } from './flows/restore/settle.ts'
import { createEarlyPolls } from './flows/reviews/early-polls.ts'
import { createAttempts } from './flows/sign-in/attempts.ts'
import { CHOICES_WINDOW_MS } from './flows/sign-in/chosen-password.ts'
import { createRefusals } from './flows/sign-in/refusals.ts'
import { strangerLimits } from './flows/sign-in/stranger.ts'
import { makePartitionsAhead } from './flows/sweep.ts'
import { createDecisionBus } from './gate/decision-bus.ts'
import { createLimiter } from './gate/limiter.ts'
import { createLocalGate } from './gate/local-gate.ts'
import { createRedisGate } from './gate/redis-gate.ts'
import { openRedis } from './gate/redis-link.ts'
import { createSignInFailures } from './gate/sign-in-failures.ts'
import { createSlidingWindows } from './gate/sliding-windows.ts'
import { traceGate, traceLimiter } from './gate/traced-gate.ts'
import { openGeoIp } from './geoip.ts'
import { openHostService } from './host-service.ts'

export { callManagement } from './http/manage/in-process.ts'

import { startMetricsServer } from './http/metrics-server.ts'
import { aboutRequest, readRequestId } from './http/request-scope.ts'
import { createHttpServer, everyRoute, type HttpServer } from './http/server.ts'
import { startBackground } from './jobs/background.ts'
import { createMailer } from './mail.ts'
import { createOutbound } from './outbound.ts'
import { readOverlays } from './pages/messages/read-overlays.ts'
import { createLanguages } from './pages/ui/words.ts'
import { readLogoFile } from './pictures/logo-file.ts'
import { isSupervised, obeySupervisor } from './processes/supervised.ts'
import { createCredentialVerifier } from './secrets/credentials.ts'
import { createDeviceCodeVerifier } from './secrets/device-code-text.ts'
import { createPasswords } from './secrets/password.ts'
import { markOperatorsAccount } from './store/accounts/accounts.ts'
import { createBatchedReads } from './store/device/batched-reads.ts'
import { createConfirmedCommits } from './store/postgres/confirmed-commits.ts'
import { pendingMigrations } from './store/postgres/migrate.ts'
import { openPostgres, type PostgresOptions } from './store/postgres/postgres.ts'
import { tracePostgres } from './store/postgres/traced.ts'
import { openConfiguredJournal } from './store/restore/journal.ts'
import { countEvents } from './telemetry/counting-events.ts'
import { createCounts } from './telemetry/counts.ts'
import type { Tracing } from './telemetry/open-telemetry.ts'

type ContextOptions = Pick<PostgresOptions, 'connectMs'> & {
  /** Wraps PostgreSQL, the gate and the limiter so that their calls appear as spans. */
  readonly traced?: boolean
}

export async function createContext(
  config: Config,
  { traced = false, ...options }: ContextOptions = {},
): Promise<Context> {
  const counts = createCounts(everyRoute)
  const events = countEvents(createEvents(config.logLevel, aboutRequest), counts)
  const geoip = await openGeoIp(config.geoipCityFile, config.geoipAsnFile)
  const languages = createLanguages(await readOverlays(config.messagesDir))
  const serviceLogo = await readLogoFile(config.serviceLogo)
  const hostService = await openHostService(config)
  const { revocationJournal, keys } = config
  const journal = revocationJournal === null ? null : await openConfiguredJournal(revocationJournal, keys)
  const commits = createConfirmedCommits()
  const postgres = openPostgres(config.databaseUrl, config.databaseConnections, {
    ...options,
    requestId: readRequestId,
    journal,
    commits,
  })
  const db = traced ? tracePostgres(postgres) : postgres
  const load = createLoad({ config, db, events })
  const link =
    config.redisUrl === null
      ? null
      : openRedis(config.redisUrl, (answers, reason) => events.engine('redis', answers, reason))
  const gate = link ? createRedisGate(link) : createLocalGate()
  const heldPolls = createHeldPolls()
  const limiter = createLimiter(config, link)
  const outbound = createOutbound({ allowPrivate: config.outboundPrivate, dnsServers: config.dnsServers })
  const where = link ? 'redis' : 'in process'
  return {
    config,
    db,
    commits,
    journal,
    reads: createBatchedReads(db.reads),
    gate: traced ? traceGate(gate, where) : gate,
    decisions: createDecisionFeed(db.reads, gate, heldPolls),
    decisionBus: createDecisionBus(link),
    heldPolls,
    limiter: traced ? traceLimiter(limiter, where) : limiter,
    signInFailures: createSignInFailures(strangerLimits(config), link),
    load,
    applications: createApplicationCopy(db, config.keys, (ms) => events.clockJumped(Math.round(ms / 1000))),
    liveCodes: createLiveCodes(db),
    verifyDeviceCode: createDeviceCodeVerifier(config.keys),
    verifyCredential: createCredentialVerifier(config.keys),
    grantCache: createGrantCache(db, journal),
    usage: createUsageCounters(db),
    earlyPolls: createEarlyPolls(db, load.overloaded),
    tasks: createTasks(),
    passwords: createPasswords(),
    passwordChoices: createSlidingWindows(CHOICES_WINDOW_MS),
    attempts: createAttempts(db),
    refusals: createRefusals(db),
    geoip,
    hostService,
    languages,
    serviceLogo,
    dns: createDns(config.dnsServers),
    mailer: createMailer(config.smtpUrl, config.mailFrom),
    outbound,
    providers: createProviders(outbound),
    events,
    counts,
  }
}

export async function closeContext(context: Context): Promise<void> {
  context.mailer?.close()
  context.load.close()
  context.decisionBus.close()
  await Promise.all([context.gate.close(), context.db.close()])
}

export type RunningService = {
  readonly address: string
  /** Null: the metrics server is off. */
  readonly metricsAddress: string | null
  readonly context: Context
  readonly readMetrics: MetricsReader
  /** `replace`: another process already accepts connections from the same socket. */
  stop(how?: 'stop' | 'replace'): Promise<void>
}

/** Fails if migrations are pending. When it returns, the service accepts requests. */
export async function startService(config: Config): Promise<RunningService> {
  const pending = await pendingMigrations(config.databaseUrl)
  if (pending.length > 0) {
    throw new CommandRefused(`The database lacks ${pending.join(', ')}. Run "latchkey migrate" first.`)
  }
  const tracesUrl = config.otlpTracesUrl ?? appendPath(config.otlpUrl, 'v1/traces')
  const traced = tracesUrl !== null
  const context = await createContext(config, { traced })
  const server = createHttpServer(context, traced)
  const readMetrics = createMetricsReader(context)
  const close = [() => closeContext(context)]
  const closing = async (error: unknown): Promise<never> => {
    for (const each of close.reverse()) await each()
    throw error
  }
  const metrics = await startMetricsServer(context, readMetrics).catch(closing)
  if (metrics) close.push(metrics.close)
  const address = await prepare(context, server).catch(closing)
  close.push(server.close)
  const tracing = traced ? await loadTracing(tracesUrl, config.tracedPart).catch(closing) : null
  if (!context.mailer) context.events.mailOff()
  const background = startBackground(context)
  if (metrics) context.events.metricsListening(metrics.address)
  context.events.listening(address)
  return {
    address,
    metricsAddress: metrics?.address ?? null,
    context,
    readMetrics,
    stop: async (how = 'stop') => {
      context.events.draining(config.drainMs / 1000)
      server.drain(how)
      context.heldPolls.stop()
      await new Promise((resolve) => setTimeout(resolve, config.drainMs))
      context.passwords.rejectDeferred()
      await server.close()
      await background.stop()
      await noteEnd(context)
      await tracing?.stop()
      await metrics?.close()
      await closeContext(context)
      context.events.stopped()
    },
  }
}

/** Imported on demand: the OpenTelemetry SDK is a dozen packages that a service without a collector does not need. */
async function loadTracing(url: string, sampledPart: number): Promise<Tracing> {
  const { startTracing } = await import('./telemetry/open-telemetry.ts')
  return startTracing(url, sampledPart)
}

/** Appends the signal's path to the base URL, as OpenTelemetry's exporter specification defines it. */
function appendPath(base: string | null, path: string): string | null {
  return base === null ? null : `${base}${base.endsWith('/') ? '' : '/'}${path}`
}

async function prepare(context: Context, server: HttpServer): Promise<string> {
  const { host, port, deviceCodeLifetimeMs, operatorAccount } = context.config
  await makePartitionsAhead(context.db, deviceCodeLifetimeMs)
  await settleBeforeServing(context)
  if (!(await dropRetiredKeys(context))) {
    throw new CommandRefused('The first key in LATCHKEY_KEYS was retired. Move another key to the front.')
  }
  await noteActivity(context)
  if (operatorAccount !== null) await markOperatorsAccount(context.db, operatorAccount)
  await context.applications.refresh()
  await context.grantCache.pull()
  await context.decisions.pull()
  context.decisionBus.listen(context.heldPolls.decided)
  // If the count fails or times out, user codes are a few digits longer until the next count.
  await context.liveCodes.recount().catch((error) => context.events.taskFailed('counting live codes', error))
  return server.listen(host, port)
}

/** Runs until SIGTERM or SIGINT, then stops gracefully. A second signal exits at once. */
export async function serve(): Promise<void> {
  const config = readConfig(everyOption)
  if (isSupervised()) return serveSupervised(config)
  const service = await startService(config)
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve())
  })
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(1))
  await service.stop()
}

/** One of several processes. The supervisor has the metrics port, and adds up the metrics of all. */
async function serveSupervised(config: Config): Promise<void> {
  const { address, readMetrics, stop, context } = await startService({ ...config, metricsPort: null })
  await obeySupervisor({ address, readMetrics, stop, readCounters: () => readInProcess(context) })
}
