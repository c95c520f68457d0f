/** Reference of the client library: one page per import, as TypeDoc writes it from the comments in sdk/src. Empty before the site is built. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Page, ROOT } from './pages.ts'

/** Where TypeDoc writes (typedoc.json). */
const FOLDER = 'site/.sdk'

const IMPORTS: Readonly<Record<string, { readonly name: string; readonly about: string }>> = {
  index: {
    name: '@latchkey/sdk',
    about: 'Everything for devices, programs and servers: device flow, dialog, verifier.',
  },
  browser: { name: '@latchkey/sdk/browser', about: 'The dialog for web pages, without the device flow.' },
  node: { name: '@latchkey/sdk/node', about: 'Credentials in a file, for programs on the machines of users.' },
  'middleware.express': { name: '@latchkey/sdk/express', about: 'Protects an API with Express or `node:http`.' },
  'middleware.fastify': { name: '@latchkey/sdk/fastify', about: 'Protects an API with Fastify.' },
  'middleware.hono': { name: '@latchkey/sdk/hono', about: 'Protects an API with Hono.' },
  testing: { name: '@latchkey/sdk/testing', about: 'A service without a network, for your own tests.' },
}

export function readSdkPages(): readonly Page[] {
  return Object.entries(IMPORTS).flatMap(([file, { name, about }]) => {
    const source = `${FOLDER}/${file}.md`
    if (!existsSync(join(ROOT, source))) return []
    // Rows of tables have anchors that no link uses, and several rows the same one.
    const text = readFileSync(join(ROOT, source), 'utf8').replace(/<a id="[^"]*"><\/a> ?/g, '')
    const markdown = text.replace(/^# .*$/m, `# ${name}\n\n${about}`)
    return [{ source, slug: `sdk/${file.replace('middleware.', '').replace('index', 'main')}`, title: name, markdown }]
  })
}
