/** REDIS_URL: one server, a cluster, or a group behind Redis Sentinel; what is wrong with any other text. */
import { expect, it } from 'vitest'
import { parseRedisUrl, type RedisAddress } from '../src/redis-url.ts'

const PLAIN: RedisAddress = {
  kind: 'single',
  tls: false,
  hosts: [{ host: 'localhost', port: 6379 }],
  username: null,
  password: null,
  database: 0,
  sentinel: null,
}

const THREE = [
  { host: 'h1', port: 26379 },
  { host: 'h2', port: 26380 },
  { host: '2001:db8::3', port: 26379 },
]

it.each<[string, Partial<RedisAddress>]>([
  ['redis://localhost', {}],
  ['redis://localhost/', {}],
  ['redis://localhost:6380/3', { hosts: [{ host: 'localhost', port: 6380 }], database: 3 }],
  ['rediss://[::1]', { tls: true, hosts: [{ host: '::1', port: 6379 }] }],
  ['redis://:secret@localhost', { password: 'secret' }],
  ['redis://latchkey:p%40ss%3A%2F@localhost', { username: 'latchkey', password: 'p@ss:/' }],
  ['redis://latchkey:p@ss:word@localhost', { username: 'latchkey', password: 'p@ss:word' }],
  ['redis+cluster://localhost', { kind: 'cluster' }],
  [
    'redis+cluster://h1:7000,h2/0',
    {
      kind: 'cluster',
      hosts: [
        { host: 'h1', port: 7000 },
        { host: 'h2', port: 6379 },
      ],
    },
  ],
  [
    'redis+sentinel://h1,h2:26380,[2001:db8::3]/mymaster',
    { kind: 'sentinel', hosts: THREE, sentinel: { group: 'mymaster', username: null, password: null } },
  ],
  [
    'rediss+sentinel://latchkey:a@h1,h2:26380,[2001:db8::3]:26379/my%20master/2?sentinel_username=b&sentinel_password=c%26',
    {
      kind: 'sentinel',
      tls: true,
      hosts: THREE,
      username: 'latchkey',
      password: 'a',
      database: 2,
      sentinel: { group: 'my master', username: 'b', password: 'c&' },
    },
  ],
  [
    'redis+sentinel://:a+b%20c@h1/mymaster?sentinel_password=a+b%20c%2B',
    {
      kind: 'sentinel',
      hosts: [{ host: 'h1', port: 26379 }],
      password: 'a+b c',
      sentinel: { group: 'mymaster', username: null, password: 'a+b c+' },
    },
  ],
])('%s', (text, expected) => {
  expect(parseRedisUrl(text)).toEqual({ ...PLAIN, ...expected })
})

it.each([
  ['http://localhost', 'does not start with redis:// or rediss://'],
  ['redis:localhost', 'does not start with redis://'],
  ['redis+sentinels://h1/mymaster', 'does not start with redis://'],
  ['redis://', 'has "", which is not a host with an optional port'],
  ['redis://h1:0', 'has "h1:0", which is not a host with an optional port'],
  ['redis://h1:65536', 'has "h1:65536"'],
  ['redis://2001:db8::3', 'has "2001:db8::3"'],
  ['redis://h1,h2', 'names several servers: start it with redis+cluster:// or redis+sentinel://'],
  ['redis://h1/one', 'has "/one", which is no database'],
  ['redis://h1/1/2', 'has "/1/2", which is no database'],
  ['redis://h1?db=2', 'has the unknown parameter "db"'],
  ['redis://h1#2', 'is not a URL'],
  ['redis+cluster://h1/1', 'names a database, but a cluster has only one'],
  ['redis+sentinel://h1,,h2/mymaster', 'has "", which is not a host'],
  ['redis+sentinel://h1,h2', 'does not name the group that the sentinels watch'],
  ['redis+sentinel://h1,h2/', 'does not name the group that the sentinels watch'],
  ['redis+sentinel://h1/mymaster/zero', 'has "/zero", which is no database'],
  ['redis+sentinel://h1/mymaster?password=x', 'has the unknown parameter "password"'],
  ['redis://latchkey:a/b@h1', 'has a / before the @; write %2F for a / in the password'],
  ['redis://:50%@h1', 'has a % that is not followed by two hexadecimal digits'],
])('%s: %s', (text, problem) => {
  expect(() => parseRedisUrl(text)).toThrow(problem)
})

it.each([
  'redis://latchkey:hush@h1:0',
  'redis://latchkey:hu/sh@h1',
  'redis+sentinel://latchkey:hush@h1?sentinel_password=hush',
  'redis+sentinel://latchkey:hush@h1/mymaster?sentinel_pasword=hush',
])('%s: the refusal does not repeat the password', (text) => {
  expect(() => parseRedisUrl(text)).toThrow(expect.objectContaining({ message: expect.not.stringMatching(/hu/) }))
})
