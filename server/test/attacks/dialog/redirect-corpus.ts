/**
 * DG-01 to DG-05: redirect URIs that an attacker sends instead of a registered one, and those that cannot be
 * registered. Most are generated from tables: changes applied to each of the three registered ones.
 */

export type HostileRedirect = { readonly reason: string; readonly uri: string }

export const registered: readonly string[] = [
  'https://app.example/callback',
  'https://app.example/callback?flow=dialog',
  'http://127.0.0.1:4000/back',
]

type Parts = {
  readonly scheme: string
  readonly host: string
  readonly port: string
  readonly path: string
  readonly query: string
}

function partsOf(uri: string): Parts {
  const [, scheme = '', host = '', port = '', path = '', query = ''] =
    /^(\w+):\/\/([^:/]+)(:\d+)?([^?]*)(.*)$/.exec(uri) ?? []
  return { scheme, host, port, path, query }
}

const write = ({ scheme, host, port, path, query }: Parts) => `${scheme}://${host}${port}${path}${query}`

/** `~` is the part as registered. */
type Spellings = Readonly<Record<string, string>>

function spell(part: keyof Parts, spellings: Spellings): HostileRedirect[] {
  return Object.entries(spellings).flatMap(([reason, texts]) =>
    registered.map(partsOf).flatMap((parts) =>
      texts.split(' ').map((text) => ({
        reason: `${part}: ${reason}`,
        uri: write({ ...parts, [part]: text.replaceAll('~', parts[part]).replaceAll('SP', ' ') }),
      })),
    ),
  )
}

const SCHEMES: Spellings = {
  'another one': 'http https ftp ws wss file gopher httpx javascript view-source:~ feed:~ blob:~ jar:~',
  'in other letters': 'HTTPS Http hTTps HTTP httpſ',
  'twice, or broken': '~:// ~:~ ~: SP~ ~SP',
}

const HOSTS: Spellings = {
  'of the attacker': 'evil.example',
  'sub-domain, or beside it': 'evil.~ www.~ x-~ evil~ ~.evil.example ~evil.example ~-evil.example app.~',
  'with dots': '~. ~.. .~ ..~ ~.%2e',
  'in capitals': 'APP.EXAMPLE App.Example app.examplE LOCALHOST',
  'look-alike': 'appxexample app-example app.examp1e app.exarnple app.example.com app.exampl app.xample аpp.example',
  'in other scripts':
    'app.еxample ａｐｐ.example app．example app。example app｡example ⓐpp.example app.exampⅼe ápp.example',
  'in Punycode': 'xn--pp-6kc.example xn--app-.example',
  'hidden characters': 'a\u00adpp.example app\u200b.example app\u2060.example app.example\ufeff app\u202e.example',
  'cut short by an escape': '~%00.evil.example ~%23.evil.example ~%2f.evil.example ~%5c.evil.example ~%3f.evil.example',
  'cut short by a character': '~#.evil.example ~?.evil.example ~/.evil.example ~\\.evil.example ~;.evil.example',
  'with a character that a URL may hold':
    '~&.evil.example ~,evil.example ~!.evil.example ~$.evil.example ~_.evil.example',
  'userinfo in front': 'evil@~ evil:pw@~ @~ :@~ evil%40x@~ evil.example\\@~ evil.example%5c@~ evil.example%23@~',
  'the registered one as userinfo':
    '~@evil.example ~:80@evil.example ~:443@evil.example ~:@evil.example ~:pw@evil.example ~%40evil.example ~@@evil.example',
  'the registered one as userinfo, disguised':
    '~#@evil.example ~?@evil.example ~/@evil.example ~\\@evil.example ~%00@evil.example ~%2f@evil.example ~;@evil.example',
  'in brackets': '[~] [~ ~] [::1]@~ ~[evil.example]',
  'none at all': 'SP % %00 : @ .',
}

