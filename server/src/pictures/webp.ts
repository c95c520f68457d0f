/**
 * WebP sanitizer for uploads (RFC 9649): checks the container and writes only the chunks of one still picture. Metadata,
 * colour profiles and unknown chunks are dropped.
 */
import { isWithinSize, type PictureProblem } from '../core/picture.ts'

type Size = { readonly width: number; readonly height: number }
type Chunk = { readonly name: string; readonly data: Buffer }

export function isWebp(bytes: Buffer): boolean {
  return bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP'
}

const DAMAGED = { problem: { kind: 'damaged', format: 'WebP' } } as const

export function rewriteWebp(bytes: Buffer): { readonly picture: Buffer } | { readonly problem: PictureProblem } {
  const chunks = readChunks(bytes)
  if (!chunks) return DAMAGED
  const all = (...names: string[]) => chunks.filter(({ name }) => names.includes(name))
  const [extended] = all('VP8X')
  const animationFlag = ((extended?.data[0] ?? 0) & 2) !== 0
  if (animationFlag || all('ANIM', 'ANMF').length > 0) return { problem: { kind: 'animated', format: 'WebP' } }
  const [pixels, ...more] = all('VP8 ', 'VP8L')
  const alpha = all('ALPH')
  const size = pixels && (pixels.name === 'VP8L' ? losslessSize(pixels.data) : lossySize(pixels.data))
  if (!size || more.length > 0 || alpha.length > 1 || chunks[0] !== (extended ?? pixels)) return DAMAGED
  if (!isWithinSize(size.width, size.height)) return { problem: { kind: 'pixels', ...size } }
  const [transparency] = alpha
  // Without transparency of its own, the picture needs no extended header.
  if (!transparency || pixels.name === 'VP8L') return { picture: writeContainer([pixels]) }
  const isBefore = chunks.indexOf(transparency) < chunks.indexOf(pixels)
  if (!extended || !isBefore || !isTransparency(transparency.data)) return DAMAGED
  return { picture: writeContainer([extendedHeader(size), transparency, pixels]) }
}

/** Name, length, data, padded to an even length; together exactly as long as the header says. */
function readChunks(bytes: Buffer): readonly Chunk[] | null {
  if (bytes.length < 20 || bytes.readUInt32LE(4) + 8 !== bytes.length) return null
  const chunks: Chunk[] = []
  let at = 12
  while (at + 8 <= bytes.length) {
    const end = at + 8 + bytes.readUInt32LE(at + 4)
    if (end > bytes.length) return null
    chunks.push({ name: bytes.toString('latin1', at, at + 4), data: bytes.subarray(at + 8, end) })
    at = end + (end % 2)
  }
  return at === bytes.length ? chunks : null
}

/** A VP8 key frame (RFC 6386, section 9.1). */
function lossySize(data: Buffer): Size | null {
  if (data.length < 10) return null
  const tag = data.readUIntLE(0, 3)
  const isKeyFrame = (tag & 1) === 0 && data.readUIntBE(3, 3) === 0x9d012a
  if (!isKeyFrame || 10 + (tag >> 5) > data.length) return null
  return { width: data.readUInt16LE(6) & 0x3fff, height: data.readUInt16LE(8) & 0x3fff }
}

/** RFC 9649, section 3.4: signature, 14 bits each of width and height, a bit for alpha, three of the version. */
function losslessSize(data: Buffer): Size | null {
  if (data.length < 6 || data[0] !== 0x2f) return null
  const bits = data.readUInt32LE(1)
  if (bits >>> 29 !== 0) return null
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
}

/** RFC 9649, section 2.7.1.2: reserved bits, preprocessing, filter, compression. */
function isTransparency(data: Buffer): boolean {
  const [info = 0xff] = data
  return data.length > 1 && info >> 6 === 0 && ((info >> 4) & 3) <= 1 && (info & 3) <= 1
}

function extendedHeader({ width, height }: Size): Chunk {
  const data = Buffer.alloc(10)
  data[0] = 0x10
  data.writeUIntLE(width - 1, 4, 3)
  data.writeUIntLE(height - 1, 7, 3)
  return { name: 'VP8X', data }
}

function writeContainer(chunks: readonly Chunk[]): Buffer {
  const body = Buffer.concat(
    chunks.flatMap(({ name, data }) => {
      const length = Buffer.alloc(4)
      length.writeUInt32LE(data.length)
      return [Buffer.from(name), length, data, Buffer.alloc(data.length % 2)]
    }),
  )
  const length = Buffer.alloc(4)
  length.writeUInt32LE(4 + body.length)
  return Buffer.concat([Buffer.from('RIFF'), length, Buffer.from('WEBP'), body])
}
