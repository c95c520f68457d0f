/** A release: one version for all packages and the chart, one changelog, one public address. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { notesOf, releaseVersion } from '../../tools/release-version.ts'
import { removeFolder } from '../../tools/remove-folder.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const PACKAGES = ['server', 'sdk', 'cli']
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const manifestOf = (folder: string, root = ROOT) => JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))

/** The files that a release changes, in a folder of their own. */
function copyForRelease(): string {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-release-'))
  onTestFinished(() => removeFolder(folder))
  const manifests = ['', ...PACKAGES].map((each) => join(each, 'package.json'))
  const files = [...manifests, 'package-lock.json', 'CHANGELOG.md', '.changeset', 'deploy/helm/latchkey/Chart.yaml']
  for (const file of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    cpSync(join(ROOT, file), join(folder, file), { recursive: true })
  }
  return folder
}

test('the first release has the version that the packages have, and the text below "Unreleased"', () => {
  const folder = copyForRelease()
  const { version } = manifestOf('server')
  expect(releaseVersion(folder, '2026-12-01')).toBe(version)
  const changelog = readFileSync(join(folder, 'CHANGELOG.md'), 'utf8')
  expect(changelog).not.toContain('## Unreleased')
  expect(changelog).toContain(`## ${version} (2026-12-01)\n`)
  expect(notesOf(changelog, version)).toContain('- The device flow in both variants')
  expect(readdirSync(join(folder, '.changeset')).sort()).toEqual(['README.md', 'config.json'])
})

test('the next release gets one version everywhere, and its changesets in the one changelog', () => {
  const folder = copyForRelease()
  releaseVersion(folder, '2026-12-01')
  const add = (name: string, bump: string, of: string, text: string) =>
    writeFileSync(join(folder, '.changeset', `${name}.md`), `---\n"@latchkey/${of}": ${bump}\n---\n\n${text}\n`)
  add('blue-lamp', 'minor', 'cli', 'The command line speaks\ntwo languages.')
  add('red-lamp', 'patch', 'server', 'A lamp is red again.')
  expect(releaseVersion(folder, '2027-01-02')).toBe('0.2.0')
  expect(PACKAGES.map((each) => manifestOf(each, folder).version)).toEqual(['0.2.0', '0.2.0', '0.2.0'])
  expect(['server', 'cli'].map((each) => manifestOf(each, folder).dependencies['@latchkey/sdk'])).toEqual([
    '0.2.0',
    '0.2.0',
  ])
  expect(readFileSync(join(folder, 'deploy/helm/latchkey/Chart.yaml'), 'utf8')).toMatch(
    /^version: 0\.2\.0\nappVersion: "0\.2\.0"$/m,
  )
  const changelog = readFileSync(join(folder, 'CHANGELOG.md'), 'utf8')
  expect(changelog.indexOf('## 0.2.0 (2027-01-02)')).toBeLessThan(changelog.indexOf('## 0.1.0 (2026-12-01)'))
  expect(notesOf(changelog, '0.2.0')).toBe(
    '### New\n\n- The command line speaks\n  two languages.\n\n### Fixed\n\n- A lamp is red again.',
  )
  expect(PACKAGES.filter((each) => existsSync(join(folder, each, 'CHANGELOG.md')))).toEqual([])
})

test('the address of the project is set in package.json, and everything else agrees', () => {
  const [, address = ''] = /^git\+(https:\/\/.*)\.git$/.exec(manifestOf('').repository.url) ?? []
  for (const folder of PACKAGES) {
    expect(manifestOf(folder)).toMatchObject({
      homepage: `${address}#readme`,
      repository: { type: 'git', url: manifestOf('').repository.url, directory: folder },
      bugs: `${address}/issues`,
    })
    expect(read(`${folder}/README.md`)).toContain(`(${address})`)
  }
  const texts = ['README.md', 'SECURITY.md', 'CODE_OF_CONDUCT.md', 'docs/install.md', 'docs/versions.md']
  const own = [...texts, ...PACKAGES.map((folder) => `${folder}/README.md`)].flatMap((file) =>
    Array.from(read(file).matchAll(/https:\/\/github\.com\/latchkey[\w-]*\/[\w-]+/g), ([found]) => [file, found]),
  )
  expect(own.filter(([, found]) => found !== address)).toEqual([])
})

test.each(PACKAGES)('the package of %s can be published and says what it is', (folder) => {
  const manifest = manifestOf(folder)
  expect(manifest.private).toBeUndefined()
  expect(manifest).toMatchObject({
    license: 'MIT',
    publishConfig: { access: 'public' },
    engines: { node: expect.any(String) },
    files: expect.arrayContaining(['dist']),
    description: expect.stringMatching(/\.$/),
  })
  expect(manifest.keywords.length).toBeGreaterThan(2)
  expect(read(`${folder}/LICENSE`)).toBe(read('LICENSE'))
  expect(read(`${folder}/README.md`)).toMatch(new RegExp(`^# ${manifest.name}\n`))
})
