/**
 * What we tell the operator: one function per thing worth telling, ids and never values. A poll is not worth a line: a
 * line costs more than the poll. Secrets cannot get here, because nothing here takes a request, a URL or a code.
 */
import { pino } from 'pino'

/** The request that a line is written for: nothing where there is none. */
export type About = { readonly requestId?: string; readonly route?: string; readonly traceId?: string }

export type Answered = { readonly method: string; readonly status: number; readonly ms: number }

export type Events = {
  listening(address: string): void
  /** Metrics can be fetched there, and only there. */
  metricsListening(address: string): void
  draining(seconds: number): void
  stopped(): void
  /** An engine stopped or started answering. Said once per change, not once per request. */
  engine(name: 'postgresql' | 'redis', answers: boolean, reason?: string): void
  /** By a typed code or in the dialog. */
  granted(grantId: string, applicationId: string, accountId: string): void
  codeRejected(applicationId: string, accountId: string): void
  dialogDenied(applicationId: string, accountId: string): void
  /** A refresh token, a code or a found credential said that somebody has a copy: the grant was ended. */
  grantRevoked(grantId: string, reason: string): void
  /** `givenUp`: it will not be tried again. */
  mailFailed(mailId: number, attempts: number, givenUp: boolean, error: unknown): void
  /** Requests are turned away because there are too many at once; 0: not any more. Said once per change. */
  shedding(requests: number): void
  /** Nobody told us where to send mails. Said once, at the start. */
  mailOff(): void
  /** The newest seal of the audit log: noted here, it can be asked for later (`latchkey audit verify --since-head`). */
  auditHead(position: number, hash: string): void
  /** What this process saw sealed is there no more: somebody rewrote the log, or the database went back in time. */
  auditDiffers(position: number): void
  /** A background task failed; it will be tried again. */
  taskFailed(task: string, error: unknown): void
  /** A bug: something was thrown that nobody expected. */
  unexpected(where: string, error: unknown): void
  /** Every request, for who looks for one with LOG_LEVEL=debug. Null: nobody does, and so it costs nothing. */
  readonly answered: ((answered: Answered) => void) | null
}

export function createEvents(level: string, about: () => About = () => ({})): Events {
  const log = pino({
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    // A word: who reads this at night does not know pino's numbers.
    formatters: { level: (word) => ({ level: word }) },
    mixin: about,
  })
  return {
    listening: (address) => log.info({ event: 'listening', address }, `listening on ${address}`),
    metricsListening: (address) => log.info({ event: 'metrics_listening', address }, `metrics on ${address}/metrics`),
    draining: (seconds) => log.info({ event: 'draining', seconds }, `draining for ${seconds} s, then stopping`),
    stopped: () => log.info({ event: 'stopped' }, 'stopped'),
    engine: (name, answers, reason) =>
      answers
        ? log.info({ event: 'engine_back', engine: name }, `${name} answers again`)
        : log.error({ event: 'engine_away', engine: name, reason }, `${name} does not answer`),
    granted: (grantId, applicationId, accountId) =>
      log.info({ event: 'granted', grantId, applicationId, accountId }, 'a user connected an application'),
    codeRejected: (applicationId, accountId) =>
      log.info({ event: 'code_rejected', applicationId, accountId }, 'a code was rejected'),
    dialogDenied: (applicationId, accountId) =>
      log.info({ event: 'dialog_denied', applicationId, accountId }, 'a dialog was denied'),
    grantRevoked: (grantId, reason) =>
      log.warn({ event: 'grant_revoked', grantId, reason }, 'grant revoked: a credential leaked or was reused'),
    mailFailed: (mailId, attempts, givenUp, error) =>
      log.warn(
        { event: 'mail_failed', mailId, attempts, givenUp, ...described(error) },
        givenUp ? 'a mail could not be sent and was given up' : 'a mail could not be sent; it stays due',
      ),
    shedding: (requests) =>
      requests > 0
        ? log.warn({ event: 'shedding', requests }, 'too busy: new code requests are turned away')
        : log.info({ event: 'shedding_over' }, 'nobody is turned away any more'),
    mailOff: () => log.warn({ event: 'mail_off' }, 'SMTP_URL is not set: mails wait in the outbox'),
    auditHead: (position, hash) =>
      log.info({ event: 'audit_head', head: `${position}:${hash}` }, 'the audit log is sealed up to here'),
    auditDiffers: (position) =>
      log.error({ event: 'audit_differs', position }, 'the audit log no longer has what was sealed before'),
    taskFailed: (task, error) => log.warn({ event: 'task_failed', task, ...described(error) }, `${task} failed`),
    unexpected: (where, error) => log.error({ event: 'unexpected', where, ...described(error) }, `bug in ${where}`),
    answered: log.isLevelEnabled('debug')
      ? ({ method, status, ms }) =>
          log.debug({ event: 'answered', method, status, ms: Math.round(ms * 10) / 10 }, `answered ${status}`)
      : null,
  }
}

/** An error's own text and place. Never its other fields: drivers like to put query values there. */
function described(error: unknown): { reason: string; stack?: string } {
  return error instanceof Error
    ? { reason: error.message, ...(error.stack ? { stack: error.stack } : {}) }
    : { reason: 'not an error' }
}
