/**
 * Settings of the server: this table reads them from the environment, once. docs/configuration.md is generated from it.
 * The commands for users have settings of their own (cli/client/client-settings.ts).
 */
import { checkRedisUrl } from './redis-url.ts'
import { type Keyset, parseKeyset } from './secrets/keyset.ts'
import {
  ConfigurationError,
  codeSettings,
  days,
  displayName,
  geoipSettings,
  handOverSettings,
  nameServers,
  networks,
  type Option,
  oneOf,
  option,
  optionalLine,
  optionalPage,
  readSetting,
  restoreSettings,
  seconds,
  sender,
  suspensionSettings,
  telemetrySettings,
  url,
  whole,
} from './setting-texts.ts'

export const options = {
  databaseUrl: option({
    env: 'DATABASE_URL',
    secret: true,
    about: 'URL of the PostgreSQL database (15 or later). It stores all persistent state.',
    example: 'postgres://latchkey:password@localhost:5432/latchkey',
    parse: url('postgres:', 'postgresql:'),
  }),
  redisUrl: option<string | null>({
    env: 'REDIS_URL',
    secret: true,
    fallback: '',
    about:
      'URL of a Redis or Valkey server (7 or later) that paces polls and counts limits for all processes. `redis+cluster://host,host` for a cluster, `redis+sentinel://host,host/mymaster` for Redis Sentinel, `rediss` for TLS: see [Redis with a replica](operations/connections.md#redis-with-a-replica). It stores no persistent data and needs no backup. If unset, each process paces and counts on its own.',
    example: 'redis://localhost:6379',
    parse: (text) => (text === '' ? null : checkRedisUrl(text)),
  }),
  publicUrl: option({
    env: 'PUBLIC_URL',
    fallback: 'http://localhost:8080',
    about: 'Base URL of the service. The account `acme` is served on the subdomain `acme.` of its host.',
    example: 'https://service.example',
    parse: (text) => {
      const { origin, href } = new URL(url('http:', 'https:')(text))
      if (href !== `${origin}/`) throw new Error('must consist of a scheme, a host and an optional port')
      return origin
    },
  }),
  serviceName: option({
    env: 'SERVICE_NAME',
    fallback: 'Latchkey',
    about:
      'Name of your service. It is on pages without an account, such as `/activate`, in window titles and in mails.',
    example: 'Acme Cloud',
    parse: displayName,
  }),
  serviceLogo: option<string | null>({
    env: 'SERVICE_LOGO',
    fallback: '',
    about:
      'Path of the logo of your service, shown at the top of every page: a PNG of at most 1024 by 1024 pixels and 256 KiB. It is read and checked at startup.',
    example: '/etc/latchkey/logo.png',
    parse: (text) => text || null,
  }),
  messagesDir: option<string | null>({
    env: 'MESSAGES_DIR',
    fallback: '',
    about:
      'Folder with texts of your own: `en.json` replaces single texts of a built-in language, `fr.json` with every text adds a language. `latchkey messages print` prints a template. Read and checked at startup: the service does not start with an unknown or missing text, or one with other placeholders than the English one.',
    example: '/etc/latchkey/messages',
    parse: (text) => text || null,
  }),
  helpUrl: option<string | null>({
    env: 'HELP_URL',
    fallback: '',
    about:
      'Page with help, linked at the end of every page and mail. If unset, pages refer to the administrators of the account.',
    example: 'https://help.service.example/devices',
    parse: optionalPage,
  }),
  privacyUrl: option<string | null>({
    env: 'PRIVACY_URL',
    fallback: '',
    about: 'Privacy policy of your service, linked at the end of every page and mail.',
    example: 'https://service.example/privacy',
    parse: optionalPage,
  }),
  termsUrl: option<string | null>({
    env: 'TERMS_URL',
    fallback: '',
    about: 'Terms of your service, linked at the end of every page and mail.',
    example: 'https://service.example/terms',
    parse: optionalPage,
  }),
  securityContact: option<string | null>({
    env: 'SECURITY_CONTACT',
    fallback: '',
    about:
      'Where to report a vulnerability of your installation, as `mailto:` or `https:`. It is published in `/.well-known/security.txt` (RFC 9116). If unset, there is no such file.',
    example: 'mailto:security@service.example',
    parse: optionalLine('mailto:', 'https:'),
  }),
  securityPolicyUrl: option<string | null>({
    env: 'SECURITY_POLICY_URL',
    fallback: '',
    about: 'Your rules for such reports, named in the same file.',
    example: 'https://service.example/security',
    parse: optionalLine('https:'),
  }),
  host: option({
    env: 'HOST',
    fallback: '',
    about: 'Address to listen on. If unset, all interfaces.',
    example: 'localhost',
    parse: (text) => text,
  }),
  port: option({
    env: 'PORT',
    fallback: '8080',
    about: 'Port to listen on.',
    example: '8080',
    parse: whole(0, 65_535),
  }),
  keys: option<Keyset>({
    env: 'LATCHKEY_KEYS',
    secret: true,
    about:
      'Keys that sign codes and credentials, as a comma-separated list of `id:key`. The first key signs, all keys verify. Create a key with `latchkey key create`. Before you remove a key, retire it with `latchkey key retire`.',
    example: '1:(43 characters printed by latchkey key create)',
    parse: (text) => {
      const keyset = parseKeyset(text)
      if ('problem' in keyset) throw new Error(`is invalid: ${keyset.problem}`)
      return keyset
    },
  }),
  ...codeSettings,
  accessTokenLifetimeMs: option({
    env: 'ACCESS_TOKEN_LIFETIME',
    fallback: '3600',
    about: 'Lifetime of an access token in seconds.',
    example: '3600',
    parse: seconds(60, 86_400),
  }),
  refreshTokenLifetimeMs: option({
    env: 'REFRESH_TOKEN_LIFETIME',
    fallback: '5184000',
    about:
      'Lifetime of a refresh token in seconds. Each refresh issues a new refresh token with the full lifetime. Default: 60 days.',
    example: '5184000',
    // Not shorter than any access token: a grant ends with its refresh token.
    parse: seconds(86_400, 31_536_000),
  }),
  grantLifetimeMs: option({
    env: 'GRANT_LIFETIME',
    fallback: '31536000',
    about:
      'Maximum lifetime of a grant with a token set in seconds, regardless of refreshes. After that, the user has to authorize the application again. Does not apply to access keys. Default: one year.',
    example: '31536000',
    parse: seconds(3_600, 315_360_000),
  }),
  accessKeyOverlapMs: option({
    env: 'ACCESS_KEY_OVERLAP',
    fallback: '86400',
    about:
      'Seconds for which the previous access key remains valid after its application has rotated it. Default: one day.',
    example: '86400',
    parse: seconds(0, 2_592_000),
  }),
  dialogCodeLifetimeMs: option({
    env: 'DIALOG_CODE_LIFETIME',
    fallback: '60',
    about: 'Lifetime of an authorization code of the dialog in seconds.',
    example: '60',
    parse: seconds(10, 600),
  }),
  grantRetentionMs: option({
    env: 'GRANT_RETENTION_DAYS',
    fallback: '365',
    about:
      'Days for which a grant is stored after it was revoked or has expired. The default of one year lets you answer later who had access. Entries of the audit log are not affected.',
    example: '365',
    parse: days(7, 3_650),
  }),
  addressRetentionMs: option({
    env: 'ADDRESS_RETENTION_DAYS',
    fallback: '90',
    about:
      'Days for which a grant stores the IP address of the request, also while the grant is active. The address helps to investigate a stolen credential. The charts of the operator console show 30 days, which is the minimum.',
    example: '90',
    parse: days(30, 3_650),
  }),
  sessionLifetimeMs: option({
    env: 'SESSION_LIFETIME',
    fallback: '604800',
    about: 'Lifetime of a session of the web interface in seconds. Default: 7 days.',
    example: '604800',
    parse: seconds(300, 31_536_000),
  }),
  sessionIdleMs: option({
    env: 'SESSION_IDLE',
    fallback: '86400',
    about:
      'Seconds without a request after which a session of the web interface ends. Use is noted every five minutes, so a session may end up to five minutes earlier. Default: one day.',
    example: '86400',
    parse: seconds(600, 31_536_000),
  }),
  operatorSessionIdleMs: option({
    env: 'OPERATOR_SESSION_IDLE',
    fallback: '1800',
    about: 'The same for sessions at the account that `OPERATOR_ACCOUNT` names. Default: 30 minutes.',
    example: '1800',
    parse: seconds(600, 86_400),
  }),
  freshMs: option({
    env: 'SESSION_FRESH',
    fallback: '900',
    about:
      'Seconds for which a sign-in counts as recent. After that, users have to authenticate again to grant access keys or dangerous scopes, or to change their sign-in methods.',
    example: '900',
    parse: seconds(60, 86_400),
  }),
  ...handOverSettings,
  smtpUrl: option<string | null>({
    env: 'SMTP_URL',
    secret: true,
    fallback: '',
    about:
      'URL of the mail server for invitations, recovery links and notifications. If unset, mails stay in the outbox; `latchkey user link` prints one-time links instead.',
    example: 'smtps://user:password@mail.example:465',
    parse: (text) => (text === '' ? null : url('smtp:', 'smtps:')(text)),
  }),
  mailFrom: option({
    env: 'MAIL_FROM',
    fallback: 'Latchkey <no-reply@localhost>',
    about: 'Sender address of mails.',
    example: 'Acme <no-reply@service.example>',
    parse: sender,
  }),
  trustProxy: option<readonly string[]>({
    env: 'TRUST_PROXY',
    fallback: '',
    about:
      'Networks of trusted reverse proxies, separated by commas. `X-Forwarded-For` is evaluated only for requests from these networks. The client address is shown on the consent page and used for rate limits.',
    example: '10.0.0.0/8,fd00::/8',
    parse: networks,
  }),
  operatorAccount: option<string | null>({
    env: 'OPERATOR_ACCOUNT',
    fallback: '',
    about:
      'Account whose administrators are the operators of the service. The operator console (`/operator`) is served only on the subdomain of this account. If unset, there is no operator console.',
    example: 'operators',
    parse: (text) => {
      if (!/^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?$/.test(text)) throw new Error('is not a valid account name')
      return text || null
    },
  }),
  operatorNetworks: option<readonly string[]>({
    env: 'OPERATOR_NETWORKS',
    fallback: '',
    about:
      'Networks that may access the operator console, separated by commas. Behind a proxy, also set `TRUST_PROXY`, so that the client address is known. If unset, access is not restricted by network.',
    example: '192.0.2.0/24,2001:db8::/32',
    parse: networks,
  }),
  ...suspensionSettings,
  ...geoipSettings,
  outboundPrivate: option({
    env: 'OUTBOUND_PRIVATE',
    fallback: 'false',
    about:
      'Whether webhooks and identity providers may have private and loopback addresses, and loopback addresses also over http: `true` or `false`. For development and tests only: in production it gives developers access to your internal network.',
    example: 'false',
    parse: (text) => oneOf('true', 'false')(text) === 'true',
  }),
  dnsServers: option<readonly string[]>({
    env: 'DNS_SERVERS',
    fallback: '',
    about:
      'DNS servers, separated by commas, for the hosts of webhooks and identity providers, and for the TXT records of publishers. If unset, the DNS servers of the system. Use servers that resolve public names only, so that internal names are not disclosed.',
    example: '192.0.2.53,[2001:db8::53]:5353',
    parse: nameServers,
  }),
  databaseConnections: option({
    env: 'DATABASE_CONNECTIONS',
    fallback: '10',
    about: 'Maximum number of connections to PostgreSQL per process. Two more are reserved for polls.',
    example: '10',
    parse: whole(1, 200),
  }),
  signInAddressesPerNetwork: option({
    env: 'SIGN_IN_ADDRESSES_PER_NETWORK',
    fallback: '20',
    about:
      'E-mail addresses that may fail to sign in from one network (a /24 of IPv4, a /48 of IPv6) in one account within 15 minutes. After that, browsers in this network that never signed in are confirmed by mail in this account; at five times as many in all accounts together, in every account; at 25 times as many, they wait. Known browsers and passkeys are not affected. Raise it where very many people share one address.',
    example: '20',
    parse: whole(1, 1_000_000),
  }),
  signInFailures: option({
    env: 'SIGN_IN_FAILURES',
    fallback: '1000',
    about:
      'E-mail addresses that may fail to sign in within 15 minutes in all accounts together, counted once per network, from browsers that never signed in. After that, such a browser is confirmed by mail. Keep it above the number of failures in the busiest 15 minutes of an ordinary day.',
    example: '1000',
    parse: whole(1, 10_000_000),
  }),
  codeRequestsPerNetwork: option({
    env: 'CODE_REQUESTS_PER_NETWORK',
    fallback: '300',
    about:
      'Maximum number of code requests per minute from one network (IPv4 /24 or IPv6 /48), including failed ones. The default is enough for an office or a shop whose devices start at the same time. Raise it if an application requests codes from its own servers. 0: no limit.',
    example: '300',
    parse: whole(0, 1_000_000),
  }),
  codeRequestsPerApplication: option({
    env: 'CODE_REQUESTS_PER_APPLICATION',
    fallback: '12000',
    about:
      'Maximum number of codes per minute for one application, with a burst of two seconds’ worth. The same number again is reserved for networks with few requests, so that an attacker with a stolen secret cannot exhaust the limit for other devices. 0: no limit.',
    example: '12000',
    parse: whole(0, 1_000_000),
  }),
  dialogsPerNetwork: option({
    env: 'DIALOGS_PER_NETWORK',
    fallback: '600',
    about:
      'Maximum number of dialogs per minute from one network, opened or pushed. Each dialog writes a row before the user has signed in. Raise it if an application pushes authorization requests for all its users from its own servers. 0: no limit.',
    example: '600',
    parse: whole(0, 1_000_000),
  }),
  overloadDelayMs: option({
    env: 'OVERLOAD_DELAY',
    fallback: '50',
    about:
      'Mean event loop delay in milliseconds above which the process sheds load. Above this value, each application may have only one code or dialog request waiting for a connection; further ones are rejected with 503. Above 4 times the value all code requests are rejected, above 8 times all new dialogs, above 16 times the pages of the developer console. Other requests are never rejected. 0: no load shedding by delay.',
    example: '50',
    parse: whole(0, 60_000),
  }),
  ...restoreSettings,
  ...telemetrySettings,
  drainMs: option({
    env: 'DRAIN_SECONDS',
    fallback: '5',
    about:
      'Seconds between SIGTERM and closing the port. During this time requests are served and `/health/ready` returns 503.',
    example: '5',
    parse: seconds(0, 300),
  }),
  logLevel: option({
    env: 'LOG_LEVEL',
    fallback: 'info',
    about: 'Minimum level of log lines: `debug` (one line per request), `info`, `warn`, `error` or `silent`.',
    example: 'info',
    parse: oneOf('debug', 'info', 'warn', 'error', 'silent'),
  }),
}

type OptionName = keyof typeof options

export type Config = { readonly [Name in OptionName]: (typeof options)[Name] extends Option<infer T> ? T : never }

/** Reads only the named options: `latchkey migrate`, for one, does not need LATCHKEY_KEYS. */
export function readConfig<Name extends OptionName>(
  names: readonly Name[],
  environment: NodeJS.ProcessEnv = process.env,
): Pick<Config, Name> {
  const problems: string[] = []
  const entries = names.map((name) => {
    try {
      return [name, readSetting(options[name] as Option<unknown>, environment)]
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

/** The `pg` library reads PGPASSWORD itself if DATABASE_URL has no password. */
export const hasPostgresPassword = (): boolean => Boolean(process.env.PGPASSWORD)
