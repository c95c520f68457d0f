/**
 * Configuration: reads the environment once; no other file does. This table holds every setting, lifetime and limit
 * that an operator may choose, with its unit and its reason; docs/configuration.md is generated from it.
 */
import { readFileSync } from 'node:fs'
import { type Keyset, parseKeyset } from './secrets/keyset.ts'
import { collector, days, nameServers, networks, oneOf, part, seconds, sender, url, whole } from './setting-texts.ts'

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

export const options = {
  databaseUrl: option({
    env: 'DATABASE_URL',
    secret: true,
    about: 'The PostgreSQL database (15 or later). The only truth: everything that is decided or issued is there.',
    example: 'postgres://latchkey:password@localhost:5432/latchkey',
    parse: url('postgres:', 'postgresql:'),
  }),
  redisUrl: option<string | null>({
    env: 'REDIS_URL',
    secret: true,
    fallback: '',
    about:
      'The Valkey or Redis (7 or later) that paces polls for several processes; `redis+cluster://` for a cluster. Disposable: losing it loses nothing. Absent, each process paces on its own.',
    example: 'redis://localhost:6379',
    parse: (text) => (text === '' ? null : url('redis:', 'rediss:', 'redis+cluster:', 'rediss+cluster:')(text)),
  }),
  publicUrl: option({
    env: 'PUBLIC_URL',
    fallback: 'http://localhost:8080',
    about: 'The base address that applications use. An account `acme` lives at `acme.` in front of its host.',
    example: 'https://service.example',
    parse: (text) => {
      const { origin, href } = new URL(url('http:', 'https:')(text))
      if (href !== `${origin}/`) throw new Error('has more than a scheme, a host and a port')
      return origin
    },
  }),
  host: option({
    env: 'HOST',
    fallback: '',
    about: 'The interface to listen on. Absent: all of them.',
    example: 'localhost',
    parse: (text) => text,
  }),
  port: option({
    env: 'PORT',
    fallback: '8080',
    about: 'The port to listen on.',
    example: '8080',
    parse: whole(0, 65_535),
  }),
  keys: option<Keyset>({
    env: 'LATCHKEY_KEYS',
    secret: true,
    about:
      'The keys that sign codes and credentials, as `id:key` separated by commas: the first signs, all verify. Make one with `latchkey key create`. Taking a key out ends everything that it signed.',
    example: '1:(43 characters made by latchkey key create)',
    parse: (text) => {
      const keyset = parseKeyset(text)
      if ('problem' in keyset) throw new Error(`cannot be read: ${keyset.problem}`)
      return keyset
    },
  }),
  deviceCodeLifetimeMs: option({
    env: 'DEVICE_CODE_LIFETIME',
    fallback: '900',
    about:
      'Seconds until a code expires. Long enough to find the page and type nine digits; short enough to guess nothing.',
    example: '900',
    parse: seconds(1, 86_400),
  }),
  pollIntervalSeconds: option({
    env: 'POLL_INTERVAL',
    fallback: '5',
    about: 'Seconds between two polls, as told to applications. A poll more than 10 % earlier is answered `slow_down`.',
    example: '5',
    parse: whole(1, 60),
  }),
  accessTokenLifetimeMs: option({
    env: 'ACCESS_TOKEN_LIFETIME',
    fallback: '3600',
    about: 'Seconds until an access token expires.',
    example: '3600',
    parse: seconds(60, 86_400),
  }),
  refreshTokenLifetimeMs: option({
    env: 'REFRESH_TOKEN_LIFETIME',
    fallback: '5184000',
    about: 'Seconds until an unused refresh token expires; each use starts them anew. 60 days.',
    example: '5184000',
    parse: seconds(3_600, 31_536_000),
  }),
  grantLifetimeMs: option({
    env: 'GRANT_LIFETIME',
    fallback: '31536000',
    about:
      'Seconds after which a token set ends even if it is refreshed all the time, and the user is asked again. A year. Access keys are not concerned.',
    example: '31536000',
    parse: seconds(3_600, 315_360_000),
  }),
  accessKeyOverlapMs: option({
    env: 'ACCESS_KEY_OVERLAP',
    fallback: '86400',
    about: 'Seconds for which an access key goes on working after its application replaced it. A day.',
    example: '86400',
    parse: seconds(0, 2_592_000),
  }),
  dialogCodeLifetimeMs: option({
    env: 'DIALOG_CODE_LIFETIME',
    fallback: '60',
    about: 'Seconds within which an application exchanges the code that the dialog returned.',
    example: '60',
    parse: seconds(10, 600),
  }),
  grantRetentionMs: option({
    env: 'GRANT_RETENTION_DAYS',
    fallback: '365',
    about:
      'Days for which a grant is kept after it was revoked or its token set ran out. A year: long enough to answer who had access when somebody asks late. What the audit log says about it stays.',
    example: '365',
    parse: days(7, 3_650),
  }),
  addressRetentionMs: option({
    env: 'ADDRESS_RETENTION_DAYS',
    fallback: '90',
    about:
      'Days for which a grant keeps the address that it was asked from, also while it lives. Long enough to look into a theft that was noticed late; the operators’ charts show 30 days, so not less than that.',
    example: '90',
    parse: days(30, 3_650),
  }),
  sessionLifetimeMs: option({
    env: 'SESSION_LIFETIME',
    fallback: '604800',
    about: 'Seconds until somebody who signed in to the web interface has to sign in again. 7 days.',
    example: '604800',
    parse: seconds(300, 31_536_000),
  }),
  freshMs: option({
    env: 'SESSION_FRESH',
    fallback: '900',
    about:
      'Seconds for which a sign-in counts as fresh. After them, access keys, dangerous permissions and changes to how somebody signs in ask once more who it is.',
    example: '900',
    parse: seconds(60, 86_400),
  }),
  smtpUrl: option<string | null>({
    env: 'SMTP_URL',
    secret: true,
    fallback: '',
    about:
      'The mail server for invitations, recovery and what users are told. Absent: mails wait in the outbox, and `latchkey user link` prints what they would carry.',
    example: 'smtps://user:password@mail.example:465',
    parse: (text) => (text === '' ? null : url('smtp:', 'smtps:')(text)),
  }),
  mailFrom: option({
    env: 'MAIL_FROM',
    fallback: 'Latchkey <no-reply@localhost>',
    about: 'The sender of mails.',
    example: 'Acme <no-reply@service.example>',
    parse: sender,
  }),
  trustProxy: option<readonly string[]>({
    env: 'TRUST_PROXY',
    fallback: '',
    about:
      'Networks of the proxies in front, separated by commas. Only from them is `X-Forwarded-For` believed, when users are shown where a code was asked from and when guesses are counted.',
    example: '10.0.0.0/8,fd00::/8',
    parse: networks,
  }),
  operatorAccount: option<string | null>({
    env: 'OPERATOR_ACCOUNT',
    fallback: '',
    about:
      'The account whose administrators run this service: at its address, and nowhere else, is the operators’ console (`/operator`). Absent: there is none.',
    example: 'operators',
    parse: (text) => {
      if (!/^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?$/.test(text)) throw new Error('is not the name of an account')
      return text || null
    },
  }),
  operatorNetworks: option<readonly string[]>({
    env: 'OPERATOR_NETWORKS',
    fallback: '',
    about:
      'Networks from which the operators’ console can be opened, separated by commas. Behind a proxy, `TRUST_PROXY` says whose word counts. Absent: from anywhere.',
    example: '192.0.2.0/24,2001:db8::/32',
    parse: networks,
  }),
  geoipCityFile: option<string | null>({
    env: 'GEOIP_CITY_FILE',
    fallback: '',
    about:
      'A MaxMind database of cities or countries (.mmdb), for the place on the consent page. Absent: the address alone is shown.',
    example: '/var/lib/latchkey/GeoLite2-City.mmdb',
    parse: (text) => text || null,
  }),
  geoipAsnFile: option<string | null>({
    env: 'GEOIP_ASN_FILE',
    fallback: '',
    about: 'A MaxMind database of autonomous systems (.mmdb), for the name of the network on the consent page.',
    example: '/var/lib/latchkey/GeoLite2-ASN.mmdb',
    parse: (text) => text || null,
  }),
  outboundPrivate: option({
    env: 'OUTBOUND_PRIVATE',
    fallback: 'false',
    about:
      'Whether webhooks may go to private and loopback addresses, to loopback also over http: `true` or `false`. For development and tests; anywhere else it lets developers reach into your network.',
    example: 'false',
    parse: (text) => oneOf('true', 'false')(text) === 'true',
  }),
  dnsServers: option<readonly string[]>({
    env: 'DNS_SERVERS',
    fallback: '',
    about:
      "Name servers to ask, separated by commas. Absent: the machine's own. They are asked where webhooks go and for the records by which publishers prove their domains, so name some that know the public names only.",
    example: '192.0.2.53,[2001:db8::53]:5353',
    parse: nameServers,
  }),
  databaseConnections: option({
    env: 'DATABASE_CONNECTIONS',
    fallback: '10',
    about: 'Connections to PostgreSQL per process for everything that decides; two more are kept for polls.',
    example: '10',
    parse: whole(1, 200),
  }),
  codeRequestsPerNetwork: option({
    env: 'CODE_REQUESTS_PER_NETWORK',
    fallback: '300',
    about:
      'Code requests per minute from one network (a /24 of IPv4, a /48 of IPv6), right or wrong. Enough for an office or a shop full of devices that start together; raise it where an application asks from its own servers. 0: no limit.',
    example: '300',
    parse: whole(0, 1_000_000),
  }),
  codeRequestsPerApplication: option({
    env: 'CODE_REQUESTS_PER_APPLICATION',
    fallback: '12000',
    about:
      'Codes per minute for one application, evenly: two seconds’ worth fits at once. As many again are kept for networks that have had little, so that whoever stole a secret cannot use up what honest devices need. 0: no limit.',
    example: '12000',
    parse: whole(0, 1_000_000),
  }),
  dialogsPerNetwork: option({
    env: 'DIALOGS_PER_NETWORK',
    fallback: '600',
    about:
      'Dialogs per minute from one network, opened or pushed. Each is a row that is written before anybody signed in. Raise it for applications that push requests for all their users from their own servers. 0: no limit.',
    example: '600',
    parse: whole(0, 1_000_000),
  }),
  overloadDelayMs: option({
    env: 'OVERLOAD_DELAY',
    fallback: '50',
    about:
      'Milliseconds that a request waits, on average, until the process even looks at it. Beyond them, only one new code or dialog of each application waits for a connection and the others are turned away; at four times as much all code requests, at eight times all new dialogs, at sixteen times the developer console, and never anything else. 0: nothing is turned away for it.',
    example: '50',
    parse: whole(0, 60_000),
  }),
  metricsPort: option<number | null>({
    env: 'METRICS_PORT',
    fallback: '',
    about:
      'A second port, for Prometheus alone: figures at `/metrics`, without authentication. Never the port that your proxy reaches. Absent: there is none.',
    example: '9464',
    parse: (text) => (text === '' ? null : whole(0, 65_535)(text)),
  }),
  metricsHost: option({
    env: 'METRICS_HOST',
    fallback: '127.0.0.1',
    about: 'The interface for `METRICS_PORT`. Name another one only where nobody but Prometheus can reach it.',
    example: '10.0.0.7',
    parse: (text) => text,
  }),
  otlpUrl: option<string | null>({
    env: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    fallback: '',
    about:
      'An OpenTelemetry collector that speaks OTLP over HTTP: traces go to `/v1/traces` behind it, metrics to `/v1/metrics`. Its own `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_EXPORTER_OTLP_TIMEOUT`, `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` are heeded. Absent: nothing of it is even loaded.',
    example: 'http://localhost:4318',
    parse: collector,
  }),
  otlpTracesUrl: option<string | null>({
    env: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    fallback: '',
    about:
      'Where traces go, as it stands, instead of `OTEL_EXPORTER_OTLP_ENDPOINT`. Also without that one: then only traces are sent.',
    example: 'http://localhost:4318/v1/traces',
    parse: collector,
  }),
  otlpMetricsUrl: option<string | null>({
    env: 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
    fallback: '',
    about: 'The same for metrics.',
    example: 'http://localhost:4318/v1/metrics',
    parse: collector,
  }),
  tracedPart: option({
    env: 'OTEL_TRACES_SAMPLER_ARG',
    fallback: '1',
    about:
      'The part of requests that is traced, from 0 to 1; where a proxy of `TRUST_PROXY` sends a `traceparent`, the proxy decides. With thousands of polls a second, 0.01 is plenty.',
    example: '0.01',
    parse: part,
  }),
  metricsEveryMs: option({
    env: 'OTEL_METRIC_EXPORT_INTERVAL',
    fallback: '60000',
    about: 'Milliseconds between two sendings of metrics to the collector.',
    example: '15000',
    parse: whole(100, 3_600_000),
  }),
  drainMs: option({
    env: 'DRAIN_SECONDS',
    fallback: '5',
    about:
      'Seconds between SIGTERM and closing its port. `/health/ready` says no from the first moment; requests are served to the end.',
    example: '5',
    parse: seconds(0, 300),
  }),
  logLevel: option({
    env: 'LOG_LEVEL',
    fallback: 'info',
    about:
      'The least important thing worth a line: `debug` (a line for every request), `info`, `warn`, `error` or `silent`.',
    example: 'info',
    parse: oneOf('debug', 'info', 'warn', 'error', 'silent'),
  }),
}

