/** Starlight: https://starlight.astro.build/reference/configuration/. Nothing is loaded from another host, neither by the build nor by a page. */
import starlight from '@astrojs/starlight'
import { defineConfig } from 'astro/config'
import { readChapters } from './chapters.ts'
import { REPOSITORY } from './links.ts'
import type { Chapter, Page } from './pages.ts'

const { origin: site, pathname: base } = new URL(process.env.SITE_URL ?? 'http://localhost/')

/** Chapters that most readers do not open. */
const COLLAPSED = ['HTTP API', 'Client library API', 'Audit', 'Decisions']

const toItem = ({ slug }: Page) => (slug === '' ? { label: 'Overview', link: '/' } : { slug })

function toGroup({ title, pages }: Chapter) {
  const groups = [...new Set(pages.flatMap(({ group }) => (group === undefined ? [] : [group])))]
  return {
    label: title,
    collapsed: COLLAPSED.includes(title),
    items: [
      ...pages.filter(({ group }) => group === undefined).map(toItem),
      ...groups.map((label) => ({ label, items: pages.filter(({ group }) => group === label).map(toItem) })),
    ],
  }
}

export default defineConfig({
  ...(process.env.SITE_URL ? { site } : {}),
  base,
  outDir: '../.site',
  trailingSlash: 'always',
  integrations: [
    starlight({
      title: 'Latchkey',
      logo: { src: './public/latchkey.svg', alt: '' },
      favicon: '/latchkey.svg',
      social: [{ icon: 'github', label: 'GitHub', href: REPOSITORY }],
      customCss: ['./src/site.css'],
      components: { MarkdownContent: './src/components/MarkdownContent.astro' },
      sidebar: readChapters().map(toGroup),
    }),
  ],
})
