/** Uploaded pictures: what is accepted, and why one is refused. */

export const MAX_SIDE_PIXELS = 1024
export const MAX_PICTURE_BYTES = 262_144

export type PictureProblem =
  /** Not a PNG; `found` names another format that was recognised. */
  | { readonly kind: 'format'; readonly found: string | null }
  | { readonly kind: 'pixels'; readonly width: number; readonly height: number }
  /** More than MAX_PICTURE_BYTES without what is dropped. */
  | { readonly kind: 'bytes' }
  /** Not 8 bits per channel. */
  | { readonly kind: 'depth' }
  | { readonly kind: 'interlaced' }
  /** Truncated, or with parts that do not belong there. */
  | { readonly kind: 'damaged' }

export function isWithinSize(width: number, height: number): boolean {
  return width >= 1 && width <= MAX_SIDE_PIXELS && height >= 1 && height <= MAX_SIDE_PIXELS
}