const PORTS: Spellings = {
  'another one': ':80 :443 :4001 :8443 :1 :0 :22',
  'spelled otherwise': ': :0443 :04000 :+4000 :-1 :4000SP :65536 :69536 :0x1bb :４４３ :٤٠٠٠',
  'with more behind it': '~:80 :80@evil.example :443@evil.example ~@evil.example :4000.evil.example :443evil.example',
}

const PATHS: Spellings = {
  'a part of it': '/call /b / /callbac /bac',
  'with more behind it': '~x ~/ ~// ~. ~.html ~; ~;x=1 ~,x ~/evil ~@evil.example ~*',
  'in other letters': '/Callback /CALLBACK /Back /BACK /callbacK',
  'with empty segments': '/~ //~ /x/~ //evil.example/~',
  'with dot segments': '/.~ /x/..~ /..~ ~/. ~/.. ~/../evil ~/./ ~/../../evil ~/..~ /.//~',
  'with encoded dot segments': '/%2e~ /%2e%2e~ /x/%2e%2e~ ~/%2e%2e/evil ~/%2E%2E/evil ~/.%2e/evil ~/%2e./evil',
  'with dot segments encoded twice':
    '/%252e%252e~ ~/%252e%252e/evil ~/%25%32%65%25%32%65/evil ~/..%252fevil ~%252f..%252fevil',
  'with dot segments and a parameter': '/..;~ ~/..;/evil ~/..;x=1/evil ~/.;/evil ~;/../evil',
  'with encoded slashes': '~%2f ~%2F ~/..%2fevil ~%2f..%2fevil ~/..%5cevil ~%5c..%5cevil /%2f~',
  overlong: '~/%c0%ae%c0%ae/evil ~%c0%afevil ~/%e0%80%ae%e0%80%ae/evil ~/..%c0%af..%c0%afevil ~/%uff0e%uff0e/evil',
  'full width': '~／ ~/．．/evil ／callback ~％2e ~？x',
  'with backslashes': '\\callback \\back ~\\ ~\\..\\evil ~/..\\evil \\~ /\\evil.example',
  'with letters encoded':
    '/%63allback /call%62ack /%62ack ~%20 ~%00 ~%0a ~%0d%0aLocation:https://evil.example ~%09 ~%7f',
  'with a question or a fragment encoded': '~%3fflow=dialog ~%23 ~%3f ~%26code=x',
}

const QUERIES: Spellings = {
  'another one': '? ?x ?flow ?flow= ?flow=evil ?flow=dialo ?flow=dialogx ?FLOW=dialog ?flow=Dialog ?wolf=dialog',
  'with more of it': '~& ~&x=1 ~?x=1 &flow=dialog ??flow=dialog ?&flow=dialog ?x=1&flow=dialog ?flow=dialog;x=1',
  polluted: '?flow=dialog&flow=evil ?flow=evil&flow=dialog ?flow=dialog&flow=dialog ?flow[]=dialog ?flow=dialog,evil',
  'spelled otherwise': '?flow=%64ialog ?%66low=dialog ?flow%3ddialog ?flow=dialog%00 ?flow=dialog+ ?flow=dialog%26x=1',
  'with our own answer':
    '?code=stolen ?flow=dialog&code=stolen ?state=x ?error=access_denied ?iss=https://evil.example',
  'with our own questions':
    '?redirect_uri=https://evil.example/ ?flow=dialog&redirect_uri=https://evil.example/ ?client_id=app_evil',
  'with a fragment': '~# ~#x ~#@evil.example ~#?code=x ~#/../evil ~#code=x ~&# ?#',
  'with another address':
    '~,https://evil.example/ ~SPhttps://evil.example/ ~|https://evil.example/ ~;https://evil.example/',
}

/** Characters that some parsers drop and others keep. */
const DROPPED = [0x00, 0x01, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x1b, 0x20, 0x7f, 0x85, 0xa0, 0x200b, 0x2028, 0xfeff]

