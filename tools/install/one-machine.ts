/** "One machine": a clean Debian with systemd and PostgreSQL, in a container without a network. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { grantDevice } from './device.ts'
import { type Block, blocksOf, commandsOf, type Substitution, substitute } from './document.ts'
import { check, count, time } from './report.ts'
import { runAll, type Shell } from './shell.ts'
import { MAIL_CATCHER } from './stand-ins.ts'

const PROGRAM: readonly Substitution[] = [
  { from: 'git clone …', to: 'git clone /source', why: 'a clone of the commit that is verified' },
]
const DATABASE: readonly Substitution[] = [{ from: '…', to: 'secret', why: 'a password' }]
const SETTINGS: readonly Substitution[] = [
  { from: ':…@', to: ':secret@', why: 'a password' },
  { from: 'db.internal:5432', to: '127.0.0.1:5432', why: 'PostgreSQL is on the same machine' },
  { from: 'PUBLIC_URL=https://service.example', to: 'PUBLIC_URL=http://localhost:8080', why: 'there is no proxy' },
]
const START: readonly Substitution[] = SETTINGS.slice(0, 2)
export const MACHINE_SUBSTITUTIONS: readonly Substitution[] = [...PROGRAM, ...DATABASE, ...SETTINGS]

/** The level of `systemd-analyze security`, from 0 to 10: how much the unit is exposed. */
const HIGHEST_EXPOSURE = 2.5

const READ_ONLY = '--volume /sys/fs/cgroup:/sys/fs/cgroup:ro'
/** What systemd needs as the first process of a container. The network has a loopback interface only. */
const SYSTEMD_OPTIONS = `--cap-add SYS_ADMIN --security-opt seccomp=unconfined --security-opt apparmor=unconfined \
--tmpfs /run:exec --tmpfs /run/lock --tmpfs /tmp ${READ_ONLY} --env container=docker --network none`

/** Commands in order: the program, its settings, the start. The unit itself is shown as well. */
function readBlocks(): { program: Block; database: Block; settings: Block; secrets: Block; start: Block } {
  const blocks = blocksOf('One machine')
  const [program, settings, start] = blocks.filter(({ language }) => language === 'sh')
  const database = blocks.find(({ language }) => language === 'sql')
  const secrets = blocks.find(({ language, text }) => language === 'ini' && text.includes('smtp-url'))
  if (!program || !settings || !start || !database || !secrets) throw new Error('"One machine" has other blocks')
  return { program, database, settings, secrets, start }
}

/** With the network of this machine: npm downloads packages. */
export async function installProgram(docker: Shell, clone: string): Promise<void> {
  await docker(
    `docker run --detach --name program --network host --volume ${clone}:/source:ro machine:node sleep infinity`,
  )
  const inside: Shell = (command) => docker('docker exec --interactive program bash -e', command)
  const { program } = readBlocks()
  const commands = commandsOf({ ...program, text: substitute('One machine', program.text, PROGRAM) })
  await time('1. the program', () => runAll(inside, commands))
  await docker('docker commit program machine:installed && docker rm --force program')
}

