/** "Containers on one machine": the compose file, from nothing to a granted device. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { grantDevice, untilReady } from './device.ts'
import { blocksOf, commandsOf, type Substitution, substitute } from './document.ts'
import { check, count, time } from './report.ts'
import { runAll, type Shell } from './shell.ts'

const FILE = 'deploy/compose.yaml'

/** Of Debian's docker-compose 1.29. */
export const OLD_COMPOSE: readonly Substitution[] = [
  { from: 'docker compose ', to: 'docker-compose ', why: "Debian's is a program of its own" },
  { from: ' exec ', to: ' exec -T ', why: 'it asks for a terminal otherwise' },
]

export async function runCompose(docker: Shell, folder: string, times: number): Promise<void> {
  const text = blocksOf('Containers on one machine').flatMap(commandsOf).join('\n')
  const commands = substitute('Compose', text, OLD_COMPOSE).split('\n')
  const file = readFileSync(join(folder, FILE), 'utf8')
  const name = { from: 'name: latchkey\n', to: '', why: 'docker-compose 1.29 reads it from COMPOSE_PROJECT_NAME' }
  writeFileSync(join(folder, FILE), substitute('Compose', file, [name]))
  for (let round = 1; round <= times; round += 1) {
    console.log(`           ${round} of ${times}`)
    await once(docker, commands)
  }
}

async function once(docker: Shell, [up = '', ...others]: readonly string[]): Promise<void> {
  const compose = `docker-compose --file ${FILE}`
  try {
    await time('from nothing to ready', async () => {
      await runAll(docker, [up])
      await untilReady(docker)
    })
    const outputs = await runAll(docker, others)
    check('doctor finds no problems', /No problems found/.test(outputs.at(-1) ?? ''), outputs.at(-1))
    await grantDevice(docker, (words) => docker(`${compose} exec -T latchkey latchkey ${words}`))
    await time('docker-compose stop latchkey', () => docker(`${compose} stop latchkey`))
    const status = await docker('docker inspect --format {{.State.ExitCode}} latchkey_latchkey_1')
    check('the service ended with status 0', status.trim() === '0', status)
    count('compose rounds')
  } finally {
    await docker(`${compose} down --volumes`)
  }
}
