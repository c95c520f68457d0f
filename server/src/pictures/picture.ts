/** Sanitizer for uploaded pictures: a PNG is decoded and encoded anew, any other format is refused. */
import { MAX_PICTURE_BYTES, type PictureProblem } from '../core/picture.ts'
import { isPng, rewritePng } from './png.ts'

/** Media type of every picture that `rewritePicture` has written. */
export const PICTURE_TYPE = 'image/png'

export type RewrittenPicture = { readonly picture: Buffer } | { readonly problem: PictureProblem }

export async function rewritePicture(bytes: Buffer): Promise<RewrittenPicture> {
  if (!isPng(bytes)) return { problem: { kind: 'format', found: otherFormat(bytes) } }
  const rewritten = await rewritePng(bytes)
  if ('picture' in rewritten && rewritten.picture.length > MAX_PICTURE_BYTES) return { problem: { kind: 'bytes' } }
  return rewritten
}

const OTHER_FORMATS: readonly (readonly [string, RegExp])[] = [
  ['JPEG', /^\xff\xd8\xff/],
  ['WebP', /^RIFF.{4}WEBP/s],
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
