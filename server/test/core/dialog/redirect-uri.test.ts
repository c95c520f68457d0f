/** Redirect URIs: which may be registered, and how an answer is appended. RFC 6749, RFC 9700. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  isLoopbackRedirect,
  isRegisteredRedirect,
  MAX_REDIRECTS,
  redirectHost,
  redirectOrigin,
  redirectProblem,
  withResponseParameters,
} from '../../../src/core/dialog/redirect-uri.ts'
import { otherPorts, redirectCorpus, registered } from '../../attacks/dialog/redirect-corpus.ts'

/** Redirect URIs of valid parts. */
const label = fc.stringMatching(/^[a-z](?:[a-z0-9-]{0,8}[a-z0-9])?$/).filter((text) => !text.startsWith('xn--'))
const origins = fc.oneof(
  fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => `https://${labels.join('.')}`),
  fc.constantFrom('http://127.0.0.1', 'http://[::1]', 'http://localhost', 'https://192.0.2.7', 'https://[2001:db8::7]'),
)
const ports = fc.option(fc.integer({ min: 1024, max: 65_535 })).map((port) => (port === null ? '' : `:${port}`))
const paths = fc
  .array(fc.stringMatching(/^(?:[a-zA-Z0-9~_@:!$&()+,;=-]|%[0-9A-F]{2}){1,9}$/), { maxLength: 4 })
  .map((parts) => `/${parts.join('/')}`)
  .filter((path) => new URL(path, 'https://a.example').pathname === path)
const queries = fc
  .option(fc.array(fc.stringMatching(/^q[a-z]{0,3}=(?:[a-zA-Z0-9/?._~+-]|%[0-9A-F]{2}){0,9}$/)))
  .map((pairs) => (pairs === null ? '' : `?${pairs.join('&')}`))
const addresses = fc.tuple(origins, ports, paths, queries).map((parts) => parts.join(''))

const answers = fc.dictionary(fc.constantFrom('code', 'state', 'iss', 'error'), fc.string({ unit: 'binary' }))

describe('a redirect URI that may be registered', () => {
  test.each([
    ...registered,
    'https://app.example/',
    'https://app.example/?',
    'https://app.example:8443/callback',
    'https://xn--bcher-kva.example/callback',
    'https://intranet/callback',
    'https://192.0.2.7/callback',
    'https://[2001:db8::7]/callback',
    'https://localhost/callback',
    'http://localhost/callback',
    'http://localhost:3000/callback',
    'http://[::1]/',
    'http://[::1]:4000/back',
    "https://app.example/a/b.c~d_e-f/@x;y=1/%20%C3%A9/!$&'()+,=:",
    'https://app.example/callback?to=https://other.example/%2F&a%5B%5D=1',
    'https://app.example/callback?codes=1&my_state=2&x=code',
  ])('%s', (uri) => {
    expect(redirectProblem(uri)).toBeNull()
  })

  test('is any of valid parts', () => {
    fc.assert(
      fc.property(addresses, (uri) => {
        expect(redirectProblem(uri)).toBeNull()
      }),
    )
  })

  test('has at most 2000 characters', () => {
    const long = (length: number) => 'https://app.example/'.padEnd(length, 'x')
    expect(redirectProblem(long(2000))).toBeNull()
    expect(redirectProblem(long(2001))).toBe('too_long')
    expect(redirectProblem('x'.repeat(1_000_000))).toBe('too_long')
  })

  test('has a host of at most 253 characters', () => {
    expect(redirectProblem(`https://${'a.'.repeat(126)}a/`)).toBeNull()
    expect(redirectProblem(`https://${'a.'.repeat(126)}ab/`)).toBe('host')
  })

  test('is one of at most ten', () => {
    expect(MAX_REDIRECTS).toBe(10)
  })
})

