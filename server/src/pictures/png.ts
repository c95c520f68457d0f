/**
 * PNG sanitizer for uploads (PNG, third edition): decodes a picture and encodes it anew. Only size, colours and pixels
 * are written, so text, scripts and other files embedded in an upload are dropped.
 */
import { promisify } from 'node:util'
import { crc32, deflate, inflate } from 'node:zlib'
import { isWithinSize, MAX_PICTURE_BYTES, type PictureProblem } from '../core/picture.ts'

const inflated = promisify(inflate)
const deflated = promisify(deflate)

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex')

/** The accepted subset of section 5.6: palette, transparency, pixels. Unknown critical chunks are rejected. */
const ORDER = /^IHDR( PLTE)?( tRNS)?( IDAT)+ IEND$/

export function isPng(bytes: Buffer): boolean {
  return bytes.subarray(0, 8).equals(SIGNATURE)
}

const DAMAGED = { kind: 'damaged' } as const

/** Accepts one plain picture: up to 1024 pixels a side, 8 bits a channel, not interlaced, no trailing data. */
export async function rewritePng(
  bytes: Buffer,
): Promise<{ readonly picture: Buffer } | { readonly problem: PictureProblem }> {
  const chunks = readChunks(bytes)?.filter(({ type }) => type === 'tRNS' || !isOptional(type)) ?? []
  if (!ORDER.test(chunks.map(({ type }) => type).join(' '))) return { problem: DAMAGED }
  const all = (wanted: string) => chunks.filter(({ type }) => type === wanted).map(({ data }) => data)
  const [[header = NOTHING], [palette = NOTHING], [transparent = NOTHING]] = [all('IHDR'), all('PLTE'), all('tRNS')]
  const shape = readHeader(header)
  if ('kind' in shape) return { problem: shape }
  if (!fits(shape.colours, palette, transparent)) return { problem: DAMAGED }
  const pixels = await rewritePixels(Buffer.concat(all('IDAT')), shape)
  if (!Buffer.isBuffer(pixels)) return { problem: pixels }
  const picture = Buffer.concat([
    SIGNATURE,
    writeChunk('IHDR', header),
    ...(shape.colours === PALETTE ? [writeChunk('PLTE', palette)] : []),
    ...(transparent.length > 0 ? [writeChunk('tRNS', transparent)] : []),
    writeChunk('IDAT', pixels),
    writeChunk('IEND', NOTHING),
  ])
  return { picture }
}

const NOTHING = Buffer.alloc(0)

type Chunk = { readonly type: string; readonly data: Buffer }

/** Section 5.3: length, type, data, CRC. The last chunk must be empty and end where the file ends. */
function readChunks(bytes: Buffer): readonly Chunk[] | null {
  if (!isPng(bytes)) return null
  const chunks: Chunk[] = []
  let at = 8
  while (at + 12 <= bytes.length) {
    const end = at + 8 + bytes.readUInt32BE(at)
    if (end + 4 > bytes.length || crc32(bytes.subarray(at + 4, end)) !== bytes.readUInt32BE(end)) return null
    chunks.push({ type: bytes.toString('latin1', at + 4, at + 8), data: bytes.subarray(at + 8, end) })
    at = end + 4
  }
  return at === bytes.length && chunks.at(-1)?.data.length === 0 ? chunks : null
}

/** Section 5.4: a lower-case first letter marks a chunk as ancillary: the picture can be shown without it. */
function isOptional(type: string): boolean {
  return /^[a-z][A-Za-z]{3}$/.test(type)
}

const PALETTE = 3

/** Bytes per pixel by colour type: grey, RGB, palette, grey with alpha, RGB with alpha. */
const PIXEL_BYTES = new Map([
  [0, 1],
  [2, 3],
  [PALETTE, 1],
  [4, 2],
  [6, 4],
])

type Shape = { readonly colours: number; readonly rowBytes: number; readonly rows: number }

function readHeader(header: Buffer): Shape | PictureProblem {
  if (header.length !== 13) return DAMAGED
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  const [bitDepth, colours = -1, compression, filter, interlace] = header.subarray(8)
  const pixelBytes = PIXEL_BYTES.get(colours)
  if (!pixelBytes || compression !== 0 || filter !== 0) return DAMAGED
  if (bitDepth !== 8) return { kind: 'depth' }
  if (interlace !== 0) return { kind: 'interlaced' }
  if (!isWithinSize(width, height)) return { kind: 'pixels', width, height }
  return { colours, rowBytes: 1 + width * pixelBytes, rows: height }
}

/** Sections 11.2.2 and 11.3.1.1: which colour types may have a palette or transparency, and the lengths of both. */
function fits(colours: number, palette: Buffer, transparent: Buffer): boolean {
  const entries = palette.length / 3
  if (!Number.isInteger(entries) || entries > 256) return false
  switch (colours) {
    case 0:
      return entries === 0 && (transparent.length === 0 || transparent.length === 2)
    case 2:
      return transparent.length === 0 || transparent.length === 6
    case PALETTE:
      return entries > 0 && transparent.length <= entries
    case 4:
      return entries === 0 && transparent.length === 0
    default:
      return transparent.length === 0
  }
}

/**
 * Inflates to exactly the size that the header announces; a longer stream is rejected at that limit. Runs on zlib's
 * threads, so polls are not blocked. At zlib's default level the worst-case pixels would occupy a thread for a second;
 * at level 4, for less than a tenth.
 */
async function rewritePixels(stream: Buffer, { rowBytes, rows }: Shape): Promise<Buffer | PictureProblem> {
  const size = rowBytes * rows
  const raw = await inflated(stream, { maxOutputLength: size }).catch(() => null)
  const filters = Array.from({ length: rows }, (_, row) => raw?.[row * rowBytes] ?? 0)
  if (raw?.length !== size || filters.some((filter) => filter > 4)) return DAMAGED
  const pixels = await deflated(raw, { level: 4, maxOutputLength: MAX_PICTURE_BYTES }).catch(() => null)
  return pixels ?? { kind: 'bytes' }
}

function writeChunk(type: string, data: Buffer): Buffer {
  const content = Buffer.concat([Buffer.from(type), data])
  const [length, crc] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  crc.writeUInt32BE(crc32(content))
  return Buffer.concat([length, content, crc])
}