const withDropped: readonly HostileRedirect[] = DROPPED.flatMap((point) =>
  registered.flatMap((uri) => {
    const character = String.fromCodePoint(point)
    const reason = `U+${point.toString(16).padStart(4, '0')}`
    const { host } = partsOf(uri)
    return [
      { reason: `before: ${reason}`, uri: character + uri },
      { reason: `scheme: ${reason}`, uri: `${uri.slice(0, 2)}${character}${uri.slice(2)}` },
      { reason: `host: ${reason}`, uri: uri.replace(host, `${host.slice(0, 3)}${character}${host.slice(3)}`) },
      { reason: `path: ${reason}`, uri: uri.replace('ack', `a${character}ck`) },
      { reason: `behind: ${reason}`, uri: uri + character },
      { reason: `behind, and another address: ${reason}`, uri: `${uri}${character}https://evil.example/` },
    ]
  }),
)

/** Applied to the whole text. */
const WHOLE: Readonly<Record<string, (uri: string) => string>> = {
  'the slashes left out': (uri) => uri.replace('//', ''),
  'one slash': (uri) => uri.replace('//', '/'),
  'three slashes': (uri) => uri.replace('//', '///'),
  'four slashes': (uri) => uri.replace('//', '////'),
  'slashes turned': (uri) => uri.replace('//', '\\\\'),
  'one slash turned': (uri) => uri.replace('//', '/\\'),
  'slashes in full width': (uri) => uri.replace('//', '／／'),
  'a colon in full width': (uri) => uri.replace(':', '：'),
  'a colon encoded': (uri) => uri.replace(':', '%3a'),
  'no colon': (uri) => uri.replace(':', ''),
  'no scheme': (uri) => uri.replace(/^\w+:/, ''),
  'no scheme, slashes turned': (uri) => uri.replace(/^\w+:\/\//, '\\\\'),
  'no scheme and no slashes': (uri) => uri.replace(/^\w+:\/\//, ''),
  'the path alone': (uri) => uri.replace(/^\w+:\/\/[^/]+/, ''),
  'the origin alone': (uri) => uri.replace(/(?<=\w)\/.*$/, ''),
  'encoded as a whole': encodeURIComponent,
  'encoded as a whole, twice': (uri) => encodeURIComponent(encodeURIComponent(uri)),
  'in capitals': (uri) => uri.toUpperCase(),
  twice: (uri) => uri + uri,
  'twice, with a comma': (uri) => `${uri},${uri}`,
  'in angle brackets': (uri) => `<${uri}>`,
  'in quotes': (uri) => `"${uri}"`,
  'as JSON': (uri) => `["${uri}"]`,
  'with markup behind it': (uri) => `${uri}"><script>alert(1)</script>`,
  'as a pattern': (uri) => `^${uri}$`,
  'inside another path': (uri) => `https://evil.example/${uri}`,
  'inside another query': (uri) => `https://evil.example/?${uri}`,
  'inside another fragment': (uri) => `https://evil.example/#${uri}`,
  'inside another userinfo': (uri) => `https://${encodeURIComponent(uri)}@evil.example/`,
}

const whole = Object.entries(WHOLE).flatMap(([reason, change]) =>
  registered.map((uri) => ({ reason, uri: change(uri) })),
)

/** `http://localhost:80@evil.example` and variants (CVE-2024-8883). */
const loopbackUserinfo = ['localhost', '127.0.0.1', '[::1]'].flatMap((host) =>
  [':80', ':4000', ':', ':pw', ''].flatMap((port) =>
    ['', '/back'].map((path) => ({
      reason: 'a loopback host as userinfo (CVE-2024-8883)',
      uri: `http://${host}${port}@evil.example${path}`,
    })),
  ),
)

/** Other spellings of 127.0.0.1, and similar hosts. */
const LOOPBACK_SPELLINGS = (
  '127.1 127.0.1 2130706433 0x7f000001 0x7F.0.0.1 0x7f.1 0177.0.0.1 017700000001 127.000.000.001 127.0.0.1. 127.0.0.01 ' +
  '127.0.0.2 127.0.0.257 0 0.0.0.0 4294967295 localhost LOCALHOST localhost. localhost.evil.example 127.0.0.1.nip.io ' +
  '127.0.0.1.evil.example 127.0.0.1evil.example 127-0-0-1.evil.example [::1] [::] [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1] ' +
  '[::ffff:7f00:1] [::127.0.0.1] [::1%25lo] [::1%lo] [fe80::1%25eth0] [::1].evil.example [::1]evil.example [v1.x] ::1 ' +
  '１２７.0.0.1 127。0。0。1 127．0．0．1 ①②⑦.0.0.1 ١٢٧.0.0.1 127.0.0.1%00 127.0.0.1%2e'
).split(' ')

const loopback = LOOPBACK_SPELLINGS.map((host) => ({
  reason: 'a spelling of 127.0.0.1, or what is near it',
  uri: `http://${host}:4000/back`,
}))

const NOTHING = (
  'https: https:/ https:// https:/// https://? https://# https://@/ https://:443/callback https:///callback http://:4000/back ' +
  '/ // /// . .. * # ? callback /callback //evil.example ///evil.example /\\evil.example \\/evil.example null undefined 0 ' +
  'about:blank %00 [] {} https://%/ https://[/ https://]/ https://[]/ https://*/ ://app.example/callback'
).split(' ')

const nothing = NOTHING.map((uri) => ({ reason: 'no host, or no address at all', uri }))

/** Other schemes than https in every spelling that a browser, a page or a log would interpret (DG-05). */
const SPELLED = `
javascript:alert(1) JavaScript:alert(1) JAVASCRIPT:alert(1) jAvAsCrIpT:alert(1) javascript:void(0) javascript:
javascript://app.example/callback javascript://app.example/%0aalert(1) javascript://app.example/%0d%0aalert(1)
javascript:https://app.example/callback javascript:/*https://app.example/callback*/alert(1)
javascript:"https://app.example/callback" javascript:alert(1)//https://app.example/callback
HTjavascript:alert(1) SPjavascript:alert(1) LFjavascript:alert(1) NULjavascript:alert(1) ESCjavascript:alert(1)
javaHTscript:alert(1) javaLFscript:alert(1) javaCRscript:alert(1) javaNULscript:alert(1) jHTaHTvHTascript:alert(1)
javascriptHT:alert(1) javascriptSP:alert(1) javascriptLF:alert(1) javascriptNUL:alert(1) javascript:LFalert(1)
BOMjavascript:alert(1) javaSHYscript:alert(1) javaZWSPscript:alert(1) NBSPjavascript:alert(1) RLOjavascript:alert(1)
ｊavascript:alert(1) javascript：alert(1) javaſcript:alert(1) јavascript:alert(1)
javascript&colon;alert(1) javascript&#58;alert(1) javascript&#x3a;alert(1) javascript&#0000058alert(1)
&#106;avascript:alert(1) &#x6A;avascript:alert(1) java&Tab;script:alert(1) java&NewLine;script:alert(1)
&#1;javascript:alert(1) javascript%3aalert(1) javascript%253aalert(1) %6aavascript:alert(1) java%0ascript:alert(1)
java%09script:alert(1) %01javascript:alert(1) \\u006aavascript:alert(1) \\x6aavascript:alert(1) java\\0script:alert(1)
data:text/html,<script>alert(1)</script> data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg== data:, data:
DATA:text/html,x dAtA:text/html,x daHTta:text/html,x SPdata:text/html,x data:image/svg+xml,<svg/onload=alert(1)>
data:application/xhtml+xml,x data://app.example/callback data:text/html;charset=utf-7,+ADw-script+AD4-
vbscript:msgbox(1) VBScript:msgbox(1) vbLFscript:msgbox(1) vbs:x livescript:x mocha:x jscript:x ecmascript:x
blob:https://app.example/6f1f7f3e-6a57-4f8e-9d0b-3a1c2b4d5e6f BLOB:https://app.example/x blob:null/x
filesystem:https://app.example/temporary/x file:///etc/passwd file://app.example/callback FILE:///c:/ mhtml:https://app.example/x
about:blank about:srcdoc view-source:https://app.example/callback jar:https://app.example/callback!/ feed:javascript:alert(1)
feed:https://app.example/callback wyciwyg://app.example/callback chrome://settings chrome-extension://x/y moz-extension://x/y
resource://app.example/callback intent://app.example/callback#Intent;scheme=https;end android-app://com.example/https
ms-appx-web://app.example/callback ms-appinstaller:?source=https://evil.example/ search-ms:query=x itms-services://?x
custom:callback custom:/callback custom://callback app.example:/callback com.example.app:/oauth2redirect myapp://callback
urn:ietf:wg:oauth:2.0:oob urn:ietf:wg:oauth:2.0:oob:auto oob postmessage storagerelay://https/app.example
ftp://app.example/callback ws://app.example/callback wss://app.example/callback gopher://app.example/ ldap://app.example/
mailto:a@app.example tel:112 sms:112 ssh://app.example/ httpx://app.example/callback https+x://app.example/callback
http://app.example/callback HTTP://app.example/callback http:app.example/callback http://app.example:443/callback
`
  .trim()
  .split(/\s+/)

const NAMED: Readonly<Record<string, string>> = {
  HT: '\t',
  LF: '\n',
  CR: '\r',
  NUL: '\0',
  ESC: '\u001b',
  SP: ' ',
  BOM: '\ufeff',
  SHY: '\u00ad',
  ZWSP: '\u200b',
  NBSP: '\u00a0',
  RLO: '\u202e',
}

export const schemeSpellings: readonly string[] = SPELLED.map((text) =>
  // Not within words in upper case, such as JAVASCRIPT.
  text.replace(/(?<![A-Z])(?:HT|LF|CR|NUL|ESC|SP|BOM|SHY|ZWSP|NBSP|RLO)(?![A-Z])/g, (name) => NAMED[name] ?? ''),
)

const schemes = schemeSpellings.map((uri) => ({ reason: 'not https', uri }))

/** The registered loopback address on other ports, which are accepted (RFC 8252, section 7.3). */
export const otherPorts: readonly string[] = ['', ':0', ':1', ':22', ':443', ':4001', ':8443', ':65535'].map(
  (port) => `http://127.0.0.1${port}/back`,
)

/** Without duplicates and without accepted ones. */
function distinct(lines: readonly HostileRedirect[]): readonly HostileRedirect[] {
  const seen = new Set([...registered, ...otherPorts])
  return lines.filter(({ uri }) => {
    const isNew = !seen.has(uri)
    seen.add(uri)
    return isNew
  })
}

export const redirectCorpus: readonly HostileRedirect[] = distinct([
  ...spell('scheme', SCHEMES),
  ...spell('host', HOSTS),
  ...spell('port', PORTS),
  ...spell('path', PATHS),
  ...spell('query', QUERIES),
  ...withDropped,
  ...whole,
  ...loopbackUserinfo,
  ...loopback,
  ...nothing,
  ...schemes,
])

/** By defect; some would be harmless under exact comparison, but nobody needs them. */
const REGISTRATIONS: Spellings = {
  'a wildcard (DG-04)':
    '* ** .* https://* https://*/ https://a.example/* https://a.example/** https://a.example/cb* https://*.a.example/cb ' +
    'https://a.example.* https://a.example.*/ https://*a.example/ https://a.*.example/ https://a.example:*/ ' +
    'http://localhost:*/ http://127.0.0.1:*/ https://a.example/?* https://a.example/?x=* http*://a.example/ *://a.example/',
  'a pattern (DG-04)':
    '.+ ^.*$ /.*/ ^https://a.example/$ ^https://a\\.example/cb$ https://a\\.example/ https://a.example/.* ' +
    'https://a.example/[a-z]+ https://a.example/(a|b) https://a.example/\\w+ https://a.example/\\d https://.*\\.a.example/ ' +
    'https://(.*).a.example/ https://[^/]+/ https://a.example/{id} https://{tenant}.a.example/ ' +
    'https://(a|b).example/ https://a.example|https://b.example https://a?.example/*',
  'a traversal (DG-03)':
    'https://a.example/.. https://a.example/../ https://a.example/x/../y https://a.example/./y https://a.example/x/. ' +
    'https://a.example/%2e%2e/y https://a.example/.%2e/y https://a.example/%2E./y https://a.example/%2e/y ' +
    'https://a.example\\..\\y https://a.example/x\\..\\y https://a.example/\\evil.example/ https://a.example/．．/y',
  'userinfo (DG-02)':
    'http://localhost:80@evil.example/ http://127.0.0.1:80@evil.example/ http://[::1]:80@evil.example/ https://u@a.example/ ' +
    'https://u:p@a.example/ https://:p@a.example/ https://@a.example/ https://:@a.example/ https://a.example%40@b.example/ ' +
    'https://a.example:443@b.example/ https://a.example\\@b.example/ https://a@b@c.example/ http://u@localhost/',
  'a fragment': 'https://a.example/# https://a.example/cb#x https://a.example/?x#y https://a.example#@b.example/',
  'a host that is none':
    'https:// https:/// https://? https://:443/ https://. https://../ https://a.example./ https://a..example/ ' +
    "https://.a.example/ https://-a.example/ https://a-/ https://a_b.example/ https://a;b/ https://a,b/ https://a'b/ " +
    'https://a"b/ https://a&b/ https://a=b/ https://(a)/ https://a%00b/ https://a%2fb/ https://[::1%25lo]/ https://[x]/',
  'a host in another spelling':
    'https://A.example/ https://a%2eexample/ https://ａ.example/ https://a。example/ https://а.example/ https://bücher.example/ ' +
    'https://a\u00adb.example/ https://a\u200bb.example/ https://a.exampⅼe/ https://127.1/ https://0x7f.1/ https://2130706433/ ' +
    'https://0177.0.0.1/ https://[0:0:0:0:0:0:0:1]/ https://[::ffff:127.0.0.1]/ http://127.1/ http://LOCALHOST/',
  'http to another machine':
    'http://a.example/ http://127.0.0.2/ http://0.0.0.0/ http://[::]/ http://[::2]/ http://localhost.evil.example/ ' +
    'http://127.0.0.1.evil.example/ http://localhost./ http://x.localhost/ http://10.0.0.1/ http://169.254.169.254/',
  'another spelling of an address':
    'https://a.example https:a.example/ https:/a.example/ https:///a.example/ https:\\\\a.example/ //a.example/ a.example/ ' +
    'HTTPS://a.example/ https://a.example:443/ https://a.example:/ https://a.example:08443/ http://localhost:80/ ' +
    'https://a.example:65536/ https://a.example/é https://a.example/%zz https://a.example/% https://a.example/<x> ' +
    'https://a.example/"x https://a.example/a|b https://a.example/?a[]=1 https://a.example/`x` https%3A%2F%2Fa.example%2F',
  'our own answer':
    'https://a.example/?code=x https://a.example/?x=1&state=y https://a.example/?iss= https://a.example/?error',
}

const padded = DROPPED.map((point) => String.fromCodePoint(point)).flatMap((character) =>
  [`${character}https://a.example/`, `https://a.example/${character}`, `https://a${character}b.example/`].map(
    (uri) => ({
      reason: 'whitespace or a control character',
      uri,
    }),
  ),
)

export const hostileRegistrations: readonly HostileRedirect[] = distinct([
  ...Object.entries(REGISTRATIONS).flatMap(([reason, texts]) => texts.split(' ').map((uri) => ({ reason, uri }))),
  ...padded,
  ...schemes,
  { reason: 'too long', uri: `https://a.example/${'x'.repeat(2000)}` },
  { reason: 'nothing', uri: '' },
])
