/** Settings and their parsers. Each parser throws an Error whose message completes "NAME …". */
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'

export type Option<T> = {
  readonly env: string
  readonly about: string
  readonly example: string
  /** Secrets may also be given as NAME_FILE, the path of a file that holds the value. */
  readonly secret: boolean
  /** `null`: required. */
  readonly fallback: string | null
  /** Throws an Error whose message completes "NAME …". */
  readonly parse: (text: string) => T
}

export function option<T>(given: Omit<Option<T>, 'secret' | 'fallback'> & Partial<Option<T>>): Option<T> {
  return { secret: false, fallback: null, ...given }
}

export function url(...protocols: string[]): (text: string) => string {
  return (text) => {
    if (!URL.canParse(text)) throw new Error('is not a URL')
    if (!protocols.includes(new URL(text).protocol)) throw new Error(`does not start with ${protocols.join(' or ')}`)
    return text
  }
}

/** Text for pages and mails: one line, up to 60 characters. */
export function displayName(text: string): string {
  if (text.trim() === '' || text.length > 60 || /\p{C}/u.test(text))
    throw new Error('is not a name of 1 to 60 characters in one line')
  return text
}

export function optionalPage(text: string): string | null {
  return text === '' ? null : url('https:', 'http:')(text)
}

/** Without the line breaks that a URL may have around it: for a file of lines. */
export function optionalLine(...protocols: string[]): (text: string) => string | null {
  return (text) => (text === '' ? null : new URL(url(...protocols)(text)).href)
}

/** Accepts `address` or `Name <address>`. */
export function sender(text: string): string {
  if (!/^(?:[^<>\p{C}]*<[^<>@\s]+@[^<>@\s]+>|[^<>@\s]+@[^<>@\s]+)$/u.test(text))
    throw new Error('is not an e-mail address')
  return text
}

export function whole(least: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
    if (!(value >= least && value <= max)) throw new Error(`is not a whole number from ${least} to ${max}`)
    return value
  }
}

/**
 * Parses seconds into milliseconds. Seconds are used only in the environment and on the wire; the code counts
 * milliseconds.
 */
export function seconds(least: number, max: number): (text: string) => number {
  const parse = whole(least, max)
  return (text) => parse(text) * 1000
}

/** Parses days into milliseconds, for retention times. */
export function days(least: number, max: number): (text: string) => number {
  const parse = whole(least, max)
  return (text) => parse(text) * 24 * 60 * 60 * 1000
}

export function networks(text: string): readonly string[] {
  const given = text.split(/[\s,]+/).filter((part) => part !== '')
  const wrong = given.find((part) => {
    const [address = '', prefix = '0', ...rest] = part.split('/')
    return (
      isIP(address) === 0 ||
      address.toLowerCase().startsWith('::ffff:') ||
      !/^\d{1,3}$/.test(prefix) ||
      Number(prefix) > (isIP(address) === 4 ? 32 : 128) ||
      rest.length > 0
    )
  })
  if (wrong !== undefined) throw new Error(`has "${wrong}", which is not a network`)
  return given
}

export function nameServers(text: string): readonly string[] {
  const given = text.split(/[\s,]+/).filter((part) => part !== '')
  const wrong = given.find((part) => {
    const [, bracketed, plain = '', port = '53'] = /^(?:\[(.+)\]|([^[\]:]+))(?::(\d{1,5}))?$/.exec(part) ?? []
    const address = bracketed ?? plain
    const isAddress = isIP(part) !== 0 || isIP(address) === (bracketed === undefined ? 4 : 6)
    return !isAddress || Number(port) < 1 || Number(port) > 65_535
  })
  if (wrong !== undefined) throw new Error(`has "${wrong}", which is not an IP address with an optional port`)
  return given
}

export function oneOf<const Word extends string>(...words: Word[]): (text: string) => Word {
  return (text) => {
    const found = words.find((word) => word === text)
    if (found === undefined) throw new Error(`is not one of ${words.join(', ')}`)
    return found
  }
}

