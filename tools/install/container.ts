/** "Containers": the image is built, and runs read-only, without capabilities and as an unprivileged user. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { grantDevice, untilReady } from './device.ts'
import { blocksOf, commandsOf, type Substitution, substitute } from './document.ts'
import { check, time } from './report.ts'
import { runAll, type Shell } from './shell.ts'
import { IMAGES } from './stand-ins.ts'

const [, [POSTGRES]] = IMAGES
const HEALTHY_MS = 60_000

/** The network of the build is the machine's, for the packages; the last command runs in the background. */
export const CONTAINER_SUBSTITUTIONS: readonly Substitution[] = [
  { from: 'docker build ', to: 'docker build --network host ', why: 'the engine has no bridge while it builds' },
  {
    from: '--stop-timeout 45 latchkey',
    to: '--stop-timeout 45 --detach --name one latchkey',
    why: 'in the background',
  },
]

/** Where containers reach the network of the engine: its bridge. */
const GATEWAY = '172.17.0.1'

function readCommands(): { readonly build: string; readonly others: readonly string[] } {
  const [block] = blocksOf('Containers')
  if (!block) throw new Error('docs/install.md, "Containers", has no commands')
  const [build = '', ...others] = commandsOf({
    ...block,
    text: substitute('Containers', block.text, CONTAINER_SUBSTITUTIONS),
  })
  return { build, others }
}

/** Returns what is run later, in the engine's own network. */
export async function buildImage(docker: Shell): Promise<readonly string[]> {
  const { build, others } = readCommands()
  await time('the image is built', () => runAll(docker, [build]))
  const size = Number(await docker('docker image inspect --format {{.Size}} latchkey'))
  const base = Number(await docker(`docker image inspect --format {{.Size}} ${IMAGES[0][0]}`))
  console.log(`           Latchkey adds ${((size - base) / 1e6).toFixed(0)} MB to its base image`)
  return others
}

export async function runContainer(docker: Shell, folder: string, commands: readonly string[]): Promise<string> {
  const database = '--env POSTGRES_USER=latchkey --env POSTGRES_PASSWORD=latchkey --env POSTGRES_DB=latchkey'
  await docker(`docker run --detach --name database --network host ${database} ${POSTGRES}`)
  const [umask = '', key = '', migrate = '', serve = ''] = commands
  await time('a key', () => runAll(docker, [umask, key]))
  writeFileSync(
    join(folder, 'latchkey.env'),
    `DATABASE_URL=postgres://latchkey:latchkey@${GATEWAY}:5432/latchkey
LATCHKEY_KEYS=${readFileSync(join(folder, 'keys'), 'utf8').trim()}
PUBLIC_URL=http://localhost:8080
METRICS_PORT=9464
METRICS_HOST=0.0.0.0
`,
  )
  await time('migrations, while PostgreSQL is still starting', () => runAll(docker, [migrate]))
  await time('the service is ready', async () => {
    await runAll(docker, [serve])
    await untilReady(docker)
  })

  const [inspected] = JSON.parse(await docker('docker inspect one'))
  const { ReadonlyRootfs, CapDrop } = inspected.HostConfig
  check('the file system is read-only, and there are no capabilities', ReadonlyRootfs && CapDrop[0] === 'ALL', CapDrop)
  const status = await docker('docker exec one cat /proc/1/status')
  check(
    'the first process is of user 1000, without capabilities',
    /^Uid:\s1000\s/m.test(status) && /^CapEff:\s0+$/m.test(status),
    status,
  )
  const latchkey = (words: string) => docker(`docker exec one latchkey ${words}`)
  await latchkey('scope create orders:read --title "See orders"')
  await latchkey('account create --slug acme --name Acme --administrator ann@acme.example')
  await grantDevice(docker, latchkey)
  await time('the health check passes', () => untilHealthy(docker))

  const address = inspected.NetworkSettings.IPAddress
  const metrics = await docker(`curl --fail --silent --show-error http://${address}:9464/metrics`)
  await time('docker stop', () => docker('docker stop one'))
  const [stopped] = JSON.parse(await docker('docker inspect one'))
  check('it drained and ended with status 0', stopped.State.ExitCode === 0, stopped.State)
  await docker('docker rm --force --volumes one database')
  return metrics
}

async function untilHealthy(docker: Shell): Promise<void> {
  for (const until = Date.now() + HEALTHY_MS; ; await sleep(500)) {
    const state = await docker('docker inspect --format {{.State.Health.Status}} one')
    if (state.trim() === 'healthy') return
    if (Date.now() > until) throw new Error(`the health check says ${state}`)
  }
}