describe('a redirect URI that may not be registered', () => {
  test.each([
    [
      'not_an_address',
      ['', ' ', 'callback', '/callback', '//app.example/', '.*', 'https://', 'https://app.example:x/'],
    ],
    ['not_an_address', ['https://app.example:65536/', 'https://app exam.ple/', 'https://[::1%25lo]/', 'http://[::1/']],
    ['scheme', ['http://app.example/', 'http://127.0.0.2/', 'http://127.0.0.1.evil.example/', 'http://localhost./']],
    ['scheme', ['http://[::2]/', 'http://app.localhost/', 'http://0.0.0.0/', 'javascript:alert(1)', 'app:/callback']],
    ['scheme', ['ws://localhost/', 'ftp://localhost/', 'blob:https://app.example/x', 'localhost:4000/back']],
    ['userinfo', ['https://me@app.example/', 'https://me:pw@app.example/', 'https://:pw@app.example/']],
    ['userinfo', ['http://localhost:80@127.0.0.1/', 'https://app.example:443@evil.example/']],
    ['fragment', ['https://app.example/#', 'https://app.example/#x', 'https://app.example/?x#y']],
    ['wildcard', ['https://app.example/*', 'https://*.app.example/', 'https://app.example/?x=*', 'https://*/']],
    ['host', ['https://app.example./', 'https://app..example/', 'https://.app.example/', 'https://-app.example/']],
    [
      'host',
      ["https://a'b/", 'https://a;b/', 'https://a,b/', 'https://a"b/', 'https://a_b/', 'https://(a)/', 'https://a-/'],
    ],
    ['host', [`https://${'a'.repeat(64)}.example/`, `https://${'a.'.repeat(126)}ab/`]],
    [
      'not_canonical',
      ['https://app.example', 'HTTPS://app.example/', 'https://App.example/', 'https://app.example:443/'],
    ],
    [
      'not_canonical',
      ['http://localhost:80/', 'https:app.example/', 'https:///app.example/', 'https:\\\\app.example\\'],
    ],
    ['not_canonical', ['https://app.example/a/../b', 'https://app.example/./b', 'https://app.example/%2e%2E/b']],
    ['not_canonical', ['http://127.1/', 'http://0x7f.0.0.1/', 'http://2130706433/', 'http://[0:0:0:0:0:0:0:1]/']],
    [
      'not_canonical',
      [' https://app.example/', 'https://app.example/\n', 'https://app.ex\tample/', 'https://app.example/ x'],
    ],
    [
      'not_canonical',
      ['https://bücher.example/', 'https://ａpp.example/', 'https://app。example/', 'https://app.example/é'],
    ],
    ['not_canonical', ['https://@app.example/', 'https://app.example:/', 'https://app.example:08443/', 'https://%61/']],
    ['not_canonical', ["https://app.example/?'", 'https://app.example/{x}', 'https://app.example/\ud800']],
    ['characters', ['https://app.example/a|b', 'https://app.example/[a-z]', 'https://app.example/?a[]=1']],
    [
      'characters',
      ['https://app.example/%', 'https://app.example/%zz', 'https://app.example/?%2', 'https://app.example/?a^'],
    ],
    ['query', ['https://app.example/?code=x', 'https://app.example/?a=1&state', 'https://app.example/?%69ss=x']],
    [
      'query',
      ['https://app.example/?error=', 'https://app.example/?error_description', 'https://app.example/?error_uri=x'],
    ],
  ] as const)('%s: %j', (problem, addresses) => {
    expect(addresses.map(redirectProblem)).toEqual(addresses.map(() => problem))
  })

  test('DG-01 an accepted one is ASCII, is its own serialisation and has the same host for every parser', () => {
    const unit = fc.constantFrom(...'https://app.exmplLoO:@#?&=%2e2f\\*[]127;\t\n \u0000.｡é', 'localhost', '127.0.0.1')
    const noise = fc.string({ unit, maxLength: 12 })
    const near = fc.tuple(fc.constantFrom('https://', 'http://', 'https:', ''), noise, fc.constantFrom('', '/'), noise)
    const corpus = fc.constantFrom(...redirectCorpus.map(({ uri }) => uri))
    fc.assert(
      fc.property(
        fc.oneof(
          near.map((parts) => parts.join('')),
          corpus,
          fc.webUrl(),
        ),
        (text) => {
          if (redirectProblem(text) !== null) return
          const [, scheme = '', host = ''] =
            /^(https?):\/\/([a-z0-9.-]+|\[[0-9a-f:]+\])(?::\d+)?\/[\x21-\x7e]*$/.exec(text) ?? []
          expect(new URL(text)).toMatchObject({ href: text, protocol: `${scheme}:`, hostname: host, hash: '' })
          expect(text).not.toMatch(/[#*\\]/)
          if (scheme === 'http') expect(['127.0.0.1', '[::1]', 'localhost']).toContain(host)
        },
      ),
      { numRuns: 3_000 },
    )
  })
})

describe('a requested redirect URI', () => {
  const loopback = ['http://127.0.0.1/back?flow=cli', 'http://[::1]:4000/back', 'http://localhost:4000/back']

  test.each([
    'http://127.0.0.1:53124/back?flow=cli',
    'http://127.0.0.1/back?flow=cli',
    'http://[::1]/back',
    'http://[::1]:65535/back',
    'http://localhost:1/back',
    'http://localhost/back',
  ])('on a loopback host may have any port, or none: %s', (uri) => {
    expect(isRegisteredRedirect(loopback, uri)).toBe(true)
  })

  test.each([
    ['another host', 'http://127.0.0.1:4000/back http://[::1]:4000/back?flow=cli http://localhost:4000/back?flow=cli'],
    ['userinfo', 'http://me@localhost:4000/back http://localhost:80@evil.example/back http://@localhost/back'],
    ['a host that begins like it', 'http://127.0.0.1.evil.example/back http://localhost.evil.example:4000/back'],
    ['https', 'https://localhost:4000/back https://localhost:5000/back https://127.0.0.1/back?flow=cli'],
    ['upper case', 'http://LOCALHOST:4000/back HTTP://localhost:4000/back http://localhost:4000/BACK'],
    ['a trailing dot', 'http://localhost.:4000/back http://127.0.0.1.:4000/back?flow=cli http://localhost:5000/back.'],
    ['another loopback address', 'http://127.0.0.2:4000/back http://127.1/back?flow=cli http://[::ffff:7f00:1]/back'],
    [
      'an encoded path',
      'http://localhost:5000/%62ack http://localhost:5000/x/%2e%2e/back http://localhost:5000/./back',
    ],
    ['a fragment', 'http://localhost:4000/back# http://localhost:5000/back#x http://localhost:5000#/back'],
    ['another query', 'http://127.0.0.1/back http://127.0.0.1:1/back?flow=cli& http://127.0.0.1:1/back?flow=cl%69'],
    [
      'another path',
      'http://localhost:5000 http://localhost:5000/ http://localhost:5000/back/ http://localhost:1/x/back',
    ],
    ['a port in another spelling', 'http://localhost:/back http://localhost:80/back http://localhost:04000/back'],
    ['no port number', 'http://localhost:65536/back http://localhost:-1/back http://localhost:4000x/back'],
    ['several ports', 'http://localhost:1:2/back http://localhost:1@localhost:2/back http://localhost:1/back,http://x'],
    ['backslashes', 'http:\\\\localhost:5000\\back http://localhost:5000\\back http://localhost\\@evil.example/back'],
  ])('with %s is not the registered one: %s', (_what, uris) => {
    expect(uris.split(' ').filter((uri) => isRegisteredRedirect(loopback, uri))).toEqual([])
  })

  test('on any other host must be registered to the letter', () => {
    const other = ['https://app.example/callback', 'https://localhost:4000/back', 'https://127.0.0.1/back']
    expect(other.filter((uri) => isRegisteredRedirect(other, uri))).toEqual(other)
    const ports = ['https://app.example:8443/callback', 'https://localhost:4001/back', 'https://127.0.0.1:4000/back']
    expect(ports.filter((uri) => isRegisteredRedirect(other, uri))).toEqual([])
    expect(isRegisteredRedirect(other, 'http://localhost:4000/back')).toBe(false)
  })

  test('DG-01: is accepted on other ports, and not from the corpus of hostile ones', () => {
    expect(otherPorts.filter((uri) => !isRegisteredRedirect(registered, uri))).toEqual([])
    expect(redirectCorpus.filter(({ uri }) => isRegisteredRedirect(registered, uri))).toEqual([])
  })

  test('that is accepted differs from a registered one in its port only, for every parser', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...loopback),
        ports,
        fc.string({ unit: 'binary', maxLength: 3 }),
        (uri, port, noise) => {
          const { protocol, hostname, pathname, search } = new URL(uri)
          const asked = `${protocol}//${hostname}${port}${pathname}${search}`
          expect([isRegisteredRedirect(loopback, asked), isLoopbackRedirect(asked)]).toEqual([true, true])
          for (let at = 0; noise !== '' && at <= asked.length; at += 1) {
            const changed = asked.slice(0, at) + noise + asked.slice(at)
            if (!isRegisteredRedirect(loopback, changed)) continue
            expect(new URL(changed)).toMatchObject({
              href: changed,
              protocol,
              hostname,
              pathname,
              search,
              username: '',
            })
          }
        },
      ),
    )
  })
})