export async function runOneMachine(docker: Shell): Promise<void> {
  const { database, settings, secrets, start } = readBlocks()
  await docker(`docker run --detach --name machine ${SYSTEMD_OPTIONS} machine:installed /sbin/init`)
  const inside: Shell = (command) =>
    docker('docker exec --interactive --workdir /opt/latchkey machine bash -e', command)
  // A container's file system is private, and systemd passes secrets to a unit (LoadCredential) through a shared one.
  await inside('mount --make-rshared /')
  await time('systemd and PostgreSQL start', () => inside('until pg_isready --quiet; do sleep 0.2; done'))

  const statements = substitute('One machine', database.text, DATABASE)
  await time('2. the database', () => inside(`su postgres -c 'psql -v ON_ERROR_STOP=1' <<'END'\n${statements}END`))

  const commands = commandsOf({ ...settings, text: substitute('One machine', settings.text, SETTINGS) })
  await time('3. settings', () => runAll(inside, commands))
  await inside(`cat > /opt/mail.js <<'END'
${MAIL_CATCHER}END
setsid node /opt/mail.js > /dev/null 2>&1 < /dev/null &`)
  await inside('redis-server deploy/redis/latchkey.conf --daemonize yes')
  await inside(`umask 077
echo smtp://127.0.0.1:1025 > /etc/latchkey/smtp-url
echo redis://latchkey:change-this-password@127.0.0.1:6379 > /etc/latchkey/redis-url
install -d /etc/systemd/system/latchkey.service.d
cat > /etc/systemd/system/latchkey.service.d/override.conf <<'END'
${secrets.text}END`)
  console.log('           instead of "systemctl edit latchkey": the same lines in override.conf (no terminal)')

  const [migrate = '', role = '', ...others] = commandsOf({
    ...start,
    text: substitute('One machine', start.text, START),
  })
  const doctor = others.pop() ?? ''
  await time('4. migrations and the role', () => runAll(inside, [migrate, role]))
  await time('4. the service is started', () => runAll(inside, others))
  const health = await inside('curl --fail --silent --show-error http://127.0.0.1:8080/health/ready')
  check('it listens when systemd says that it was started', health === '{"status":"ready","gate":"up"}', health)
  const [findings = ''] = await runAll(inside, [doctor])
  check('doctor finds no problems, with the settings of the service', /No problems found/.test(findings), findings)

  await inside('latchkey scope create orders:read --title "See orders"')
  await inside('latchkey account create --slug acme --name Acme --administrator ann@acme.example')
  await grantDevice(
    (command, input = '') => inside(`${command} <<'END'\n${input}\nEND`),
    (words) => inside(`latchkey ${words}`),
  )
  await checkUnit(inside)
  await checkReload(inside)
  await checkJournal(inside)
  await time('systemctl stop', () => inside('systemctl stop latchkey'))
  const result = await inside('systemctl show --property Result --value latchkey')
  check('it drained and ended with success', result.trim() === 'success', result)
  await docker('docker rm --force --volumes machine')
  count('machines installed')
}

const MAIN_PID = '$(systemctl show --property MainPID --value latchkey)'
/** User of the service. */
const USER = `stat --format %U /proc/${MAIN_PID}`

/** Every process is replaced, and the supervisor stays. */
async function checkReload(inside: Shell): Promise<void> {
  const readProcesses = async (): Promise<readonly string[]> =>
    (await inside(`cat /proc/${MAIN_PID}/task/${MAIN_PID}/children`)).match(/\d+/g) ?? []
  const before = await readProcesses()
  await time('systemctl reload', () => inside('systemctl reload latchkey'))
  let left = before
  for (let second = 0; left.length > 0 && second < 60; second += 1) {
    await sleep(1_000)
    const now = await readProcesses()
    left = before.filter((pid) => now.includes(pid))
  }
  check('systemctl reload replaces every process', before.length > 0 && left.length === 0, { before, left })
  await inside('curl --fail --silent --show-error http://127.0.0.1:8080/health/ready')
}

/** The service and the command line, which root runs, append to the same file. */
async function checkJournal(inside: Shell): Promise<void> {
  const [setting = ''] = /^REVOCATION_JOURNAL=.*$/m.exec(readFileSync('docs/operations/backup.md', 'utf8')) ?? []
  const path = setting.split('=')[1]
  await inside(`echo ${setting} >> /etc/latchkey/environment && systemctl restart latchkey`)
  const owner = await inside(`stat --format %U ${path}`)
  check('the service has a revocation journal', owner === (await inside(USER)), owner)
  await inside(`mv ${path} ${path}.1 && latchkey account create --slug other --name Other`)
  const created = await inside(`stat --format %U ${path}`)
  check('a journal that root begins belongs to the service', created === owner, created)
}

async function checkUnit(inside: Shell): Promise<void> {
  const said = await inside('systemd-analyze verify /etc/systemd/system/latchkey.service 2>&1')
  check('systemd-analyze verify says nothing', said === '', said)
  const level = await inside('systemd-analyze security --no-pager latchkey.service | tail -1')
  const exposure = Number(/: (\d+\.\d)/.exec(level)?.[1])
  check(`systemd-analyze security: ${exposure}, at most ${HIGHEST_EXPOSURE}`, exposure <= HIGHEST_EXPOSURE, level)
  const user = await inside(USER)
  check('the service runs as a user of its own', user.trim() !== 'root' && user.trim() !== '', user)
}
