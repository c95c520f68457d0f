/** Counters of this process: plain numbers in memory, read when metrics are collected. */
import { type Counter, createCounter, type Family } from './family.ts'
import { createRequestCounts, type RequestCounts } from './request-counts.ts'

export type Counts = {
  /** By the outcome that the poll was answered with. */
  readonly polls: Counter<PollOutcome>
  readonly codeRequests: Counter<string>
  readonly decisions: Counter<'granted' | 'rejected'>
  /** A repeated delivery is not counted: it carries the same credentials. */
  readonly credentials: Counter<'token_set' | 'access_key' | 'first' | 'renewed'>
  readonly grantsRevoked: Counter<string>
  readonly mailFailures: Counter<'due' | 'given_up'>
  readonly taskFailures: Counter<string>
  readonly unexpected: Counter<string>
  readonly auditDifferences: Counter<never>
  readonly requests: RequestCounts
  families(): readonly Family[]
}

type PollOutcome = 'accepted' | 'auth_pending' | 'slow_down' | 'auth_rejected' | 'auth_expired' | 'invalid'

const POLL_OUTCOMES: readonly PollOutcome[] = [
  'accepted',
  'auth_pending',
  'slow_down',
  'auth_rejected',
  'auth_expired',
  'invalid',
]

const CODE_REQUEST_OUTCOMES = [
  'requested',
  'invalid_application',
  'application_suspended',
  'device_flow_disabled',
  'state_not_echoable',
  'invalid_scope',
  'too_many_requests',
  'unavailable',
  'shed',
]

/** `routes` lists all routes, so that each has a zero sample before its first request. */
export function createCounts(routes: readonly string[]): Counts {
  const of = <Value extends string>(
    name: string,
    help: string,
    labels: readonly string[],
    known: readonly (readonly Value[])[],
  ) => createCounter<Value>({ name: `latchkey_${name}_total`, help }, labels, known)

  const requests = createRequestCounts(routes)
  const counters = {
    polls: of(
      'polls',
      'Number of polls, by outcome.',
      ['outcome'],
      POLL_OUTCOMES.map((outcome) => [outcome]),
    ),
    codeRequests: of(
      'code_requests',
      'Number of code requests, by outcome.',
      ['outcome'],
      CODE_REQUEST_OUTCOMES.map((outcome) => [outcome]),
    ),
    decisions: of<'granted' | 'rejected'>(
      'decisions',
      'Number of decisions by users, by code or in the dialog.',
      ['decision'],
      [['granted'], ['rejected']],
    ),
    credentials: of<'token_set' | 'access_key' | 'first' | 'renewed'>(
      'credentials_issued',
      'Number of token sets and access keys issued, by variant and by first issue or renewal.',
      ['variant', 'issue'],
      [
        ['token_set', 'first'],
        ['token_set', 'renewed'],
        ['access_key', 'first'],
        ['access_key', 'renewed'],
      ],
    ),
    grantsRevoked: of<string>(
      'grants_revoked',
      'Number of grants revoked because a credential leaked or was reused, by reason.',
      ['reason'],
      [
        ['refresh_token_reused'],
        ['authorization_code_refused'],
        ['authorization_code_reused'],
        ['credential_reported'],
      ],
    ),
    mailFailures: of<'due' | 'given_up'>(
      'mail_failures',
      'Number of failed attempts to send a mail, by what follows: due (retried) or given_up.',
      ['then'],
      [['due'], ['given_up']],
    ),
    taskFailures: of<string>(
      'task_failures',
      'Number of background task failures, by task. Outages of PostgreSQL are not counted.',
      ['task'],
      [],
    ),
    unexpected: of(
      'unexpected_errors',
      'Number of unexpected exceptions, by the module that caught them.',
      ['where'],
      ['http', 'pages', 'poll', 'delivery', 'usage'].map((where) => [where]),
    ),
    auditDifferences: of<never>(
      'audit_differences',
      'Number of times a sealed entry was found missing from the audit log.',
      [],
      [[]],
    ),
  }
  return {
    ...counters,
    requests,
    families: () => [...requests.families(), ...Object.values(counters).map((counter) => counter.family())],
  }
}
