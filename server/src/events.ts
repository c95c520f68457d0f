/**
 * Log events: one function per event, with ids and never values. Polls are not logged: a line costs more than the poll.
 * Secrets cannot get into the log, because no function here takes a request, a URL or a code.
 */
import { type DestinationStream, pino } from 'pino'

/** The request that a line belongs to; empty outside of requests. */
export type About = { readonly requestId?: string; readonly route?: string; readonly traceId?: string }

export type Answered = { readonly method: string; readonly status: number; readonly ms: number }

export type Events = {
  listening(address: string): void
  /** Address of the metrics server; the public port does not serve metrics. */
  metricsListening(address: string): void
  /** All processes of `serve --processes` listen. */
  supervising(processes: number, address: string): void
  /** Several processes without Redis: each paces polls on its own. Logged once, at startup. */
  gateNotShared(): void
  /** A process ended without being told to, and is started again. */
  processDied(processId: number, how: string): void
  /** SIGHUP: the processes are replaced, one after the other. */
  replacing(processes: number): void
  replaced(): void
  /** A successor did not start: the remaining processes keep running. */
  replaceFailed(error: unknown): void
  draining(seconds: number): void
  stopped(): void
  /** PostgreSQL or Redis stopped or started answering. Logged once per change, not once per request. */
  engine(name: 'postgresql' | 'redis', answers: boolean, reason?: string): void
  /** PostgreSQL was restarted, failed over or restored: what this process remembered of it was read again. */
  reloaded(): void
  /** The clock of PostgreSQL jumped, as after a failover to a server with another time. Negative: it went back. */
  clockJumped(seconds: number): void
  /** PostgreSQL was restored from a backup. What was ended again, as counts; names of what an operator has to accept. */
  restored(repeated: Readonly<Record<string, number>>, toAccept: readonly string[]): void
  /** Lines of the revocation journal were not made by the service, or were altered. They are not applied. */
  journalUnproven(lines: number): void
  /** A statement of the host service was not accepted. `reason`: never a value of it. */
  statementRefused(account: string, reason: string): void
  /** `reason`: the library's, without any token. */
  providerFailed(account: string, reason: string): void
  /** By user code or by dialog. */
  granted(grantId: string, applicationId: string, accountId: string): void
  codeRejected(applicationId: string, accountId: string): void
  dialogDenied(applicationId: string, accountId: string): void
  /**
   * A grant was revoked because a credential leaked: a refresh token or code was reused, or a credential was reported.
   */
  grantRevoked(grantId: string, reason: string): void
  /** `givenUp`: no further attempt. */
  mailFailed(mailId: number, attempts: number, givenUp: boolean, error: unknown): void
  /** Requests shed under overload; 0: shedding ended. Logged once per change. */
  shedding(requests: number): void
  /** SMTP_URL is not set. Logged once, at startup. */
  mailOff(): void
  /** The newest seal of the audit log. From the log it can be checked later (`latchkey audit verify --since-head`). */
  auditHead(position: number, hash: string): void
  /**
   * A seal that this process saw is gone: the audit log was rewritten, or the database was restored to an earlier
   * state.
   */
  auditDiffers(position: number): void
  /** A background task failed and will be retried. */
  taskFailed(task: string, error: unknown): void
  /** A bug: an unexpected exception. */
  unexpected(where: string, error: unknown): void
  /** Logs every request with LOG_LEVEL=debug. Null at other levels, so that it costs nothing. */
  readonly answered: ((answered: Answered) => void) | null
}

/** Lines that standard output does not take, because its disk is full or nobody reads it, wait up to this size. */
const MAX_WAITING_BYTES = 1_000_000

/** Standard output. That a line cannot be written must neither end the process nor keep it from ending. */
function openOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: false, maxLength: MAX_WAITING_BYTES })
  // At exit pino would retry until the disk has space.
  const flushSync = output.flushSync.bind(output)
  output.on('error', () => {
    output.flushSync = () => {}
  })
  output.on('write', () => {
    output.flushSync = flushSync
  })
  return output
}

