/** docs/command-line.md: every command in it is run as it stands there, in a terminal, and says what the page says that it does. */
import { spawn } from 'node:child_process'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { STATUSES } from '../../src/cli/output.ts'
import { sealBatch } from '../../src/flows/audit/seal.ts'
import { engineUrl } from '../rig/engines/database.ts'
import {
  type MadeApplication,
  type MadeUser,
  makeAccount,
  makeApplication,
  makeEnvironment,
  makeUser,
} from '../rig/make.ts'
import { type Mailbox, startMailbox } from '../rig/network/mailbox.ts'
import { EXECUTABLE, type Home, makeHome } from '../rig/process/command.ts'
import { startTestService, type TestService } from '../rig/service.ts'

const TERMINAL = new URL('../rig/process/terminal.py', import.meta.url).pathname
const page = readFileSync(new URL('../../../docs/command-line.md', import.meta.url), 'utf8')

type Sample = { readonly command: string; readonly shown: readonly string[] }

/** A block for the shell, and what the blocks of text after it say that it shows. */
const samples: readonly Sample[] = page
  .split(/^(?=```sh$)/m)
  .slice(1)
  .map((part) => {
    const blocks = Array.from(part.matchAll(/^```(sh|text)\n(.*?)^```$/gms), ([, kind, text = '']) => ({ kind, text }))
    return { command: blocks[0]?.text ?? '', shown: blocks.slice(1).map(({ text }) => text) }
  })

let service: TestService
let mailbox: Mailbox
let program: MadeApplication
let ann: MadeUser
let home: Home
beforeAll(async () => {
  mailbox = await startMailbox()
  service = await startTestService({ POLL_INTERVAL: '1', REDIS_URL: engineUrl('REDIS_URL') })
  const { db } = service.context
  await makeAccount(db, { slug: 'acme' })
  ann = await makeUser(db, 'acme', { email: 'ann@acme.example' })
  program = await makeApplication(db, service.config, 'acme', { public: true })
  await service.context.applications.refresh()
  while ((await sealBatch(service.context)) > 0);
  home = makeHome()
  writeFileSync(join(home.folder, 'bin', 'latchkey'), `#!/bin/sh\nexec '${process.execPath}' '${EXECUTABLE}' "$@"\n`)
  chmodSync(join(home.folder, 'bin', 'latchkey'), 0o755)
})
afterAll(async () => {
  home.remove()
  await service.stop()
  await mailbox.stop()
})

/** As the page writes it, and as it is here. */
const places = () =>
  [
    ['https://service.example', service.config.publicUrl],
    ['https://acme.service.example', service.config.publicUrl.replace('//', `//${service.account.slug}.`)],
    ['app_a5vweekf4kf3', program.id],
    ['usr_k49jr2r5kvxb', ann.id],
    ['/home/ann/.config/', `${home.folder}/config/`],
    ['account acme', `account ${service.account.slug}`],
    [
      'role latchkey_service does not own the tables and has all required privileges',
      `role ${new URL(service.database.url).username} owns the tables`,
    ],
  ] as const

/** What stays the same from one day to the next: no numbers, no room between words. */
function settled(text: string): readonly string[] {
  // A line that is drawn again is another line.
  const shown = stripVTControlCharacters(text.replaceAll('\u001b[1G', '\n'))
  const plain = places().reduce((now, [written, here]) => now.replaceAll(here, written), shown)
  const lines = plain.replace(/\d+(\.\d+)*/g, '0').split(/[\r\n]+/)
  return lines.map((line) => line.trim().replace(/\s+/g, ' ')).filter((line) => line !== '')
}

/** In a terminal, with the demo's application in the environment, as `npm run dev` leaves it; codes are granted by ann. */
async function run(command: string): Promise<{ status: number; shown: string }> {
  const here = places().reduce((now, [written, real]) => now.replaceAll(written, real), command)
  const environment = makeEnvironment({
    DATABASE_URL: service.database.url,
    REDIS_URL: engineUrl('REDIS_URL'),
    PUBLIC_URL: service.config.publicUrl,
    SMTP_URL: mailbox.url,
    ...(command.includes('demo')
      ? {
          LATCHKEY_SERVER: service.config.publicUrl,
          LATCHKEY_APP: service.application.id,
          LATCHKEY_SECRET: service.application.secret,
        }
      : {}),
  })
  const env = { ...environment, ...home.environment }
  const child = spawn('python3', [TERMINAL, 'bash', '-ec', here], { env, stdio: ['pipe', 'pipe', 'inherit'] })
  let [shown, granted] = ['', false]
  child.stdout.on('data', (data) => {
    shown += data
    const [, code] = /Your code\s+([\d ]+\d) +valid/.exec(stripVTControlCharacters(shown)) ?? []
    if (!code || granted) return
    granted = true
    void service.grant(code.replaceAll(' ', ''), ann)
  })
  const status = await new Promise<number>((resolve) => child.on('close', (code) => resolve(code ?? -1)))
  return { status, shown }
}

it('has a sample for every command that it is about', () => {
  const all = samples.map(({ command }) => command).join('')
  for (const command of ['login', 'status', 'token', 'logout', 'demo', 'doctor'])
    expect(all).toContain(`latchkey ${command}`)
})

it.each(samples)('$command', async ({ command, shown }) => {
  const ended = await run(command)
  expect(ended.status, ended.shown).toBe(0)
  const lines = settled(ended.shown)
  for (const line of shown.flatMap(settled)) expect(lines).toContain(line)
})

it('lists the same statuses as --help', () => {
  const listed = Array.from(page.matchAll(/^\| +(\d+) \| (.*?) +\|$/gm), ([, status]) => status)
  expect(listed).toEqual(Array.from(STATUSES.matchAll(/^ {2}(\d+) /gm), ([, status]) => status))
})
