/** The environment: parsing, error messages, and no secrets in them. docs/configuration.md. */
import { Resolver } from 'node:dns'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { removeFolder } from '../../tools/remove-folder.ts'
import { everyOption, options, readConfig } from '../src/config.ts'
import { createKey } from '../src/secrets/keyset.ts'
import { ConfigurationError } from '../src/setting-texts.ts'

const GIVEN = { DATABASE_URL: 'postgres://localhost/latchkey', LATCHKEY_KEYS: createKey(1) }

/** The error messages, line by line, of reading everything. */
function problemsOf(environment: Record<string, string>): string[] {
  try {
    readConfig(everyOption, environment)
    return []
  } catch (error) {
    if (error instanceof ConfigurationError) return error.message.split('\n')
    throw error
  }
}

const folder = mkdtempSync(join(tmpdir(), 'latchkey-config-'))
afterAll(() => removeFolder(folder))

function fileWith(content: string): string {
  const path = join(mkdtempSync(join(folder, 'file-')), 'value')
  writeFileSync(path, content)
  return path
}

describe('reading', () => {
  test('with a database and a key everything else has a default', () => {
    expect(readConfig(everyOption, GIVEN)).toMatchObject({
      databaseUrl: GIVEN.DATABASE_URL,
      redisUrl: null,
      publicUrl: 'http://localhost:8080',
      port: 8080,
      deviceCodeLifetimeMs: 600_000,
      pollIntervalSeconds: 5,
      accessTokenLifetimeMs: 3_600_000,
      refreshTokenLifetimeMs: 60 * 24 * 3_600_000,
      logLevel: 'info',
    })
  })

  test('metrics and traces are off unless a port or a collector is configured', () => {
    const names = ['metricsPort', 'metricsHost', 'otlpUrl', 'otlpTracesUrl', 'tracedPart'] as const
    expect(readConfig(names, {})).toEqual({
      metricsPort: null,
      metricsHost: '127.0.0.1',
      otlpUrl: null,
      otlpTracesUrl: null,
      tracedPart: 1,
    })
    for (const part of ['0', '1', '0.01', '.5', '1.0']) {
      expect(readConfig(['tracedPart'], { OTEL_TRACES_SAMPLER_ARG: part }).tracedPart).toBe(Number(part))
    }
    for (const [name, wrong] of [
      ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
      ['METRICS_PORT', '70000'],
    ] as const) {
      expect(problemsOf({ ...GIVEN, [name]: wrong })).toEqual([expect.stringMatching(`^${name} `)])
    }
  })

  test('the operators’ console is off unless an account is configured, and open to all networks unless restricted', () => {
    const read = (given: Record<string, string>) => readConfig(['operatorAccount', 'operatorNetworks'], given)
    expect(read({})).toEqual({ operatorAccount: null, operatorNetworks: [] })
    const given = { OPERATOR_ACCOUNT: 'operators', OPERATOR_NETWORKS: '192.0.2.0/24, 2001:db8::/32' }
    expect(read(given)).toEqual({
      operatorAccount: 'operators',
      operatorNetworks: ['192.0.2.0/24', '2001:db8::/32'],
    })
    for (const [name, wrong] of [
      ['OPERATOR_ACCOUNT', 'Operators'],
      ['OPERATOR_ACCOUNT', 'operators.service.example'],
      ['OPERATOR_NETWORKS', '192.0.2.0/33'],
    ] as const) {
      expect(problemsOf({ ...GIVEN, [name]: wrong })).toEqual([expect.stringMatching(new RegExp(`^${name} `))])
    }
  })

  test('name servers are addresses, with a port or without, as the resolver accepts them', () => {
    const given = '192.0.2.53, 192.0.2.54:5353,2001:db8::53 [2001:db8::54]:5353'
    const { dnsServers } = readConfig(['dnsServers'], { DNS_SERVERS: given })
    expect(dnsServers).toEqual(['192.0.2.53', '192.0.2.54:5353', '2001:db8::53', '[2001:db8::54]:5353'])
    expect(() => new Resolver().setServers(dnsServers)).not.toThrow()
    expect(readConfig(['dnsServers'], {})).toEqual({ dnsServers: [] })
  })

  test('an empty value counts as missing', () => {
    expect(readConfig(['port', 'redisUrl'], { PORT: '', REDIS_URL: '' })).toEqual({ port: 8080, redisUrl: null })
    expect(problemsOf({ ...GIVEN, DATABASE_URL: '' })).toHaveLength(1)
  })

  test('only the settings of a command are required and checked', () => {
    expect(readConfig(['databaseUrl'], { DATABASE_URL: GIVEN.DATABASE_URL, LATCHKEY_KEYS: 'broken' })).toEqual({
      databaseUrl: GIVEN.DATABASE_URL,
    })
  })

  test('the result is frozen', () => {
    expect(Object.isFrozen(readConfig(everyOption, GIVEN))).toBe(true)
  })

  test('every example in the table is valid, but for the key; and every name is unique', () => {
    const examples = Object.fromEntries(Object.values(options).map(({ env, example }) => [env, example]))
    // A published key is not secret, so it must not work.
    expect(problemsOf(examples)).toEqual([expect.stringMatching(/^LATCHKEY_KEYS is invalid/)])
    expect(problemsOf({ ...examples, LATCHKEY_KEYS: GIVEN.LATCHKEY_KEYS })).toEqual([])
    expect(Object.keys(examples)).toHaveLength(everyOption.length)
  })
})