export function createEvents(
  level: string,
  about: () => About = () => ({}),
  output: DestinationStream = openOutput(),
): Events {
  const log = pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      // The level as a word instead of pino's number.
      formatters: { level: (word) => ({ level: word }) },
      mixin: about,
    },
    output,
  )
  return {
    listening: (address) => log.info({ event: 'listening', address }, `listening on ${address}`),
    metricsListening: (address) =>
      log.info({ event: 'metrics_listening', address }, `serving metrics on ${address}/metrics`),
    supervising: (processes, address) =>
      log.info({ event: 'supervising', processes, address }, `${processes} processes are listening on ${address}`),
    gateNotShared: () =>
      log.warn({ event: 'gate_not_shared' }, 'REDIS_URL is not set: each process paces polls on its own'),
    processDied: (processId, how) =>
      log.error({ event: 'process_died', processId, how }, `process ${processId} died: ${how}`),
    replacing: (processes) => log.info({ event: 'replacing', processes }, `replacing ${processes} processes`),
    replaced: () => log.info({ event: 'replaced' }, 'all processes were replaced'),
    replaceFailed: (error) =>
      log.error(
        { event: 'replace_failed', ...described(error) },
        'a new process did not start: the remaining old processes keep running',
      ),
    draining: (seconds) => log.info({ event: 'draining', seconds }, `draining for ${seconds} s, then stopping`),
    stopped: () => log.info({ event: 'stopped' }, 'stopped'),
    engine: (name, answers, reason) =>
      answers
        ? log.info({ event: 'engine_back', engine: name }, `${name} is reachable again`)
        : log.error({ event: 'engine_away', engine: name, reason }, `${name} is unreachable`),
    reloaded: () =>
      log.warn(
        { event: 'reloaded' },
        'postgresql was restarted, failed over or restored: all cached data was read again',
      ),
    clockJumped: (seconds) =>
      log.error({ event: 'clock_jumped', seconds }, `the clock of postgresql jumped by ${seconds} s`),
    restored: (repeated, toAccept) =>
      log.error(
        { event: 'restored', ...repeated, toAccept },
        'postgresql was restored: what the revocation journal knows was ended again; run "latchkey restore check"',
      ),
    journalUnproven: (lines) =>
      log.error(
        { event: 'journal_unproven', lines },
        `${lines} lines of the revocation journal have no valid proof and are not applied`,
      ),
    statementRefused: (account, reason) =>
      log.warn({ event: 'statement_refused', account, reason }, 'statement of the host service refused'),
    providerFailed: (account, reason) =>
      log.warn({ event: 'provider_failed', account, reason }, 'sign-in at an identity provider failed'),
    granted: (grantId, applicationId, accountId) =>
      log.info({ event: 'granted', grantId, applicationId, accountId }, 'access granted'),
    codeRejected: (applicationId, accountId) =>
      log.info({ event: 'code_rejected', applicationId, accountId }, 'code rejected'),
    dialogDenied: (applicationId, accountId) =>
      log.info({ event: 'dialog_denied', applicationId, accountId }, 'dialog denied'),
    grantRevoked: (grantId, reason) =>
      log.warn({ event: 'grant_revoked', grantId, reason }, 'grant revoked: a credential leaked or was reused'),
    mailFailed: (mailId, attempts, givenUp, error) =>
      log.warn(
        { event: 'mail_failed', mailId, attempts, givenUp, ...described(error) },
        givenUp ? 'mail not sent; no further attempt' : 'mail not sent; will be retried',
      ),
    shedding: (requests) =>
      requests > 0
        ? log.warn({ event: 'shedding', requests }, 'overloaded: rejecting new code requests and dialogs')
        : log.info({ event: 'shedding_over' }, 'overload ended'),
    mailOff: () => log.warn({ event: 'mail_off' }, 'SMTP_URL is not set: mails stay in the outbox'),
    auditHead: (position, hash) =>
      log.info({ event: 'audit_head', head: `${position}:${hash}` }, 'newest seal of the audit log'),
    auditDiffers: (position) =>
      log.error({ event: 'audit_differs', position }, 'audit log changed: a sealed entry is missing'),
    taskFailed: (task, error) => log.warn({ event: 'task_failed', task, ...described(error) }, `${task} failed`),
    unexpected: (where, error) =>
      log.error({ event: 'unexpected', where, ...described(error) }, `unexpected error in ${where}`),
    answered: log.isLevelEnabled('debug')
      ? ({ method, status, ms }) =>
          log.debug({ event: 'answered', method, status, ms: Math.round(ms * 10) / 10 }, `answered ${status}`)
      : null,
  }
}

/** Message and stack of an error. Never its other fields: drivers put query values there. */
function described(error: unknown): { reason: string; stack?: string } {
  return error instanceof Error
    ? { reason: error.message, ...(error.stack ? { stack: error.stack } : {}) }
    : { reason: 'not an error' }
}
