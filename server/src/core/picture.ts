/** Uploaded pictures: what is accepted, and why one is refused. */

export const MAX_SIDE_PIXELS = 1024
export const MAX_PICTURE_BYTES = 262_144

export type PictureFormat = 'PNG' | 'JPEG' | 'WebP'

export type PictureProblem =
  /** None of the three formats; `found` names another one that was recognised. */
  | { readonly kind: 'format'; readonly found: string | null }
  | { readonly kind: 'pixels'; readonly width: number; readonly height: number }
  /** More than MAX_PICTURE_BYTES without what is dropped. */
  | { readonly kind: 'bytes' }
  | { readonly kind: 'animated'; readonly format: PictureFormat }
  /** Not 8 bits per channel. */
  | { readonly kind: 'depth'; readonly format: PictureFormat }
  | { readonly kind: 'interlaced'; readonly format: PictureFormat }
  /** Neither grey nor RGB. */
  | { readonly kind: 'colours'; readonly format: PictureFormat }
  /** A compression that browsers do not show. */
  | { readonly kind: 'compression'; readonly format: PictureFormat }
  /** Truncated, or with parts that do not belong there. */
  | { readonly kind: 'damaged'; readonly format: PictureFormat }

export function isWithinSize(width: number, height: number): boolean {
  return width >= 1 && width <= MAX_SIDE_PIXELS && height >= 1 && height <= MAX_SIDE_PIXELS
}