/** A share from `least` to 1. */
function part(least: number): (text: string) => number {
  return (text) => {
    const value = /^(?:0|1|0?\.\d{1,12}|1\.0{1,12})$/.test(text) ? Number(text) : Number.NaN
    if (!(value >= least)) throw new Error(`is not a number from ${least} to 1`)
    return value
  }
}

/** URL of an OpenTelemetry collector. Null: no export. */
function collector(text: string): string | null {
  return text === '' ? null : url('http:', 'https:')(text)
}

/** Throws an Error whose message completes "NAME …". */
export function readSetting<T>({ env, secret, fallback, parse }: Option<T>, environment: NodeJS.ProcessEnv): T {
  const direct = environment[env]
  const file = secret ? environment[`${env}_FILE`] : undefined
  if (direct && file) throw new Error(`is set twice, as ${env} and as ${env}_FILE`)
  const text = direct || (file ? readSecretFile(env, file) : fallback)
  if (text === null || (file && text === '')) throw new Error(file ? `is empty in ${env}_FILE` : 'is missing')
  return parse(text)
}

function readSecretFile(env: string, path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new Error(`cannot be read from ${env}_FILE: ${(error as NodeJS.ErrnoException).code ?? 'unknown error'}`)
  }
}

/** Lists all problems of the configuration, so that an operator can fix them in one go. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
}

/** Settings of codes, a part of the table in config.ts. */
export const codeSettings = {
  deviceCodeLifetimeMs: option({
    env: 'DEVICE_CODE_LIFETIME',
    fallback: '600',
    about:
      'Lifetime of a device code and its user code in seconds. The default gives users time to open the page and type the code, and limits the time for guessing.',
    example: '600',
    parse: seconds(1, 86_400),
  }),
  pollIntervalSeconds: option({
    env: 'POLL_INTERVAL',
    fallback: '5',
    about:
      'Poll interval in seconds, as returned to applications. A poll that is more than 10 % early is answered `slow_down`.',
    example: '5',
    parse: whole(1, 60),
  }),
  codeEntryLimit: option({
    env: 'CODE_ENTRY_LIMIT',
    fallback: '20',
    about:
      'Existing codes that a user may enter within ten minutes without granting them. After that, the user has to wait. Codes that the user grants do not count.',
    example: '20',
    parse: whole(1, 200),
  }),
  codeGrantLimit: option({
    env: 'CODE_GRANT_LIMIT',
    fallback: '20',
    about:
      'Codes that a user may grant within ten minutes before they have to sign in again; then as many again. Raise it where people install many devices at once.',
    example: '20',
    parse: whole(1, 200),
  }),
}

