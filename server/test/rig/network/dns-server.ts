/** A real name server, dnsmasq, on a free port: answers with the records of the test, otherwise NXDOMAIN. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { onFreePort } from '../../../../tools/free-port.ts'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { spawnTied } from '../process/tied-process.ts'

const DNSMASQ = '/usr/sbin/dnsmasq'

export type DnsRecords = {
  /** By name: one record per text. A text in parts is one record of several strings. */
  readonly texts?: Readonly<Record<string, readonly (string | readonly string[])[]>>
  readonly aliases?: Readonly<Record<string, string>>
}

export type DnsServer = {
  /** For DNS_SERVERS. */
  readonly address: string
  /** Replaces all records. */
  know(records: DnsRecords): Promise<void>
  /** Stops answering. */
  stop(): Promise<void>
}

/** Domains that it is authoritative for. */
const DOMAINS = ['example', 'com']

export async function startDnsServer(records: DnsRecords = {}): Promise<DnsServer> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-dns-'))
  let [port, child] = await onFreePort(async (free) => [free, await start(folder, free, records)] as const)
  const end = async () => {
    if (child.exitCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    await exited
  }
  return {
    address: `127.0.0.1:${port}`,
    know: async (others) => {
      await end()
      child = await start(folder, port, others)
    },
    stop: async () => {
      await end()
      removeFolder(folder)
    },
  }
}

async function start(folder: string, port: number, records: DnsRecords): Promise<ChildProcess> {
  const file = join(folder, 'dnsmasq.conf')
  writeFileSync(file, configuration(records))
  const args = [
    '--no-daemon',
    `--port=${port}`,
    '--listen-address=127.0.0.1',
    '--bind-interfaces',
    '--no-resolv',
    '--no-hosts',
    '--pid-file=',
    `--user=${userInfo().username}`,
    `--conf-file=${file}`,
  ]
  const child = spawnTied('TERM', DNSMASQ, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const said: string[] = []
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stderr as Readable }).on('line', (line) => {
      said.push(line)
      if (line.includes('started, version')) resolve()
    })
    child.once('exit', (code) => reject(new Error(`dnsmasq ended with ${code}:\n${said.join('\n')}`)))
  })
  return child
}

function configuration({ texts = {}, aliases = {} }: DnsRecords): string {
  const quoted = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`
  return [
    ...DOMAINS.map((domain) => `local=/${domain}/`),
    ...Object.entries(texts).flatMap(([name, records]) =>
      records.map((strings) => `txt-record=${name},${[strings].flat().map(quoted).join(',')}`),
    ),
    ...Object.entries(aliases).map(([alias, name]) => `cname=${alias},${name}`),
    '',
  ].join('\n')
}
