/** From a change to a release: workflows with minimal permissions, and the bill of materials. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { makeBillOfMaterials } from '../../tools/sbom.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

type Step = {
  readonly uses?: string
  readonly run?: string
  readonly with?: Record<string, unknown>
}
type Job = {
  readonly permissions?: Record<string, string>
  readonly strategy?: { readonly matrix: { readonly job?: readonly string[] } }
  readonly 'timeout-minutes'?: number
  readonly steps: readonly Step[]
}
type Workflow = {
  readonly on: Record<string, unknown>
  readonly permissions: unknown
  readonly concurrency?: unknown
  readonly jobs: Record<string, Job>
}

const workflows = readdirSync(join(ROOT, '.github', 'workflows')).sort()

describe.each(workflows)('.github/workflows/%s', (name) => {
  const text = read(`.github/workflows/${name}`)
  const workflow: Workflow = parse(text)
  const jobs = Object.values(workflow.jobs)
  const steps = jobs.flatMap((job) => job.steps)

  test('grants nothing to a job that does not ask for it, and every job asks', () => {
    expect(workflow.permissions).toEqual({})
    expect(jobs.filter(({ permissions }) => permissions === undefined)).toEqual([])
    const asked = jobs.flatMap(({ permissions = {} }) => Object.values(permissions))
    expect(asked.filter((each) => !['read', 'write'].includes(each))).toEqual([])
  })

  test('pins actions by commit, with the version as a comment', () => {
    const used = Array.from(text.matchAll(/uses: (.*)$/gm), ([, line]) => line)
    expect(used).toHaveLength(steps.filter(({ uses }) => uses !== undefined).length)
    expect(used.filter((line) => !/^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line ?? ''))).toEqual([])
  })

  test('never runs code of forks with our permissions, and never interpolates their text into a command', () => {
    expect(Object.keys(workflow.on)).not.toContain('pull_request_target')
    expect(Object.keys(workflow.on)).not.toContain('workflow_run')
    expect(steps.filter(({ run = '' }) => run.includes('${{'))).toEqual([])
    expect(text).not.toMatch(/secrets\./)
  })

  test('leaves no credential in the clone', () => {
    const checkouts = steps.filter(({ uses = '' }) => uses.startsWith('actions/checkout@'))
    expect(checkouts.map((step) => step.with?.['persist-credentials'])).toEqual(checkouts.map(() => false))
  })

  test('has time limits', () => {
    expect(jobs.filter((job) => job['timeout-minutes'] === undefined)).toEqual([])
    expect(workflow.concurrency).toBeDefined()
  })
})

test.each([
  ['ci', 'CHANGE'],
  ['nightly', 'NIGHTLY'],
])('%s.yml runs the jobs of .ci/run', (name, list) => {
  const { jobs }: Workflow = parse(read(`.github/workflows/${name}.yml`))
  const [job] = Object.values(jobs)
  expect(job?.steps.map(({ run }) => run)).toContain('.ci/run "$JOB"')
  const [, named = ''] = new RegExp(`^${list}=\\((.*)\\)$`, 'm').exec(read('.ci/run')) ?? []
  expect(job?.strategy?.matrix.job).toEqual(named.split(' '))
})

test('a change is checked with read permission only', () => {
  const workflow: Workflow = parse(read('.github/workflows/ci.yml'))
  expect(Object.values(workflow.jobs).map(({ permissions }) => permissions)).toEqual(
    Object.values(workflow.jobs).map(() => ({ contents: 'read' })),
  )
})

test('all benchmarks run on schedule and manually, and fail the run when one fails', () => {
  const workflow: Workflow = parse(read('.github/workflows/benchmarks.yml'))
  expect(Object.keys(workflow.on)).toEqual(['schedule', 'workflow_dispatch'])
  const run = Object.values(workflow.jobs).flatMap(({ steps }) => steps.map((step) => step.run))
  expect(run).toContain('npm run -s bench -- all --peers')
})

test('docs/install.md is run on schedule and manually, and the chart is rendered by helm', () => {
  const workflow: Workflow = parse(read('.github/workflows/install.yml'))
  expect(Object.keys(workflow.on)).toEqual(['schedule', 'workflow_dispatch'])
  const run = Object.values(workflow.jobs).flatMap(({ steps }) => steps.map((step) => step.run ?? ''))
  for (const command of ['npm run -s verify -- install', 'helm lint --strict', 'helm template', '--dry-run=server']) {
    expect(run.filter((each) => each.includes(command)).length, command).toBeGreaterThan(0)
  }
})

test('the site is built and checked when a document changes, and on schedule', () => {
  const workflow: Workflow = parse(read('.github/workflows/site.yml'))
  expect(Object.keys(workflow.on)).toEqual(['push', 'pull_request', 'schedule', 'workflow_dispatch'])
  expect(Object.values(workflow.jobs).flatMap(({ steps }) => steps.map((step) => step.run))).toContain(
    'npm run -s verify -- site',
  )
})

test.each(['ci', 'benchmarks', 'site'])('%s.yml runs on the Debian and the Node that the container has', (name) => {
  const images = Array.from(read(`.github/workflows/${name}.yml`).matchAll(/container: (\S+)/g), ([, image]) => image)
  const [, base] = /^FROM (\S+)-slim/m.exec(read('deploy/container/Dockerfile')) ?? []
  expect(new Set(images)).toEqual(new Set([base]))
})

test('no job can both publish and open pull requests', () => {
  const { jobs }: Workflow = parse(read('.github/workflows/release.yml'))
  const rights = Object.values(jobs).map(({ permissions = {} }) => Object.keys(permissions))
  expect(rights.filter((each) => each.includes('id-token') && each.includes('pull-requests'))).toEqual([])
})

test('a release publishes packages, image and chart, each signed or attested by this workflow', () => {
  const { jobs }: Workflow = parse(read('.github/workflows/release.yml'))
  const commandsOf = (name: string) =>
    jobs[name]?.steps.map(({ run = '', uses = '' }) => `${run}${uses}`).join('\n') ?? ''
  expect(read('.github/workflows/release.yml')).toContain('NPM_CONFIG_PROVENANCE: "true"')
  expect(commandsOf('packages-work')).toContain('npm run -s verify -- packages')
  expect(commandsOf('packages-are-published')).toMatch(
    /npm run build[\s\S]*release-version\.ts --notes[\s\S]*changesets\/action\/publish/,
  )
  expect(commandsOf('image-is-published')).toMatch(/cosign sign[\s\S]*attest-build-provenance/)
  expect(commandsOf('chart-is-published')).toMatch(/helm push[\s\S]*cosign sign/)
  const scripts = Object.keys(JSON.parse(read('package.json')).scripts)
  const called = Object.keys(jobs).flatMap((name) =>
    Array.from(commandsOf(name).matchAll(/npm run (?:-s )?([\w:-]+)/g), ([, script = '']) => script),
  )
  expect(called.filter((script) => !scripts.includes(script))).toEqual([])
})

test('vulnerability reports are private', () => {
  const config = parse(read('.github/ISSUE_TEMPLATE/config.yml'))
  expect(config.blank_issues_enabled).toBe(false)
  expect(config.contact_links[0].url).toMatch(/\/security\/advisories\/new$/)
  expect(read('SECURITY.md')).toMatch(/^## Reporting$/m)
})

test('updates are checked wherever a version is pinned', () => {
  const { updates } = parse(read('.github/dependabot.yml'))
  expect(updates.map((each: Record<string, string>) => [each['package-ecosystem'], each.directory])).toEqual([
    ['npm', '/'],
    ['npm', '/site'],
    ['github-actions', '/'],
    ['docker', '/deploy/container'],
    ['docker-compose', '/deploy'],
  ])
})

test('changesets name packages that exist, and release all packages together', () => {
  const packages = ['server', 'sdk', 'cli'].map((folder) => JSON.parse(read(`${folder}/package.json`)).name)
  expect(JSON.parse(read('.changeset/config.json')).fixed).toEqual([packages])
  const waiting = readdirSync(join(ROOT, '.changeset')).filter((name) => name.endsWith('.md') && name !== 'README.md')
  for (const name of waiting) {
    const [, front = ''] = /^---\n([\s\S]*?)\n---\n\n\S/.exec(read(`.changeset/${name}`)) ?? []
    const bumps: Record<string, string> = parse(front)
    expect(Object.keys(bumps).filter((each) => !packages.includes(each))).toEqual([])
    expect(Object.values(bumps).filter((each) => !['none', 'patch', 'minor', 'major'].includes(each))).toEqual([])
  }
})

describe('the bill of materials', () => {
  const list = makeBillOfMaterials()
  const lock: { packages: Record<string, { dev?: boolean; version?: string; link?: boolean }> } = JSON.parse(
    read('package-lock.json'),
  )

  test('describes the server, with exactly its run-time packages', () => {
    expect([list.bomFormat, list.metadata.component.purl]).toEqual([
      'CycloneDX',
      `pkg:npm/%40latchkey/server@${JSON.parse(read('server/package.json')).version}`,
    ])
    const locked = Object.entries(lock.packages).flatMap(([path, { dev, version, link }]) => {
      const name = path.split('node_modules/').at(-1)
      // Of the command line, and the linter of migrations, which is installed on one platform only.
      const isElsewhere = /^@(napi-rs\/keyring|squawk-cli\/)/.test(name ?? '')
      return path.startsWith('node_modules/') && !dev && !link && !isElsewhere ? [`${name}@${version}`] : []
    })
    const listed = list.components
      .map((component) => component['bom-ref'])
      .filter((ref) => !ref.startsWith('@latchkey/'))
    expect(listed.sort()).toEqual([...new Set(locked)].sort())
    const direct = Object.entries<string>(JSON.parse(read('server/package.json')).dependencies)
    const all = list.components.map((component) => component['bom-ref'])
    expect(direct.filter(([name, version]) => !all.includes(`${name}@${version}`))).toEqual([])
  })

  test('is consistent, and names no registry and no local folder', () => {
    const refs = new Set([list.metadata.component, ...list.components].map((component) => component['bom-ref']))
    const pointed = list.dependencies.flatMap(({ ref, dependsOn }) => [ref, ...dependsOn])
    expect(pointed.filter((ref) => !refs.has(ref))).toEqual([])
    const text = JSON.stringify(list)
    expect(text).not.toMatch(/registry\.|"resolved"|\.tgz/)
    expect(text).not.toContain(ROOT)
  })
})

describe('SC-05: packages that we depend on', () => {
  type Locked = { dev?: boolean; link?: boolean; integrity?: string; hasInstallScript?: boolean }
  const { packages }: { packages: Record<string, Locked> } = JSON.parse(read('package-lock.json'))
  const installed = Object.entries(packages).filter(([path, { link }]) => path.includes('node_modules/') && !link)
  const atRunTime = installed.filter(([, { dev }]) => !dev)

  test('SC-05: the client library has none', () => {
    expect(Object.keys(JSON.parse(read('sdk/package.json')).dependencies ?? {})).toEqual([])
  })

  test('SC-05: are pinned exactly, and known by the digest of their content', () => {
    const versions = ['package.json', 'server/package.json', 'sdk/package.json'].flatMap((path) => {
      const { dependencies = {}, devDependencies = {} } = JSON.parse(read(path))
      return Object.entries<string>({ ...dependencies, ...devDependencies })
    })
    expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([])
    expect(atRunTime).not.toEqual([])
    expect(installed.filter(([, { integrity }]) => !integrity?.startsWith('sha512-')).map(([path]) => path)).toEqual([])
  })

  test('SC-05: run no program when they are installed', () => {
    expect(atRunTime.filter(([, { hasInstallScript }]) => hasInstallScript)).toEqual([])
    const files = ['deploy/container/Dockerfile', '.ci/run', ...workflows.map((name) => `.github/workflows/${name}`)]
    const installs = files.flatMap((path) => read(path).match(/^.*\bnpm ci\b.*$/gm) ?? [])
    expect(installs.length).toBeGreaterThan(5)
    expect(installs.filter((line) => !line.includes('--ignore-scripts'))).toEqual([])
  })

  test('SC-05: are checked for known holes and for the signatures of their makers at every change', () => {
    expect(read('.github/workflows/ci.yml')).toMatch(/run: npm audit signatures\n[\s\S]*run: npm audit --omit=dev/)
  })
})
