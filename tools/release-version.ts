/**
 * `npx tsx tools/release-version.ts`: gives all packages and the chart the next version and writes CHANGELOG.md, the only changelog. `changeset
 * version` computes the version and deletes the changesets; it would write one changelog per package, so their texts are written here.
 *
 *   npx tsx tools/release-version.ts --notes    print the section of the current version, for the release page
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

export type Changeset = { readonly bump: string; readonly text: string }

const ROOT = join(import.meta.dirname, '..')
const CHART = 'deploy/helm/latchkey/Chart.yaml'
const UNRELEASED = '## Unreleased\n'
/** In the order of the sections. */
const BUMPS = { major: 'Breaking changes', minor: 'New', patch: 'Fixed', none: '' } as const

export function releaseVersion(root: string, date: string): string {
  const changesets = readChangesets(root)
  execFileSync(process.execPath, [join(ROOT, 'node_modules/@changesets/cli/bin.js'), 'version'], { cwd: root })
  const version = readVersion(root)
  const changelog = join(root, 'CHANGELOG.md')
  writeFileSync(changelog, withRelease(readFileSync(changelog, 'utf8'), version, date, changesets))
  if (existsSync(join(root, CHART))) {
    const chart = readFileSync(join(root, CHART), 'utf8')
    const next = chart.replace(/^version: .*$/m, `version: ${version}`)
    writeFileSync(join(root, CHART), next.replace(/^appVersion: .*$/m, `appVersion: "${version}"`))
  }
  return version
}

function readVersion(root: string): string {
  return JSON.parse(readFileSync(join(root, 'server/package.json'), 'utf8')).version
}

function readChangesets(root: string): readonly Changeset[] {
  const folder = join(root, '.changeset')
  const names = readdirSync(folder).filter((name) => name.endsWith('.md') && name !== 'README.md')
  return names.sort().map((name) => {
    const [, front = '', text = ''] = /^---\n(.*?)\n---\n(.*)$/s.exec(readFileSync(join(folder, name), 'utf8')) ?? []
    const bumps = Object.values<string>(parse(front) ?? {})
    return { bump: Object.keys(BUMPS).find((bump) => bumps.includes(bump)) ?? 'patch', text: text.trim() }
  })
}

/** The section of the new version, before the older ones. It takes over the text below "Unreleased", if there is any. */
export function withRelease(
  changelog: string,
  version: string,
  date: string,
  changesets: readonly Changeset[],
): string {
  const sections = Object.entries(BUMPS).flatMap(([bump, title]) => {
    const texts = changesets.filter((each) => each.bump === bump).map(({ text }) => text)
    if (texts.length === 0) return []
    return title === '' ? texts : [`### ${title}`, texts.map((text) => `- ${text.replaceAll('\n', '\n  ')}`).join('\n')]
  })
  const written = changelog.includes(UNRELEASED)
    ? changelog
    : changelog.replace(/^(?=## )|$(?![\s\S])/m, `${UNRELEASED}\n`)
  return written.replace(UNRELEASED, `${[`## ${version} (${date})`, ...sections].join('\n\n')}\n`)
}

/** Text of the section of a version. */
export function notesOf(changelog: string, version: string): string {
  const [, notes = ''] = changelog.split(new RegExp(`^## ${version.replaceAll('.', '\\.')} \\(.*\\)\n`, 'm'))
  return (notes.split(/^## /m)[0] ?? '').trim()
}

if (import.meta.main) {
  if (process.argv[2] === '--notes') {
    const notes = notesOf(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'), readVersion(ROOT))
    if (notes === '') throw new Error(`CHANGELOG.md has no section ${readVersion(ROOT)}.`)
    process.stdout.write(`${notes}\n`)
  } else {
    console.log(releaseVersion(ROOT, new Date().toISOString().slice(0, 10)))
    execFileSync('npm', ['install', '--package-lock-only', '--ignore-scripts'], { cwd: ROOT, stdio: 'inherit' })
  }
}