describe('problems', () => {
  test('are all reported together, one line each, with the name, the reason and an example', () => {
    expect(problemsOf({ DATABASE_URL: 'mysql://localhost', PORT: 'http', LOG_LEVEL: 'loud' })).toEqual([
      `DATABASE_URL does not start with postgres: or postgresql:. Example: DATABASE_URL=${options.databaseUrl.example}`,
      'PORT is not a whole number from 0 to 65535. Example: PORT=8080',
      `LATCHKEY_KEYS is missing. Example: LATCHKEY_KEYS=${options.keys.example}`,
      'LOG_LEVEL is not one of debug, info, warn, error, silent. Example: LOG_LEVEL=info',
    ])
  })

  test.each([
    ['DATABASE_URL', 'localhost', 'is not a URL'],
    ['REDIS_URL', 'http://localhost', 'does not start with redis:// or rediss:// or redis+cluster://'],
    ['PUBLIC_URL', 'ftp://service.example', 'does not start with http: or https:'],
    ['LATCHKEY_KEYS', 'secret', 'is invalid: each key is written as id:key'],
    ['LATCHKEY_KEYS', ' , ', 'is invalid: no key is given'],
    ['PUBLIC_URL', 'https://service.example/base', 'must consist of a scheme, a host and an optional port'],
    ['POLL_INTERVAL', '61', 'is not a whole number from 1 to 60'],
    ['SIGN_IN_URL', 'https://service.example/sign-in#form', 'has a fragment (#)'],
    ['SMTP_URL', 'https://mail.example', 'does not start with smtp: or smtps:'],
    ['SECURITY_CONTACT', 'security@service.example', 'is not a URL'],
    ['SECURITY_CONTACT', 'http://service.example/security', 'does not start with mailto: or https:'],
    ['SECURITY_POLICY_URL', 'http://service.example/security', 'does not start with https:'],
    ['MAIL_FROM', 'Latchkey', 'is not an e-mail address'],
    ['MAIL_FROM', 'a@b.example\r\nBcc: c@d.example', 'is not an e-mail address'],
    ['TRUST_PROXY', '10.0.0.0/33', 'has "10.0.0.0/33", which is not a network'],
    ['OUTBOUND_PRIVATE', 'yes', 'is not one of true, false'],
    ['TRUST_PROXY', 'proxy.example', 'has "proxy.example", which is not a network'],
    ['DNS_SERVERS', 'dns.example', 'has "dns.example", which is not an IP address'],
    ['DNS_SERVERS', '192.0.2.53,192.0.2.54:0', 'has "192.0.2.54:0", which is not an IP address'],
    ['DNS_SERVERS', '192.0.2.53:65536', 'has "192.0.2.53:65536", which is not an IP address'],
    ['DNS_SERVERS', '[192.0.2.53]:53', 'has "[192.0.2.53]:53", which is not an IP address'],
    ['DNS_SERVERS', 'https://192.0.2.53', 'has "https://192.0.2.53", which is not an IP address'],
  ])('%s=%s: %s', (name, value, reason) => {
    const [problem, ...others] = problemsOf({ ...GIVEN, [name]: value })
    expect(problem?.startsWith(`${name} ${reason}`), problem).toBe(true)
    expect(others).toEqual([])
  })
})

