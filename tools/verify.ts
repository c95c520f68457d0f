/** `npm run verify -- NAME`: proofs that take longer than tests. Each file begins with its options. */
import { type Program, runProgram } from './programs.ts'

export const PROOFS: Readonly<Record<string, Program>> = {
  'at-once': {
    file: 'server/test/scale/verify-at-once.ts',
    about: '50,000 held polls over four processes: time from a decision to the device, and memory of a poll.',
  },
  attacks: {
    file: 'server/test/attacks/verify-attacks.ts',
    about: 'Every test of the catalogue of attacks. --full: at the sizes of the catalogue, which takes hours.',
  },
  failover: {
    file: 'server/test/faults/postgres/verify-failover.ts',
    about:
      'PostgreSQL with Patroni fails over under load. Twelve minutes; needs root, Patroni, etcd, HAProxy and nftables.',
  },
  'fair-share': {
    file: 'server/test/scale/verify-fair-share.ts',
    about: 'A flood of one application does not delay another.',
  },
  faults: {
    file: 'server/test/faults/verify-faults.ts',
    about: 'Every fault of docs/reliability.md, by its id. --ids F31,F32: some of them.',
  },
  'first-hour': {
    file: 'tools/verify-first-hour.ts',
    about: 'The commands of the README, word for word, in a fresh clone, with a user in Chromium.',
  },
  'gate-failover': {
    file: 'server/test/faults/gate/verify-gate-failover.ts',
    about: 'Masters of a Redis with replicas are killed, frozen and emptied under load.',
  },
  histories: {
    file: 'server/test/history/verify-histories.ts',
    about: 'The checker of histories, on a million of them.',
  },
  install: {
    file: 'tools/verify-install.ts',
    about: 'The commands of docs/install.md, word for word. Needs root, Docker, Compose and mmdebstrap.',
  },
  manage: {
    file: 'server/test/scale/verify-manage.ts',
    about: 'Objects are created through the management API while answers are lost; then the consoles are measured.',
  },
  messages: {
    file: 'server/test/faults/messages/verify-messages.ts',
    about: 'Each message between a server and PostgreSQL or Redis is lost, delayed or reset, one at a time.',
  },
  model: {
    file: 'server/test/model/verify-model.ts',
    about: 'The state machine and servers behave as a reference model.',
  },
  mutation: {
    file: 'server/test/mutation/verify-mutation.ts',
    about: 'Stryker changes the code, and a test has to fail. --full: all of core/ and secrets/.',
  },
  origins: {
    file: 'server/test/origins/verify-origins.ts',
    about: 'Tests of attacks and in a browser, once for each origin of users.',
  },
  outages: {
    file: 'server/test/faults/verify-outages.ts',
    about: 'PostgreSQL and Redis are killed and frozen during requests.',
  },
  'own-users': {
    file: 'server/test/origins/verify-own-users.ts',
    about: 'Users of a host service and of an identity provider connect a device, and lose their permission there.',
  },
  packages: {
    file: 'tools/verify-packages.ts',
    about: 'Each package is packed, installed alone and used.',
  },
  pages: {
    file: 'server/test/browser/verify-pages.ts',
    about: 'Accessibility, texts and widths of every page and every answer of a form, in all languages.',
  },
  processes: {
    file: 'server/test/faults/process/verify-processes.ts',
    about: 'Processes of `serve --processes` are replaced under load; processor time of a poll in one and in two.',
  },
  propagation: {
    file: 'server/test/races/verify-propagation.ts',
    about: 'Time until three processes reject a revoked credential.',
  },
  races: {
    file: 'server/test/races/verify-races.ts',
    about: 'Several processes race for the same codes; nothing is issued twice.',
  },
  refresh: {
    file: 'server/test/races/verify-refresh.ts',
    about: 'Three processes refresh the same tokens at once; then old tokens are reused.',
  },
  restarts: {
    file: 'server/test/faults/process/verify-restarts.ts',
    about: 'Two processes behind HAProxy are replaced in turn under load; no request fails.',
  },
  restore: {
    file: 'server/test/faults/restore/verify-restore.ts',
    about: 'Backup and restore as docs/operations/backup.md says, under load. Needs pgBackRest.',
  },
  'sdk-faults': {
    file: 'sdk/test/verify-sdk-faults.ts',
    about: 'A thousand devices with the client library on an unreliable network.',
  },
  'sdk-pacing': {
    file: 'sdk/test/verify-sdk-pacing.ts',
    about: 'The client library never polls too early, in virtual and in real time.',
  },
  'sdk-runtimes': {
    file: 'sdk/test/runtimes/verify-sdk-runtimes.ts',
    about: 'The client library on Node 20, Deno, Bun and in Chromium.',
  },
  site: {
    file: 'tools/verify-site.ts',
    about: 'The built documentation in a browser: links, search, diagrams, widths, accessibility.',
  },
  soak: {
    file: 'server/test/faults/soak/verify-soak.ts',
    about: 'Every flow under faults at random for ten minutes; nothing grows. --hours 1: longer.',
  },
  stuffing: {
    file: 'server/test/scale/verify-stuffing.ts',
    about: 'Leaked passwords from a thousand networks get nowhere while honest users sign in.',
  },
  suspension: {
    file: 'server/test/model/verify-suspension.ts',
    about: 'An attacker with the secret causes no suspension; a broken firmware is caught.',
  },
  webhooks: {
    file: 'server/test/faults/webhooks/verify-webhooks.ts',
    about: 'A server is killed a hundred times; every webhook arrives.',
  },
}

// Not awaited: a proof that imports this table would wait for itself.
if (import.meta.main) void runProgram('verify', PROOFS)
