/**
 * Other servers of the device flow under the same load, each against a bare node:http server with the same reply:
 * a pending poll, and the check of a token. Each has packages of its own: npm ci --prefix bench/peers
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { spawnTied } from '../server/test/rig/process/tied-process.ts'
import { type Comparison, compareWithBare, cpuSeconds, postingScript } from './against-bare.ts'
import { type Measured, measureAndPrint, readBaselines, writeFigures } from './judge.ts'

const FOLDER = join(import.meta.dirname, 'peers')

export const PEERS = ['oidc-provider', 'better-auth'] as const

/** What a program of the folder prints on its first line, as JSON. */
type PeerDescription = {
  readonly address: string
  readonly poll: Sent & { readonly bodies: readonly string[] }
  readonly verify: Sent & { readonly method: 'GET' | 'POST'; readonly body: string; readonly shows: string }
}
type Sent = { readonly path: string; readonly headers: Readonly<Record<string, string>> }

/** Named `poll of oidc-provider`, `verify of oidc-provider`, …. `write`: into baseline.json. */
export async function benchPeers(write: boolean): Promise<Map<string, Measured>> {
  if (!existsSync(join(FOLDER, 'node_modules'))) throw new Error('run "npm ci --prefix bench/peers" first')
  const rows = new Map<string, Measured>()
  for (const peer of PEERS) {
    const child = spawnTied('KILL', process.execPath, [join(FOLDER, `${peer}.js`)], {
      env: { PATH: process.env.PATH, NODE_ENV: 'production' },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    try {
      const description = await read(child.stdout)
      const driven = { address: description.address, cpuSeconds: () => cpuSeconds([child.pid ?? 0]) }
      const [polled, verified] = [
        await comparePoll(driven, description.poll),
        await compareVerify(driven, description.verify),
      ]
      for (const [kind, compared] of Object.entries({ poll: polled, verify: verified })) {
        const name = `${kind} of ${peer}`
        rows.set(name, await measureAndPrint(name, async () => ({ ...compared, missed: [] })))
      }
    } finally {
      child.kill('SIGKILL')
    }
  }
  const machine = readBaselines().poll?.machine
  if (write && machine) for (const [name, figures] of rows) writeFigures(name, figures, machine)
  return rows
}

/** Other lines are warnings about in-memory storage. */
async function read(stream: Readable | null): Promise<PeerDescription> {
  if (!stream) throw new Error('a peer has no output')
  for await (const line of createInterface({ input: stream })) if (line.startsWith('{')) return JSON.parse(line)
  throw new Error('a peer ended')
}

type Driven = Parameters<typeof compareWithBare>[0]

function comparePoll(driven: Driven, { path, headers, bodies }: PeerDescription['poll']): Promise<Comparison> {
  const requests = postingScript(bodies, headers)
  const expected = "status == 400 and body:find('authorization_pending')"
  return compareWithBare(driven, { path, requests, expected, refused: 'all' }, { raw: bodies[0] ?? '', headers })
}

function compareVerify(
  driven: Driven,
  { method, path, headers, body, shows }: PeerDescription['verify'],
): Promise<Comparison> {
  const fields = Object.entries(headers).map(([name, value]) => `wrk.headers['${name}'] = '${value}'`)
  const requests = `wrk.method = '${method}'\nwrk.body = '${body}'\n${fields.join('\n')}\n`
  const expected = `status == 200 and body:find('${shows}', 1, true)`
  const sample = { method, headers, ...(body === '' ? {} : { raw: body }) }
  return compareWithBare(driven, { path, requests, expected, refused: 'none' }, sample)
}