describe('AP-24 numbers', () => {
  const names = [
    'PORT',
    'DEVICE_CODE_LIFETIME',
    'POLL_INTERVAL',
    'ACCESS_TOKEN_LIFETIME',
    'REFRESH_TOKEN_LIFETIME',
    'SESSION_LIFETIME',
    'SESSION_FRESH',
    'DATABASE_CONNECTIONS',
    'CODE_REQUESTS_PER_NETWORK',
    'CODE_REQUESTS_PER_APPLICATION',
    'DIALOGS_PER_NETWORK',
    'OVERLOAD_DELAY',
    'DRAIN_SECONDS',
  ]
  const senseless = [
    '-1',
    '2147483648',
    '4294967296',
    '99999999999',
    '1e3',
    '0x10',
    '1.5',
    '5s',
    '+5',
    ' 5',
    '٥',
    'NaN',
  ]

  test.each(names)('%s refuses what is negative, enormous or not a whole decimal number', (name) => {
    for (const value of [...senseless, 'Infinity', '']) {
      const problems = problemsOf({ ...GIVEN, [name]: value })
      expect(problems, `${name}=${value}`).toHaveLength(value === '' ? 0 : 1)
    }
  })

  test.each([
    ['PORT', 0, 65_535, 'port', 1],
    ['DEVICE_CODE_LIFETIME', 1, 86_400, 'deviceCodeLifetimeMs', 1_000],
    ['POLL_INTERVAL', 1, 60, 'pollIntervalSeconds', 1],
    ['ACCESS_TOKEN_LIFETIME', 60, 86_400, 'accessTokenLifetimeMs', 1_000],
    ['REFRESH_TOKEN_LIFETIME', 86_400, 31_536_000, 'refreshTokenLifetimeMs', 1_000],
    ['SESSION_LIFETIME', 300, 31_536_000, 'sessionLifetimeMs', 1_000],
    ['SESSION_IDLE', 600, 31_536_000, 'sessionIdleMs', 1_000],
    ['OPERATOR_SESSION_IDLE', 600, 86_400, 'operatorSessionIdleMs', 1_000],
    ['SESSION_FRESH', 60, 86_400, 'freshMs', 1_000],
    ['DATABASE_CONNECTIONS', 1, 200, 'databaseConnections', 1],
    ['CODE_REQUESTS_PER_NETWORK', 0, 1_000_000, 'codeRequestsPerNetwork', 1],
    ['CODE_REQUESTS_PER_APPLICATION', 0, 1_000_000, 'codeRequestsPerApplication', 1],
    ['DIALOGS_PER_NETWORK', 0, 1_000_000, 'dialogsPerNetwork', 1],
    ['OVERLOAD_DELAY', 0, 60_000, 'overloadDelayMs', 1],
    ['DRAIN_SECONDS', 0, 300, 'drainMs', 1_000],
    ['SUSPENSION_EARLY_POLLS', 5, 10_000, 'suspensionEarlyPolls', 1],
    ['SUSPENSION_ACCOUNT_AGE_DAYS', 1, 365, 'suspensionAccountAgeDays', 1],
    ['SUSPENSION_WINDOW_MINUTES', 5, 60, 'suspensionWindowMinutes', 1],
    ['SUSPENSION_WINDOWS', 2, 12, 'suspensionWindows', 1],
    ['SUSPENSION_ACCOUNTS', 5, 100_000, 'suspensionAccounts', 1],
    ['SUSPENSION_NETWORKS', 2, 100_000, 'suspensionNetworks', 1],
    ['SUSPENSION_WARNING_HOURS', 1, 168, 'suspensionWarningHours', 1],
    ['SUSPENSION_REINSTATE_HOURS', 0, 8_760, 'suspensionReinstateHours', 1],
    ['SUSPENSION_REPORTS', 1, 1_000, 'suspensionReports', 1],
    ['SUSPENSION_SECOND_OPERATOR_GRANTS', 1, 1_000_000, 'suspensionSecondOperatorGrants', 1],
  ] as const)('%s goes from %d to %d and no further', (env, least, max, name, unit) => {
    for (const edge of [least, max]) {
      expect(readConfig([name], { [env]: String(edge) })).toEqual({ [name]: edge * unit })
    }
    for (const beyond of [least - 1, max + 1]) {
      expect(problemsOf({ ...GIVEN, [env]: String(beyond) }), `${env}=${beyond}`).toHaveLength(1)
    }
  })
})

