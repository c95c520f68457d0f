/** The site for language models: https://llmstxt.org. */
import { type Chapter, summaryOf } from './pages.ts'

export const PROMISE =
  'An authorization server for web services whose accounts live on their own subdomains: device flow, access keys and dialog.'

/** One line per page. */
export function renderList(chapters: readonly Chapter[]): string {
  const lines = chapters.flatMap(({ title, pages }) => [
    `\n## ${title}\n`,
    ...pages.map((page) => `- [${page.title}](${page.slug === '' ? './' : `${page.slug}/`}): ${summaryOf(page)}`),
  ])
  return `# Latchkey\n\n> ${PROMISE}\n\nEverything on this list as one text: [llms-full.txt](llms-full.txt).\n${lines.join('\n')}\n`
}

export function renderWhole(chapters: readonly Chapter[]): string {
  const pages = chapters.flatMap((chapter) => chapter.pages)
  return pages.map(({ markdown }) => markdown.trim()).join('\n\n---\n\n')
}