/** Settings of sign-in at the host service, a part of the table in config.ts. */
export const handOverSettings = {
  signInUrl: option<string | null>({
    env: 'SIGN_IN_URL',
    fallback: '',
    about:
      'Page of your own service at which users sign in, instead of at Latchkey: see the guide “Your own users”. Needs `SIGN_IN_KEYS`. The account that `OPERATOR_ACCOUNT` names is not affected. If unset, Latchkey has users of its own.',
    example: 'https://service.example/latchkey/sign-in',
    parse: (text) => {
      const page = optionalPage(text)
      if (page !== null && new URL(page).hash !== '') throw new Error('has a fragment (#)')
      return page
    },
  }),
  signInKeys: option<string | null>({
    env: 'SIGN_IN_KEYS',
    fallback: '',
    about:
      'Public keys with which your service signs who signed in, as a JSON Web Key Set: its address, or the path of a file. EdDSA (Ed25519) or ES256 (P-256) keys only. A file is read at startup. An address is fetched again after ten minutes, and for an unknown key at most once a minute; while it does not answer, the keys fetched last stay valid.',
    example: 'https://service.example/.well-known/jwks.json',
    parse: (text) => text || null,
  }),
  signInCreates: option({
    env: 'SIGN_IN_CREATES',
    fallback: 'nothing',
    about:
      'What Latchkey creates when an unknown user signs in through your service: `nothing`, `users`, or `accounts` (and their users). With `nothing`, create them with `latchkey account create` and `latchkey user create --external-id`.',
    example: 'users',
    parse: oneOf('nothing', 'users', 'accounts'),
  }),
  signInSubjects: option({
    env: 'SIGN_IN_SUBJECTS',
    fallback: 'per-account',
    about:
      'Whether the id (`sub`) in a statement of your service is the same person in every account: `per-account` or `shared`. With `shared`, somebody who enters a code in one of their accounts and then in another one continues there; otherwise that closes the code.',
    example: 'shared',
    parse: oneOf('per-account', 'shared'),
  }),
  secondFactorElsewhere: option({
    env: 'SECOND_FACTOR_ELSEWHERE',
    fallback: 'required',
    about:
      'Whether users who sign in at your service or at an identity provider have to prove a second factor there: administrators before they administer, and all users of an account whose policy requires one. It is proven by `mfa`, `otp`, `hwk` or `sc` in `amr`, or by an `acr` that means it. `required`, or `trusted` if the services decide and do not say so.',
    example: 'required',
    parse: oneOf('required', 'trusted'),
  }),
}

function threshold(
  env: string,
  fallback: number,
  [least, max]: readonly [number, number],
  about: string,
): Option<number> {
  return option({ env, fallback: String(fallback), about, example: String(fallback), parse: whole(least, max) })
}

/**
 * Thresholds of the suspension rule, a part of the table in config.ts: what counts, when it is enough, what follows. The
 * minimums prevent a rule by which a handful of accounts could get an application suspended.
 */
export const suspensionSettings = {
  suspensionEarlyPolls: threshold(
    'SUSPENSION_EARLY_POLLS',
    20,
    [5, 10_000],
    'Responses `slow_down` after which a code ignores them. This and the following settings are the thresholds at which an application is warned and suspended: see [When an application polls too fast](operations/operator-console.md#when-an-application-polls-too-fast).',
  ),
  suspensionAccountAgeDays: threshold(
    'SUSPENSION_ACCOUNT_AGE_DAYS',
    30,
    [1, 365],
    'Days after which an account counts: younger ones could be created to cause a suspension.',
  ),
  suspensionWindowMinutes: threshold(
    'SUSPENSION_WINDOW_MINUTES',
    10,
    [5, 60],
    'Length in minutes of the windows in which accounts are counted.',
  ),
  suspensionWindows: threshold(
    'SUSPENSION_WINDOWS',
    3,
    [2, 12],
    'Consecutive windows above `SUSPENSION_ACCOUNTS`, `SUSPENSION_SHARE` and `SUSPENSION_NETWORKS` that lead to a suspension. One leads to a warning.',
  ),
  suspensionAccounts: threshold(
    'SUSPENSION_ACCOUNTS',
    25,
    [5, 100_000],
    'Accounts of one window with codes that ignore `slow_down`.',
  ),
  suspensionShare: option({
    env: 'SUSPENSION_SHARE',
    fallback: '0.05',
    about: 'Their share of all accounts that granted a code in the window, from 0.01 to 1.',
    example: '0.05',
    parse: part(0.01),
  }),
  suspensionNetworks: threshold(
    'SUSPENSION_NETWORKS',
    10,
    [2, 100_000],
    'Networks of these codes in the window: one site with many devices is not enough.',
  ),
  suspensionWarningHours: threshold(
    'SUSPENSION_WARNING_HOURS',
    24,
    [1, 168],
    'Hours between the warning and the earliest suspension.',
  ),
  suspensionReinstateHours: threshold(
    'SUSPENSION_REINSTATE_HOURS',
    0,
    [0, 8_760],
    'Hours after which a later suspension ends without a decision, unless users reported the application. 0: it lasts until an operator has decided.',
  ),
  suspensionReports: threshold(
    'SUSPENSION_REPORTS',
    3,
    [1, 1_000],
    'Accounts with a report about an application within a day that open a review.',
  ),
  suspensionSecondOperatorGrants: threshold(
    'SUSPENSION_SECOND_OPERATOR_GRANTS',
    1000,
    [1, 1_000_000],
    'Grants of an application from which on it takes two operators to revoke all of them.',
  ),
}