test.each([
  ['SUSPENSION_SHARE', '0.01', ['0', '0.009', '1.1', '5%']],
  ['OTEL_TRACES_SAMPLER_ARG', '0', ['-0.5', '1.1', 'half']],
])('%s goes from %s to 1', (env, least, beyond) => {
  for (const edge of [least, '1']) expect(problemsOf({ ...GIVEN, [env]: edge })).toEqual([])
  for (const value of beyond) {
    const text = `${env} is not a number from ${least} to 1. Example: `
    expect(problemsOf({ ...GIVEN, [env]: value })).toEqual([expect.stringMatching(`^${text}`)])
  }
})

describe('secrets in files', () => {
  const secrets = Object.values(options).filter((option) => option.secret)

  test('are the addresses with a password and the keys', () => {
    expect(secrets.map(({ env }) => env)).toEqual(['DATABASE_URL', 'REDIS_URL', 'LATCHKEY_KEYS', 'SMTP_URL'])
  })

  test.each(secrets)(
    '$env may be given as a file, and the line break at its end does not count',
    ({ env, example: shown }) => {
      const example = (GIVEN as Record<string, string>)[env] ?? shown
      const direct = readConfig(everyOption, { ...GIVEN, [env]: example })
      const { [env]: _left, ...rest } = { ...GIVEN } as Record<string, string>
      expect(readConfig(everyOption, { ...rest, [`${env}_FILE`]: fileWith(`${example}\n`) })).toEqual(direct)
    },
  )

  test('given as value and as file are a problem', () => {
    const [problem] = problemsOf({ ...GIVEN, DATABASE_URL_FILE: fileWith(GIVEN.DATABASE_URL) })
    expect(problem).toMatch(/^DATABASE_URL is set twice, as DATABASE_URL and as DATABASE_URL_FILE\. Example: /)
  })

  test('a file that cannot be read is a problem like any other', () => {
    const [problem] = problemsOf({ DATABASE_URL: GIVEN.DATABASE_URL, LATCHKEY_KEYS_FILE: join(folder, 'absent') })
    expect(problem).toMatch(/^LATCHKEY_KEYS cannot be read from LATCHKEY_KEYS_FILE: ENOENT\. Example: /)
  })

  test('an empty file is a problem, also for an optional setting', () => {
    const [problem] = problemsOf({ ...GIVEN, REDIS_URL_FILE: fileWith('\n') })
    expect(problem).toMatch(/^REDIS_URL is empty in REDIS_URL_FILE\./)
  })

  test('other settings have no file', () => {
    expect(readConfig(['port'], { PORT_FILE: fileWith('9090') })).toEqual({ port: 8080 })
  })
})

describe('AP-01 no problem shows the value of a secret', () => {
  const CANARY = 'cAnArY7cAnArY7cAnArY7cAnArY7cAnArY7cAnArY77'
  test.each([
    ['an address of the wrong kind', { DATABASE_URL: `mysql://user:${CANARY}@localhost/x` }],
    ['something that is no address', { DATABASE_URL: `user:${CANARY}@` }],
    ['a Redis of the wrong kind', { REDIS_URL: `http://:${CANARY}@localhost` }],
    ['a key without a number', { LATCHKEY_KEYS: CANARY }],
    ['a key that is too long', { LATCHKEY_KEYS: `1:${CANARY}x` }],
    ['a number given twice', { LATCHKEY_KEYS: `1:${CANARY},1:${CANARY}` }],
    ['a number out of range', { LATCHKEY_KEYS: `300:${CANARY}` }],
    ['a secret given twice', { LATCHKEY_KEYS: `1:${CANARY}`, LATCHKEY_KEYS_FILE: fileWith(`1:${CANARY}`) }],
    ['a secret where its file should be', { LATCHKEY_KEYS: '', LATCHKEY_KEYS_FILE: `1:${CANARY}` }],
    ['a file with the wrong content', { LATCHKEY_KEYS: '', LATCHKEY_KEYS_FILE: fileWith(CANARY) }],
  ])('%s', (_name, environment) => {
    const problems = problemsOf({ ...GIVEN, ...environment })
    expect(problems).toHaveLength(1)
    expect(problems[0]?.toLowerCase()).not.toContain(CANARY.slice(0, 7).toLowerCase())
  })
})