test.each([
  ['https://app.example/callback?flow=dialog', 'https://app.example', 'app.example'],
  ['https://app.example:8443/callback', 'https://app.example:8443', 'app.example:8443'],
  ['http://127.0.0.1:4000/back', 'http://127.0.0.1:4000', '127.0.0.1:4000'],
  ['http://[::1]/', 'http://[::1]', '[::1]'],
  ['https://xn--pp-6kc.example/', 'https://xn--pp-6kc.example', 'xn--pp-6kc.example'],
])('%s belongs to the origin %s and is shown as %s', (uri, origin, host) => {
  expect(redirectOrigin(uri)).toBe(origin)
  expect(redirectHost(uri)).toBe(host)
})

describe('an answer', () => {
  test.each([
    ['https://app.example/callback', 'https://app.example/callback?code=lkc_1&state=a'],
    ['https://app.example/callback?flow=dialog', 'https://app.example/callback?flow=dialog&code=lkc_1&state=a'],
    ['https://app.example/callback?', 'https://app.example/callback?code=lkc_1&state=a'],
    ['https://app.example/callback?a=?', 'https://app.example/callback?a=?&code=lkc_1&state=a'],
    ['https://app.example/callback?a=1&', 'https://app.example/callback?a=1&code=lkc_1&state=a'],
    ['https://app.example/?a=%20+%2f&b', 'https://app.example/?a=%20+%2f&b&code=lkc_1&state=a'],
  ])('appended to %s is %s', (uri, answered) => {
    expect(withResponseParameters(uri, { code: 'lkc_1', state: 'a' })).toBe(answered)
  })

  test('AP-26 is form-urlencoded, whatever the state holds', () => {
    expect(withResponseParameters('https://app.example/', { state: 'a b&code=x#\r\nSet-Cookie: é/?%' })).toBe(
      'https://app.example/?state=a+b%26code%3Dx%23%0D%0ASet-Cookie%3A+%C3%A9%2F%3F%25',
    )
  })

  test('without parameters leaves the address unchanged', () => {
    for (const uri of registered) expect(withResponseParameters(uri, {})).toBe(uri)
  })

  test('keeps every character of the address, can be parsed, and has the same host and path', () => {
    fc.assert(
      fc.property(addresses, answers, (uri, given) => {
        const answered = withResponseParameters(uri, given)
        expect(answered.startsWith(uri)).toBe(true)
        expect(answered.slice(uri.length)).toMatch(/^[\w.*+%&?=-]*$/)
        const [before, after] = [new URL(uri), new URL(answered)]
        expect(after.href).toBe(answered)
        expect([after.origin, after.pathname, after.hash]).toEqual([before.origin, before.pathname, ''])
        expect([...after.searchParams]).toEqual([...before.searchParams, ...Object.entries(given)])
      }),
    )
  })
})
