/**
 * Stylesheet, script and icon as static assets. Their URLs contain a content digest, so they are cached forever and a
 * new version has a new URL.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

export type Asset = {
  /** `/assets/latchkey.<digest>.css` */
  readonly path: string
  readonly contentType: string
  readonly bytes: Buffer
  readonly brotli: Buffer
  readonly gzip: Buffer
}

function load(extension: 'css' | 'js' | 'svg', contentType: string): Asset {
  // The relative path is the same from src/pages/ and from dist/pages/.
  const bytes = readFileSync(new URL(`../../../assets/latchkey.${extension}`, import.meta.url))
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 12)
  // Compressed on first request: command-line commands load this module, too, and never serve assets.
  let brotli: Buffer | undefined
  let gzip: Buffer | undefined
  return {
    path: `/assets/latchkey.${digest}.${extension}`,
    contentType,
    bytes,
    get brotli() {
      brotli ??= brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } })
      return brotli
    },
    get gzip() {
      gzip ??= gzipSync(bytes, { level: 9 })
      return gzip
    },
  }
}

export const stylesheet = load('css', 'text/css; charset=utf-8')
export const script = load('js', 'text/javascript; charset=utf-8')
export const icon = load('svg', 'image/svg+xml')

const assets: ReadonlyMap<string, Asset> = new Map([stylesheet, script, icon].map((asset) => [asset.path, asset]))

export function findAsset(path: string): Asset | null {
  return assets.get(path) ?? null
}
