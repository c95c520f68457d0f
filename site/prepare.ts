/** Writes what Astro reads: src/content/docs/ and public/. Neither is committed; the documents of the repository are the only source. */
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readChapters } from './chapters.ts'
import { convertDocument } from './document.ts'
import { renderList, renderWhole } from './llms.ts'
import { ROOT } from './pages.ts'

const CONTENT = join(import.meta.dirname, 'src/content/docs')
const PUBLIC = join(import.meta.dirname, 'public')

const place = (file: string): string => {
  mkdirSync(dirname(file), { recursive: true })
  return file
}

export function prepare(): void {
  const chapters = readChapters()
  const pages = chapters.flatMap((chapter) => chapter.pages)
  for (const folder of [CONTENT, PUBLIC]) rmSync(folder, { recursive: true, force: true })
  for (const page of pages) {
    const { text, images } = convertDocument(page, pages)
    writeFileSync(place(join(CONTENT, `${page.slug || 'index'}.md`)), text)
    for (const image of images) copyFileSync(join(ROOT, image), place(join(PUBLIC, 'files', image)))
  }
  copyFileSync(join(ROOT, 'server/assets/latchkey.svg'), place(join(PUBLIC, 'latchkey.svg')))
  writeFileSync(join(PUBLIC, 'llms.txt'), renderList(chapters))
  writeFileSync(join(PUBLIC, 'llms-full.txt'), renderWhole(chapters))
}
