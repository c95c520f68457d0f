/**
 * Configuration and map files of a HAProxy (2.6 or later) in front of several cells. It routes by the bucket of the account's host,
 * or by the one in a code or credential; everything else goes to any cell. docs/scale.md, "Cells".
 */
import { bucketOfCell, type CellMap } from './map.ts'
import { BUCKETED_PARAMETERS, type BucketedParameter } from './routing.ts'

export const BUCKETS_MAP = 'buckets.map'
export const ACCOUNTS_MAP = 'accounts.map'

/** A key of the map of buckets. Its value tells which version of the table a running HAProxy has. */
export const VERSION_KEY = 'version'

export type ProxiedCell = {
  readonly id: number
  /** Host and port of each server. */
  readonly servers: readonly string[]
}

export type ProxySettings = {
  /** Host of PUBLIC_URL, without port. */
  readonly host: string
  /** Folder of the map files. */
  readonly folder: string
  /** What follows `bind`. */
  readonly bind: string
  /** Path of the socket of the runtime API. */
  readonly socket: string
}

const cellName = (id: number): string => `cell${id}`

/** One line for each bucket, in decimal: `crc32,mod(4096)` and `hex2i` return numbers. */
export function bucketsMap({ version, cells, buckets }: CellMap): string {
  const ofCells = Array.from(cells.keys(), (id) => [bucketOfCell(id), id] as const)
  const lines = [...buckets, ...ofCells].map(([bucket, cell]) => `${bucket} ${cellName(cell)}`)
  return `${[`${VERSION_KEY} ${version}`, ...lines].join('\n')}\n`
}

/** Accounts whose bucket is not the one of their slug. */
export function accountsMap({ accountBuckets }: CellMap): string {
  return Array.from(accountBuckets, ([slug, bucket]) => `${slug} ${bucket}\n`).join('')
}

export function haproxyConfig(settings: ProxySettings, cells: readonly ProxiedCell[]): string {
  return [head(settings), frontend(settings), ...cells.map(backend), anyCell(cells)].join('\n\n').concat('\n')
}

const head = ({
  socket,
}: ProxySettings) => `# Written by "latchkey cell proxy-config". Do not edit: run it again after a cell or a server was added, then reload HAProxy.
# Changes of the map reach a running HAProxy by "latchkey cell proxy-sync".

global
    log stdout format raw local0 info
    # Each connection uses two file descriptors: raise LimitNOFILE of the unit accordingly.
    maxconn 8000
    stats socket ${socket} mode 600 level admin
    ssl-default-bind-options ssl-min-ver TLSv1.2
    ssl-default-bind-ciphers ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256

defaults
    mode http
    log global
    option dontlognull
    option redispatch
    # After a reload, the old worker answers one more request on a connection and says that it closes it.
    option idle-close-on-response
    timeout connect 1s
    timeout client 75s
    # Longer than the longest held poll, 25 seconds.
    timeout server 30s
    timeout http-request 30s
    timeout http-keep-alive 60s
    log-format "%ci [%tr] %[var(txn.host)] %HM %HP %HV %ST %B %Ta %b/%s %ts %ID"
    unique-id-format %[uuid()]`

const frontend = ({ host, folder, bind }: ProxySettings) => `frontend service
    bind ${bind}
    # The form of a poll is read before it is routed.
    option http-buffer-request
    http-request set-var(txn.host) req.hdr(host),host_only
    http-request set-header X-Forwarded-For %[src]
    http-request set-header X-Request-Id %[unique-id]
    http-request deny deny_status 413 if { req.hdr_val(content-length) gt 655360 }
    # Questions between cells.
    http-request deny deny_status 404 if { path_beg /cells/ }

    acl of_account var(txn.host) -m end .${host}
    http-request set-var(txn.slug) var(txn.host),regsub(\\.${host.replaceAll('.', '\\.')}$,) if of_account
    # The management API has the slug in the path, or an id, which says nothing of the cell.
    http-request set-var(txn.slug) path,field(5,/) if !of_account { path_beg /manage/1/accounts/ } !{ path_beg /manage/1/accounts/acc_ }
    acl has_slug var(txn.slug) -m found
    http-request set-var(txn.bucket) var(txn.slug),map(${folder}/${ACCOUNTS_MAP}) if has_slug
    http-request set-var(txn.bucket) var(txn.slug),crc32,mod(4096) if has_slug !{ var(txn.bucket) -m found }

    acl has_text var(txn.text) -m found
${BUCKETED_PARAMETERS.flatMap(textRules).join('\n')}
    http-request set-var(txn.text) http_auth_bearer if !of_account !has_text
    http-request set-var(txn.bucket) var(txn.text),bytes(4,4),hex2i if !of_account { var(txn.text) -m reg ^lk[acdkpqr]_[0-9a-f]{4} }

    # Without a bucket, or with one that is in no cell: any cell answers, or forwards the request.
    use_backend %[var(txn.bucket),map(${folder}/${BUCKETS_MAP})] if { var(txn.bucket),map(${folder}/${BUCKETS_MAP}) -m found }
    default_backend any`

/** The prefix of a pushed request is replaced by one as long as the others. */
function textRules(name: BucketedParameter): string[] {
  const shortened = name === 'request_uri' ? ',url_dec,regsub(^urn:ietf:params:oauth:request_uri:,lkc_)' : ''
  return ['req.body_param', 'url_param'].map(
    (sample) => `    http-request set-var(txn.text) ${sample}(${name})${shortened} if !of_account !has_text`,
  )
}

const CHECK = `    balance leastconn
    # A request that may have been processed is not repeated.
    retry-on conn-failure`

const backend = ({ id, servers }: ProxiedCell) => `backend ${cellName(id)}
${CHECK}
    option httpchk GET /health/ready
    http-check expect status 200
    default-server check inter 2s fall 2 rise 1 maxconn 5000
${servers.map((address, index) => `    server ${serverName(id, index)} ${address}`).join('\n')}`

const anyCell = (cells: readonly ProxiedCell[]) => `backend any
${CHECK}
    default-server maxconn 5000
${cells
  .flatMap(({ id, servers }) =>
    servers.map((address, index) => {
      const name = serverName(id, index)
      return `    server ${name} ${address} track ${cellName(id)}/${name}`
    }),
  )
  .join('\n')}`

const serverName = (cell: number, index: number) => `${cellName(cell)}-${index + 1}`
