/** Pages in every language, in real Chromium: nothing is missing, and nothing is left in English that was translated. */
import { IntlMessageFormat } from 'intl-messageformat'
import type { Page, Response } from 'playwright-core'
import { beforeEach, expect, test } from 'vitest'
import ar from '../../src/pages/messages/ar.json' with { type: 'json' }
import de from '../../src/pages/messages/de.json' with { type: 'json' }
import en from '../../src/pages/messages/en.json' with { type: 'json' }
import es from '../../src/pages/messages/es.json' with { type: 'json' }
import { useBrowsing } from '../rig/browser/browsing.ts'
import { overhang } from '../rig/browser/chromium.ts'
import { chooseLanguage, signIn } from '../rig/browser/clicks.ts'
import { makeUser } from '../rig/make.ts'
import { needs } from '../rig/origins/needs.ts'
import { EVERY_ANSWER, everyAnswer } from '../rig/pages/every-answer.ts'
import { everyRoutePage, NO_PAGES, openViewers, type RoutePage, type Viewers } from '../rig/pages/every-page.ts'
import { CAME_BACK, LAYOUTS, WORDED } from '../rig/pages/kinds-of-page.ts'
import { HAMBURG, PASSWORD } from '../rig/scenes/northwind.ts'

const browsing = useBrowsing()

const catalogues = { en, de, es, ar }

/** All that a page says, seen or heard: its texts one by one, its title, what is read aloud, what only a script shows. */
const TEXTS = `(() => {
  const texts = [document.title]
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT)
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.nodeType === Node.TEXT_NODE) texts.push(node.parentElement.localName === 'noscript' ? node.data.replace(/<[^>]*>/g, '') : node.data)
    else for (const name of ['aria-label', 'alt', 'title', 'placeholder', 'copied', 'until', 'two-minutes', 'thirty-seconds', 'over', 'failed'])
      if (node.hasAttribute(name)) texts.push(node.getAttribute(name))
  }
  return texts.map((text) => text.replace(/\\s+/g, ' ').trim()).filter((text) => text !== '')
})()`

type Element = {
  readonly value?: string
  readonly options?: Record<string, { value: Element[] }>
  readonly children?: Element[]
}

/** The words of a message without what is put into it, in all its forms. */
function literals(message: string): string[] {
  const collect = (elements: readonly Element[]): string[] =>
    elements.flatMap((element) => {
      if (element.options) return Object.values(element.options).flatMap((option) => collect(option.value))
      if (element.children) return collect(element.children)
      return [element.value ?? '']
    })
  const ast = new IntlMessageFormat(message, 'en').getAst() as Element[]
  return collect(ast).map((text) => text.replace(/\s+/g, ' ').trim())
}

const literalsOf = (catalogue: Record<string, string>) => new Set(Object.values(catalogue).flatMap(literals))

/** English that no message of the other language uses as well. */
function englishOnly(language: Code): readonly string[] {
  if (language === 'en') return []
  const known = literalsOf(catalogues[language])
  return [...literalsOf(en)].filter((text) => /\p{L}{3}/u.test(text) && !known.has(text))
}

