/** The documentation site: links resolve, nothing is loaded from other hosts, and pages are well formed. */
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, posix } from 'node:path'
import { SaxesParser } from 'saxes'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { removeFolder } from '../../tools/remove-folder.ts'
import { buildSite } from '../../tools/site.ts'

const folder = mkdtempSync(join(tmpdir(), 'latchkey-site-'))
let files: readonly string[] = []
beforeAll(() => {
  files = buildSite(folder)
})
afterAll(() => removeFolder(folder))

type Element = { readonly name: string; readonly attributes: Readonly<Record<string, string>> }
type ReadPage = { readonly path: string; readonly elements: readonly Element[]; readonly ids: readonly string[] }

/** Throws for an unclosed tag or an unquoted attribute. */
function readPage(path: string): ReadPage {
  const parser = new SaxesParser()
  const elements: Element[] = []
  parser.on('opentag', ({ name, attributes }) => void elements.push({ name, attributes }))
  parser.on('error', (error) => {
    throw new Error(`${path}: ${error.message}`)
  })
  parser.write(readFileSync(join(folder, path), 'utf8')).close()
  return { path, elements, ids: elements.flatMap(({ attributes: { id } }) => (id === undefined ? [] : [id])) }
}

const readPages = () => files.filter((path) => path.endsWith('.html')).map(readPage)

/** All addresses of a page: links and loaded files. */
function addressesIn({ elements }: ReadPage) {
  return elements.flatMap(({ name, attributes: { href, src } }) =>
    [href, src].flatMap((address) => (address === undefined ? [] : [{ name, address }])),
  )
}

const isElsewhere = (address: string) => /^([a-z]+:|\/\/)/.test(address)

test('every page is well formed, with one title, one main element and unique ids', () => {
  const pages = readPages()
  expect(pages.length).toBeGreaterThan(40)
  for (const { path, elements, ids } of pages) {
    const count = (wanted: string) => elements.filter(({ name }) => name === wanted).length
    expect([path, count('title'), count('h1'), count('main')]).toEqual([path, 1, 1, 1])
    expect(ids, path).toEqual([...new Set(ids)])
  }
})

test('every document in docs/ is a page', () => {
  const documents = readdirSync(join(import.meta.dirname, '..', '..', 'docs'), { recursive: true, encoding: 'utf8' })
  const expected = documents.filter((name) => name.endsWith('.md')).map((name) => name.replace(/\.md$/, '.html'))
  expect(expected.filter((path) => !files.includes(path))).toEqual([])
})

test('every link leads to an existing page or file of the site, and to an existing fragment', () => {
  const pages = new Map(readPages().map((page) => [page.path, page]))
  const broken: string[] = []
  for (const page of pages.values()) {
    for (const { address } of addressesIn(page).filter((each) => !isElsewhere(each.address))) {
      const [file = '', anchor] = address.split('#')
      const path = file === '' ? page.path : posix.join(posix.dirname(page.path), file)
      const found = anchor === undefined ? files.includes(path) : pages.get(path)?.ids.includes(anchor)
      if (!found) broken.push(`${page.path}: ${address}`)
    }
  }
  expect(broken).toEqual([])
})

test('no page loads anything from another host, and none has a script', () => {
  const loads = readPages().flatMap((page) => addressesIn(page).filter(({ name }) => name !== 'a'))
  expect(loads.length).toBeGreaterThan(80)
  expect(loads.filter(({ address }) => isElsewhere(address))).toEqual([])
  expect(readPages().flatMap(({ elements }) => elements.filter(({ name }) => name === 'script'))).toEqual([])
  expect(readFileSync(join(folder, 'site.css'), 'utf8')).not.toMatch(/url\(|@import/)
})

function nextOf(page: ReadPage | undefined): string | undefined {
  const next = page?.elements.find(({ attributes }) => attributes.rel === 'next')?.attributes.href
  return page && next ? posix.join(posix.dirname(page.path), next) : undefined
}

test('every page can be reached from the first by "next" links', () => {
  const pages = new Map(readPages().map((page) => [page.path, page]))
  const seen: string[] = []
  for (let at: string | undefined = 'index.html'; at !== undefined && !seen.includes(at); at = nextOf(pages.get(at))) {
    seen.push(at)
  }
  expect(seen.toSorted()).toEqual([...pages.keys()].toSorted())
})

describe('llms.txt', () => {
  const list = () => readFileSync(join(folder, 'llms.txt'), 'utf8')

  test('has one line for every page, with its description', () => {
    const lines = Array.from(list().matchAll(/^- \[(.+)\]\((.+\.html)\): (.*)$/gm), ([, title, path, about]) => ({
      title,
      path,
      about,
    }))
    expect(lines.map(({ path }) => path).toSorted()).toEqual(files.filter((path) => path.endsWith('.html')).toSorted())
    expect(lines.filter(({ title, about }) => !title || !about)).toEqual([])
  })

  test('has a companion file with the whole text', () => {
    const whole = readFileSync(join(folder, 'llms-full.txt'), 'utf8')
    for (const heading of ['# The interface', '# Errors', '# Configuration', '# Install']) {
      expect(whole).toContain(`${heading}\n`)
    }
  })
})
