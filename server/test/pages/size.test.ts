/** Size of what a browser loads for a page. */
import { brotliCompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { icon, script, stylesheet } from '../../src/pages/ui/assets.ts'
import { everyPage, makeFrame } from './make.ts'

const MAX_SCRIPT = 15_000

const pages = Object.entries(everyPage(makeFrame()))

test('the JavaScript of all pages together is below 15 kB compressed', () => {
  const sizes = { JavaScript: script, stylesheet, icon }
  for (const [what, { bytes, brotli, gzip }] of Object.entries(sizes)) {
    console.log(`${what}: ${brotli.length} bytes with brotli, ${gzip.length} with gzip, ${bytes.length} as written`)
  }
  const largest = pages.toSorted(([, a], [, b]) => b.length - a.length)[0]
  console.log(
    `largest page: ${largest?.[0]}, ${largest?.[1].length} bytes, ${brotliCompressSync(largest?.[1] ?? '').length} with brotli`,
  )
  expect(Math.max(script.brotli.length, script.gzip.length)).toBeLessThan(MAX_SCRIPT)
})

test.each(pages)('%s refers to one script, one stylesheet, the icon and the logo, and nothing else', (_, html) => {
  const loaded = Array.from(
    html.matchAll(
      /<(?:script|link|img|iframe|object|embed|source|video|audio|use)\b[^>]*\s(?:src|href|data|srcset)="([^"]*)"/g,
    ),
    ([, address]) => address,
  )
  const once = [icon.path, stylesheet.path, script.path]
  expect(loaded.slice(0, 3)).toEqual(once)
  expect(loaded.slice(3).filter((address) => address !== '/logo')).toEqual([])
  expect(html.match(/<script\b/g)).toHaveLength(1)
  expect(html).not.toMatch(/url\(|@import/)
})

test('neither the script nor the stylesheet loads anything else, except the state of a delivery from its own page’s address', () => {
  expect(script.bytes.toString().match(/\bfetch\([^)]*\)/g)).toEqual(["fetch(this.getAttribute('address')"])
  expect(script.bytes.toString()).not.toMatch(/\bimport\b\s*[({'"]|XMLHttpRequest|WebSocket|EventSource|sendBeacon/)
  expect(stylesheet.bytes.toString()).not.toMatch(/url\(|@import|@font-face/)
})
