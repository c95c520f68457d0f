/** Assets sent to browsers. */
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { findAsset, icon, script, stylesheet } from '../../../src/pages/ui/assets.ts'

test.each([stylesheet, script, icon])(
  '$path is found by its address, and is the same however it is packed',
  (asset) => {
    expect(findAsset(asset.path)).toBe(asset)
    expect(brotliDecompressSync(asset.brotli).equals(asset.bytes)).toBe(true)
    expect(gunzipSync(asset.gzip).equals(asset.bytes)).toBe(true)
  },
)

test('no other file is an asset', () => {
  expect(findAsset('/assets/latchkey.css')).toBeNull()
  expect(findAsset('/assets/../package.json')).toBeNull()
})

test('the script is below five kilobytes compressed, and writes no HTML', () => {
  expect(script.gzip.length).toBeLessThan(5 * 1024)
  expect(script.bytes.toString()).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b/)
})
