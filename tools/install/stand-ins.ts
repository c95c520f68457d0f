/**
 * Base images, made from Debian's packages: no registry of images is needed. They have the names that the Dockerfile and the compose file
 * ask for.
 */
import { cpSync, existsSync, mkdirSync, realpathSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { time } from './report.ts'
import { createShell, type Shell } from './shell.ts'

const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'

/** Packages of the two Debian roots: what is below Node's image, and a server with the parts that Latchkey needs. */
const ROOTS = {
  base: 'ca-certificates',
  machine: 'ca-certificates,curl,dbus,git,postgresql,redis-server,systemd,systemd-sysv',
} as const

/**
 * Entrypoint. Like the official image's, it first starts PostgreSQL on the Unix socket only; here for five seconds, so
 * that a health check over the socket, which succeeds too early, is noticed.
 */
const POSTGRES = `#!/bin/sh
set -e
data=/var/lib/postgresql/data
export PATH=/usr/lib/postgresql/15/bin:$PATH
as_postgres() { setpriv --reuid=postgres --regid=postgres --init-groups "$@"; }
install -d -o postgres "$data" /var/run/postgresql
if [ ! -s "$data/PG_VERSION" ]; then
  echo "$POSTGRES_PASSWORD" > /tmp/password && chmod 644 /tmp/password
  as_postgres initdb -D "$data" --username="$POSTGRES_USER" --pwfile=/tmp/password --auth-local=trust --auth-host=scram-sha-256
  as_postgres pg_ctl -D "$data" -o "-c listen_addresses=''" -w start
  as_postgres createdb --username="$POSTGRES_USER" "$POSTGRES_DB"
  sleep 5
  as_postgres pg_ctl -D "$data" -w stop
  echo "host all all all scram-sha-256" >> "$data/pg_hba.conf"
fi
exec setpriv --reuid=postgres --regid=postgres --init-groups postgres -D "$data" -c listen_addresses='*'
`

/** Accepts every message. */
export const MAIL_CATCHER = `require('node:net').createServer((socket) => {
  socket.setEncoding('utf8').on('error', () => {}).write('220 mail\\r\\n')
  let data = false
  socket.on('data', (text) => {
    if (data) { if (!text.endsWith('\\r\\n.\\r\\n')) return; data = false; return socket.write('250 kept\\r\\n') }
    for (const line of text.split('\\r\\n').filter(Boolean)) {
      data = /^DATA/i.test(line)
      socket.write(data ? '354 go on\\r\\n' : /^QUIT/i.test(line) ? '221 bye\\r\\n' : '250 ok\\r\\n')
    }
  })
}).listen(1025)
`

export const IMAGES = [
  ['node:24.21.0-bookworm-slim', "Debian 12 with this machine's Node, npm and certificates"],
  ['postgres:17-bookworm', "Debian's PostgreSQL 15, whose first start takes five seconds longer"],
  ['valkey/valkey:8-bookworm', "Debian's Redis 7"],
  ['axllent/mailpit:v1.27', 'a program of ten lines that accepts mails'],
] as const

/** Kept between runs, because nothing of ours is in them. */
export async function makeRoots(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const shell = createShell(['bash', '-c'])
  const make = async ([name, packages]: [string, string]) => {
    const path = join(folder, `${name}.tar`)
    if (existsSync(path)) return console.log(`           ${name}: made by an earlier run`)
    await shell(
      `mmdebstrap --quiet --format=tar --variant=minbase --dpkgopt=force-unsafe-io --include=${packages} bookworm ${path}.part`,
    )
    renameSync(`${path}.part`, path)
  }
  await time('two Debian roots, by mmdebstrap', () => Promise.all(Object.entries(ROOTS).map(make)))
}

export async function makeImages(docker: Shell, roots: string, context: string): Promise<void> {
  for (const name of Object.keys(ROOTS)) {
    await time(`docker import ${name}`, () => docker(`docker import ${join(roots, `${name}.tar`)} ${name}:local`))
  }
  mkdirSync(context, { recursive: true })
  const npm = dirname(dirname(realpathSync((await docker('command -v npm')).trim())))
  cpSync(process.execPath, join(context, 'node'))
  cpSync(npm, join(context, 'npm'), { recursive: true, dereference: true })
  cpSync(CERTIFICATES, join(context, 'certificates.crt'))
  writeFileSync(join(context, 'postgres'), POSTGRES, { mode: 0o755 })
  writeFileSync(join(context, 'mail.js'), MAIL_CATCHER)

  const node = (base: string, prefix: string) => `FROM ${base}
COPY node ${prefix}/bin/node
COPY npm ${prefix}/lib/node_modules/npm
COPY certificates.crt ${CERTIFICATES}
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js ${prefix}/bin/npm
ENV NODE_EXTRA_CA_CERTS=${CERTIFICATES}
`
  const [[nodeImage], [postgres], [valkey], [mail]] = IMAGES
  const dockerfiles: readonly (readonly [string, string])[] = [
    [nodeImage, `${node('base:local', '/usr/local')}RUN useradd --uid 1000 --create-home node\n`],
    [postgres, 'FROM machine:local\nCOPY postgres /usr/local/bin/entrypoint\nENTRYPOINT ["entrypoint"]\n'],
    [
      valkey,
      'FROM machine:local\nRUN ln -s redis-server /usr/bin/valkey-server && ln -s redis-cli /usr/bin/valkey-cli\n' +
        'RUN printf \'#!/bin/sh\\nexec "$@" --protected-mode no\\n\' > /usr/local/bin/entrypoint && chmod +x /usr/local/bin/entrypoint\n' +
        'ENTRYPOINT ["entrypoint"]\n',
    ],
    [mail, `FROM ${nodeImage}\nCOPY mail.js /mail.js\nCMD ["node", "/mail.js"]\n`],
    // Debian starts its Redis by itself, with a sandbox that a container does not allow.
    ['machine:node', `${node('machine:local', '/usr')}RUN systemctl mask redis-server.service\n`],
  ]
  await time('base images', async () => {
    for (const [tag, text] of dockerfiles) {
      writeFileSync(join(context, 'Dockerfile'), text)
      await docker(`docker build --quiet --network none --tag ${tag} ${context}`)
    }
  })
}
