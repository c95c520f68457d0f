/** The documentation site before it is built: every document is a page and every link resolves. "npm run verify -- site" checks the built one. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readChapters } from '../../site/chapters.ts'
import { convertDocument } from '../../site/document.ts'
import { renderList, renderWhole } from '../../site/llms.ts'
import { listEndpoints } from '../../site/openapi.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const chapters = readChapters()
const pages = chapters.flatMap((chapter) => chapter.pages)

test('every document in docs/ is a page, and no two pages have one address or one title', () => {
  const names = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
  const documents = names.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)
  const sources = pages.map(({ source }) => source)
  expect(documents.filter((path) => !sources.includes(path))).toEqual([])
  for (const values of [pages.map(({ slug }) => slug), pages.map(({ title }) => title)]) {
    expect(values.filter((each, index) => values.indexOf(each) !== index)).toEqual([])
  }
})

test.each(pages.map((page) => [page.source, page] as const))(
  '%s: every link leads to an existing page, heading or file',
  (_source, page) => {
    expect(() => convertDocument(page, pages)).not.toThrow()
  },
)

test('an image is HTML, because Astro would look for one in Markdown beside the document', () => {
  const documents = pages.map((page) => convertDocument(page, pages))
  expect(documents.filter(({ text }) => /!\[[^\]]*\]\(/.test(text))).toEqual([])
  const shown = documents.filter(({ images }) => images.includes('docs/reliability/soak.svg'))
  expect(shown.map(({ text }) => /<img src="([^"]*)" alt="Memory[^"]*">/.exec(text)?.[1])).toEqual([
    '../files/docs/reliability/soak.svg',
  ])
})

test('every operation of docs/openapi.yaml has a page with its address; those in XML are on the page of the same operation', () => {
  for (const { method, path } of listEndpoints()) {
    const text = path.endsWith('.xml') ? `\`${path}\`` : `${method} ${path}\n`
    expect(pages.filter(({ slug, markdown }) => slug.startsWith('api/') && markdown.includes(text)).length, path).toBe(
      1,
    )
  }
})

describe('llms.txt', () => {
  const lines = Array.from(
    renderList(chapters).matchAll(/^- \[(.+)\]\((.+\/)\): (.*)$/gm),
    ([, title, path, about]) => ({
      title,
      path,
      about,
    }),
  )

  test('has one line for every page, with its description', () => {
    expect(lines.map(({ path }) => path)).toEqual(pages.map(({ slug }) => (slug === '' ? './' : `${slug}/`)))
    expect(lines.filter(({ title, about }) => !title || !about)).toEqual([])
  })

  test('has a companion file with the whole text', () => {
    for (const { markdown } of pages) expect(renderWhole(chapters)).toContain(markdown.trim())
  })
})

describe('packages of the site', () => {
  const read = (name: string) => JSON.parse(readFileSync(join(ROOT, 'site', name), 'utf8'))

  test('are pinned exactly, and known by the digest of their content', () => {
    const versions = Object.values<string>(read('package.json').devDependencies)
    expect(versions.filter((version) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([])
    const locked = Object.entries<{ integrity?: string }>(read('package-lock.json').packages)
    const installed = locked.filter(([path]) => path.startsWith('node_modules/'))
    expect(installed.length).toBeGreaterThan(100)
    expect(installed.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'))).toEqual([])
  })

  test('are locked for every platform, or npm ci refuses to install any', () => {
    const { packages } = read('package-lock.json') as {
      packages: Record<string, { optionalDependencies?: Record<string, string> }>
    }
    const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        (name) => !packages[`node_modules/${name}`] && !packages[`${path}/node_modules/${name}`],
      ),
    )
    expect(missing).toEqual([])
  })

  test('are not packages of the server: the site is no workspace', () => {
    const { workspaces } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    expect(workspaces).not.toContain('site')
  })
})