type OptionName = keyof typeof options

export type Config = { readonly [Name in OptionName]: (typeof options)[Name] extends Option<infer T> ? T : never }

/** Lists all problems of the configuration, so that an operator can fix them in one go. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
}

/** Reads only the named options: `latchkey migrate`, for one, does not need LATCHKEY_KEYS. */
export function readConfig<Name extends OptionName>(
  names: readonly Name[],
  environment: NodeJS.ProcessEnv = process.env,
): Pick<Config, Name> {
  const problems: string[] = []
  const entries = names.map((name) => {
    try {
      return [name, readOption(options[name] as Option<unknown>, environment)]
    } catch (error) {
      const { env, example } = options[name]
      problems.push(`${env} ${(error as Error).message}. Example: ${env}=${example}`)
      return [name, undefined]
    }
  })
  if (problems.length > 0) throw new ConfigurationError(problems.join('\n'))
  return Object.freeze(Object.fromEntries(entries))
}

export const everyOption = Object.keys(options) as readonly OptionName[]

/**
 * Reads one setting; also used for the settings of the client commands (cli/client-settings.ts). Throws an Error whose
 * message completes "NAME …".
 */
export function readOption<T>({ env, secret, fallback, parse }: Option<T>, environment = process.env): T {
  const direct = environment[env]
  const file = secret ? environment[`${env}_FILE`] : undefined
  if (direct && file) throw new Error(`is given twice, as ${env} and as ${env}_FILE`)
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