/** Databases of places and networks, a part of the table in config.ts. */
export const geoipSettings = {
  geoipCityFile: option<string | null>({
    env: 'GEOIP_CITY_FILE',
    fallback: '',
    about:
      'Path of a MaxMind database of cities or countries (.mmdb). The consent page uses it to show the location of the request. If unset, only the IP address is shown.',
    example: '/var/lib/latchkey/GeoLite2-City.mmdb',
    parse: (text) => text || null,
  }),
  geoipAsnFile: option<string | null>({
    env: 'GEOIP_ASN_FILE',
    fallback: '',
    about:
      'Path of a MaxMind database of autonomous systems (.mmdb). The consent page uses it to show the name of the network.',
    example: '/var/lib/latchkey/GeoLite2-ASN.mmdb',
    parse: (text) => text || null,
  }),
}

/** Settings for what happens after a restore, a part of the table in config.ts. */
export const restoreSettings = {
  revocationJournal: option<string | null>({
    env: 'REVOCATION_JOURNAL',
    fallback: '',
    about:
      'Revocation journal: the path of a local file to which all processes and commands of this machine append the ids of revoked, suspended, taken away and used things, signed and without secrets. After PostgreSQL was restored from a backup, the service ends them again: see “Back up and restore”. Copy the file to another machine continuously. If it cannot be written, decisions and revocations are answered 503. If unset, revocations that a restore undoes are not repeated.',
    example: '/var/lib/latchkey/revocations.jsonl',
    parse: (text) => text || null,
  }),
}

/** Settings of metrics and traces, a part of the table in config.ts. */
export const telemetrySettings = {
  metricsPort: option<number | null>({
    env: 'METRICS_PORT',
    fallback: '',
    about:
      'Port that serves metrics for Prometheus at `/metrics`, without authentication. Do not expose it through the proxy. If unset, metrics are not served.',
    example: '9464',
    parse: (text) => (text === '' ? null : whole(0, 65_535)(text)),
  }),
  metricsHost: option({
    env: 'METRICS_HOST',
    fallback: '127.0.0.1',
    about: 'Address to listen on for `METRICS_PORT`. Change it only to an address that only Prometheus can reach.',
    example: '10.0.0.7',
    parse: (text) => text,
  }),
  otlpUrl: option<string | null>({
    env: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    fallback: '',
    about:
      'Base URL of an OpenTelemetry collector (OTLP over HTTP). Traces are sent to `/v1/traces` below it; a collector reads metrics from `METRICS_PORT`. `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_EXPORTER_OTLP_TIMEOUT`, `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` are supported. If unset, the OpenTelemetry SDK is not loaded.',
    example: 'http://localhost:4318',
    parse: collector,
  }),
  otlpTracesUrl: option<string | null>({
    env: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    fallback: '',
    about: 'Complete URL for traces. Takes precedence over `OTEL_EXPORTER_OTLP_ENDPOINT`.',
    example: 'http://localhost:4318/v1/traces',
    parse: collector,
  }),
  tracedPart: option({
    env: 'OTEL_TRACES_SAMPLER_ARG',
    fallback: '1',
    about:
      'Ratio of requests that are traced, from 0 to 1. If a proxy in `TRUST_PROXY` sends a `traceparent` header, its sampling decision applies. With thousands of polls per second, use 0.01.',
    example: '0.01',
    parse: part(0),
  }),
}