/** Of a text, what should not be there: English, the name of a message, or what was to be put in. */
function faults(text: string, english: readonly string[]): readonly string[] {
  const left = english.filter((each) => text === each || (/\p{L} \p{L}/u.test(each) && text.includes(each)))
  const broken = text in en || /[{}]|<\/?\w|\bundefined\b|\[object/.test(text)
  return [...left.map((each) => `"${each}" in "${text}"`), ...(broken ? [`broken: "${text}"`] : [])]
}

/** On the narrowest of telephones, where long words show. */
const viewersIn = (language: string): Promise<Viewers> => {
  const options = { viewport: { width: 320, height: 640 }, extraHTTPHeaders: { 'x-forwarded-for': HAMBURG } }
  return openViewers(browsing.northwind, () => browsing.open(options), language)
}

type Code = keyof typeof catalogues

async function faultsOn(page: Page, name: string, code: Code, english: readonly string[]): Promise<readonly string[]> {
  const language = await page.locator('html').getAttribute('lang')
  const texts = await page.evaluate<string[]>(TEXTS)
  const few = texts.length < 7 ? [`only ${texts.length} texts`] : []
  const other = language === code ? [] : [`the page says that it is in ${language}`]
  const pixels = await overhang(page)
  const wide = pixels > 0 ? [`${pixels} pixels too wide`] : []
  const found = [...few, ...other, ...wide, ...texts.flatMap((text) => faults(text, english))]
  return found.map((fault) => `${name}: ${fault}`)
}

/** The one with the longest words and the one from right to left; the others with EVERY_ANSWER=true. */
const PAIRS: readonly (readonly [Code, Code])[] = EVERY_ANSWER
  ? [
      ['de', 'ar'],
      ['es', 'en'],
    ]
  : [['de', 'ar']]

/** One page of each kind; all of them with EVERY_ANSWER=true. */
async function pagesToRead(): Promise<readonly RoutePage[]> {
  const pages = await everyRoutePage(browsing.northwind)
  return pages.filter(({ name }) => (EVERY_ANSWER ? !NO_PAGES.includes(name) : LAYOUTS.includes(name)))
}

test.each(PAIRS)(
  `${EVERY_ANSWER ? 'every page' : 'a page of each kind'} is whole in %s and in %s, fits into 320 pixels, and whoever changes the language stays on it`,
  { timeout: 180_000 },
  async (one, other) => {
    const viewers = await viewersIn(one)
    const english = { [one]: englishOnly(one), [other]: englishOnly(other) }
    const found: string[] = []
    for (const { name, as, path } of await pagesToRead()) {
      const page = viewers[as]
      // The words of the reference are in English, whatever surrounds them.
      const look = async (code: Code) =>
        void (name !== 'reference' && found.push(...(await faultsOn(page, name, code, english[code] ?? []))))
      await page.goto(path)
      const before = page.url()
      const shown = (await page.locator('html').getAttribute('lang')) === one ? one : other
      const next = shown === one ? other : one
      await look(shown)
      await chooseLanguage(page, next)
      await look(next)
      if (page.url() !== before) found.push(`${name}: from ${before} to ${page.url()}`)
    }
    expect(found).toEqual([])
  },
)

test('so is what forms answer, in the language with the longest words, and says what it is about', {
  timeout: 180_000,
  ...needs('password'),
}, async () => {
  const viewers = await viewersIn('de')
  const english = englishOnly('de')
  const found: string[] = []
  const answers = everyAnswer(browsing.northwind).filter(({ name }) => EVERY_ANSWER || WORDED.includes(name))
  for (const { name, as, says, open, after } of answers) {
    // Where there is no account, no language was chosen.
    if (name === 'refusal-no-account') continue
    await open(viewers[as])
    found.push(...(await faultsOn(viewers[as], name, 'de', english)))
    const text = ((await viewers[as].locator('body').textContent()) ?? '').replace(/\s+/g, ' ')
    const meant = literals(de[says]).some((each) => each.length > 8 && text.includes(each))
    if (!meant) found.push(`${name}: does not say ${says}`)
    await after?.()
  }
  expect(found).toEqual([])
})

test('what this looks for is found, where it is there', () => {
  expect(englishOnly('de').length).toBeGreaterThan(300)
  expect(faults('Sign out', englishOnly('de'))).toEqual(['"Sign out" in "Sign out"'])
  expect(faults('Need help? Ask an administrator of Acme.', englishOnly('ar'))).toHaveLength(1)
  expect(faults('layout.sign_out', [])).toEqual(['broken: "layout.sign_out"'])
  expect(faults('Abmelden', englishOnly('de'))).toEqual([])
})

test('where there is no account, this is said in the language of the browser', async () => {
  const page = await browsing.open({ locale: 'ar' })
  await page.goto(browsing.northwind.originOf('southwind'))
  expect(await page.locator('h1').textContent()).toBe(ar['refusal.no_account'])
})

test('the language that was chosen is kept for the user, in other browsers as well', async () => {
  const { dana } = browsing.northwind
  const page = await browsing.open()
  await signIn(page, dana)
  await page.goto('/security')
  await chooseLanguage(page, 'es')
  expect(new URL(page.url()).pathname).toBe('/security')
  const other = await browsing.open()
  await signIn(other, dana)
  expect(await other.locator('html').getAttribute('lang')).toBe('es')
})

test('a language that nobody chose is only the browser’s: elsewhere it is that browser’s', async () => {
  const { service, slug } = browsing.northwind
  const somebody = await makeUser(service.context.db, slug, { holds: ['orders:read'], password: PASSWORD })
  await signIn(await browsing.open({ locale: 'en' }), somebody)
  const other = await browsing.open({ locale: 'ar' })
  await signIn(other, somebody)
  expect(await other.locator('html').getAttribute('lang')).toBe('ar')
})

test(
  'whoever changes the language of a form that came back lands on a page that can be used',
  needs('password'),
  async () => {
    const viewers = await viewersIn('en')
    const lost: string[] = []
    const chosen = CAME_BACK.filter((_name, at) => EVERY_ANSWER || at % 3 === 0)
    const answers = everyAnswer(browsing.northwind).filter(({ name }) => chosen.includes(name))
    for (const { name, as, open, after } of answers) {
      const page = viewers[as]
      await open(page)
      const isPage = (response: Response) => response.request().isNavigationRequest() && response.status() !== 303
      const [response] = await Promise.all([page.waitForResponse(isPage), chooseLanguage(page, 'de')])
      if (response.status() !== 200) lost.push(`${name}: ${response.status()} at ${response.url()}`)
      await after?.()
    }
    expect(lost).toEqual([])
  },
)

/** Twenty codes in ten minutes are enough for anybody but this test. */
beforeEach(() => browsing.northwind.service.database.query('delete from code_entries'))
