/** Client of HAProxy's runtime API: replaces a map of a running HAProxy at once (management guide, section 9.3). */
import { once } from 'node:events'
import { connect } from 'node:net'

/** HAProxy answers from memory. */
const TIMEOUT_MS = 2_000

/** Below `tune.bufsize`, 16 KiB by default, which bounds a command. */
const MAX_PAYLOAD_CHARACTERS = 12_000

/** Sends one command over a connection of its own, which HAProxy closes after its answer. */
async function command(socketPath: string, text: string): Promise<string> {
  const socket = connect(socketPath)
  socket.setEncoding('utf8')
  socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error(`HAProxy does not answer at ${socketPath}`)))
  let answer = ''
  socket.on('data', (chunk: string) => {
    answer += chunk
  })
  socket.write(`${text}\n`)
  await once(socket, 'end')
  socket.destroy()
  return answer.trim()
}

/** Null: the map has no such key. `file`: as in the configuration. */
export async function readMapValue(socketPath: string, file: string, key: string): Promise<string | null> {
  const answer = await command(socketPath, `get map ${file} ${key}`)
  if (!answer.startsWith('type=')) throw new Error(`HAProxy answered: ${answer}`)
  return /\bvalue="([^"]*)"/.exec(answer)?.[1] ?? null
}

/** All entries are replaced at the same moment, by those of a new version of the map. */
export async function replaceMap(socketPath: string, file: string, text: string): Promise<void> {
  const created = await command(socketPath, `prepare map ${file}`)
  const version = /^New version created: (\d+)$/.exec(created)?.[1]
  if (version === undefined) throw new Error(`HAProxy answered: ${created}`)
  for (const lines of payloads(text)) {
    await expectDone(command(socketPath, `add map @${version} ${file} <<\n${lines}`))
  }
  await expectDone(command(socketPath, `commit map @${version} ${file}`))
}

async function expectDone(answering: Promise<string>): Promise<void> {
  const answer = await answering
  if (answer !== '') throw new Error(`HAProxy answered: ${answer}`)
}

/** Whole lines; an empty line would end the payload. */
function payloads(text: string): string[] {
  const found: string[] = []
  let some = ''
  for (const line of text.split('\n')) {
    if (line === '') continue
    if (some.length + line.length >= MAX_PAYLOAD_CHARACTERS) {
      found.push(some)
      some = ''
    }
    some += `${line}\n`
  }
  return some === '' ? found : [...found, some]
}
