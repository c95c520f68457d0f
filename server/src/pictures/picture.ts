/** Sanitizer for uploaded pictures: PNG is decoded and encoded anew, JPEG and WebP lose all parts but those of one still picture. */
import { MAX_PICTURE_BYTES, type PictureProblem } from '../core/picture.ts'
import { isJpeg, rewriteJpeg } from './jpeg.ts'
import { isPng, rewritePng } from './png.ts'
import { isWebp, rewriteWebp } from './webp.ts'

export type RewrittenPicture = { readonly picture: Buffer } | { readonly problem: PictureProblem }

export async function rewritePicture(bytes: Buffer): Promise<RewrittenPicture> {
  const rewritten = await rewriteByFormat(bytes)
  if ('picture' in rewritten && rewritten.picture.length > MAX_PICTURE_BYTES) return { problem: { kind: 'bytes' } }
  return rewritten
}

async function rewriteByFormat(bytes: Buffer): Promise<RewrittenPicture> {
  if (isPng(bytes)) return rewritePng(bytes)
  if (isJpeg(bytes)) return rewriteJpeg(bytes)
  if (isWebp(bytes)) return rewriteWebp(bytes)
  return { problem: { kind: 'format', found: otherFormat(bytes) } }
}

/** Media type of a picture that `rewritePicture` has written. */
export function pictureType(picture: Buffer): 'image/png' | 'image/jpeg' | 'image/webp' {
  if (isJpeg(picture)) return 'image/jpeg'
  return isWebp(picture) ? 'image/webp' : 'image/png'
}

const OTHER_FORMATS: readonly (readonly [string, RegExp])[] = [
  ['GIF', /^GIF8[79]a/],
  ['SVG', /^(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--.{0,200}?-->\s*)?(?:<!DOCTYPE svg[^>]*>\s*)?<svg[\s>]/s],
  ['BMP', /^BM.{4}\0{4}/s],
  ['TIFF', /^(?:II\*\0|MM\0\*)/],
  ['AVIF', /^.{4}ftypavi[fs]/s],
  ['HEIC', /^.{4}ftyp(?:hei[cx]|mif1)/s],
  ['PDF', /^%PDF-/],
]

function otherFormat(bytes: Buffer): string | null {
  const beginning = bytes.toString('latin1', 0, 500)
  return OTHER_FORMATS.find(([, pattern]) => pattern.test(beginning))?.[0] ?? null
}
