/** Pictures to upload, and files that only look like pictures: the corpus of WB-18. */
import { crc32, deflateSync } from 'node:zlib'

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex')
const CHANNELS: Record<number, number> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 }

export function chunk(type: string, data: Buffer | string = ''): Buffer {
  const bytes = Buffer.alloc(12 + Buffer.byteLength(data))
  bytes.writeUInt32BE(bytes.length - 12, 0)
  bytes.write(type, 4, 'latin1')
  Buffer.from(data).copy(bytes, 8)
  bytes.writeUInt32BE(crc32(bytes.subarray(4, -4)), bytes.length - 4)
  return bytes
}

type Given = {
  width: number
  height: number
  depth: number
  colours: number
  interlace: number
  before: Buffer[]
  after: Buffer[]
  raw: Buffer
  stream: Buffer
  tail: Buffer
}

/** A small picture, RGB with alpha unless told otherwise. */
export function makePng(given: Partial<Given> = {}): Buffer {
  const { width = 3, height = 2, depth = 8, colours = 6, interlace = 0 } = given
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([depth, colours, 0, 0, interlace], 8)
  const { raw = rawOf(width, height, colours), before = colours === 3 ? [chunk('PLTE', Buffer.alloc(9))] : [] } = given
  const { stream = deflateSync(raw), after = [], tail = Buffer.alloc(0) } = given
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    ...before,
    chunk('IDAT', stream),
    ...after,
    chunk('IEND'),
    tail,
  ])
}

/** Rows of pixels; the number selects the filter. */
export function rawOf(width: number, height: number, colours: number): Buffer {
  const rows = Array.from({ length: height }, (_, row) =>
    Buffer.concat([
      Buffer.of(row % 5),
      Buffer.from(Array.from({ length: width * (CHANNELS[colours] ?? 1) }, (_, at) => (at + row) % 3)),
    ]),
  )
  return Buffer.concat(rows)
}

const png = makePng()
const zip = Buffer.from('504b0506'.padEnd(44, '0'), 'hex')

/** By defect. */
export const noPictures: readonly (readonly [string, Buffer])[] = [
  ['nothing', Buffer.alloc(0)],
  ['only a signature', SIGNATURE],
  ['HTML', Buffer.from('<!doctype html><script>alert(1)</script>')],
  ['SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>')],
  ['a GIF', Buffer.from('GIF89a\u0001\u0000\u0001\u0000')],
  ['a JPEG', Buffer.from('ffd8ffe000104a46494600', 'hex')],
  ['a WebP', Buffer.from('RIFF\u0004\0\0\0WEBPVP8 ')],
  ['HTML in front of a picture', Buffer.concat([Buffer.from('<script>'), png])],
  ['a ZIP file behind a picture', makePng({ tail: zip })],
  ['one byte behind a picture', makePng({ tail: Buffer.alloc(1) })],
  ['a picture behind a picture', Buffer.concat([png, png])],
  ['a second end', makePng({ tail: chunk('IEND') })],
  ['an end with words', Buffer.concat([png.subarray(0, -12), chunk('IEND', 'words')])],
  ['no end', png.subarray(0, -12)],
  ['no pixels', Buffer.concat([png.subarray(0, 33), chunk('IEND')])],
  ['a second header', makePng({ before: [Buffer.from(png.subarray(8, 33))] })],
  ['no header', Buffer.concat([SIGNATURE, png.subarray(33)])],
  [
    'a header that is too long',
    Buffer.concat([SIGNATURE, chunk('IHDR', Buffer.concat([png.subarray(16, 29), Buffer.alloc(1)])), png.subarray(33)]),
  ],
  ['a critical chunk that nobody knows', makePng({ before: [chunk('EVIL', 'x')] })],
  ['a chunk without a name', makePng({ before: [chunk('\u0000<b>', 'x')] })],
  ['a chunk that is longer than the file', makePng({ before: [Buffer.from('ffffffff7445587400000000', 'hex')] })],
  ['16 bits a channel', makePng({ depth: 16 })],
  ['1 bit a channel', makePng({ depth: 1, colours: 0 })],
  ['interlaced', makePng({ interlace: 1 })],
  ['a colour type that does not exist', makePng({ colours: 1, raw: Buffer.alloc(8) })],
  ['a palette picture without a palette', makePng({ colours: 3, before: [] })],
  ['a palette with a third of a colour', makePng({ colours: 3, before: [chunk('PLTE', Buffer.alloc(10))] })],
  ['a palette with 257 colours', makePng({ colours: 3, before: [chunk('PLTE', Buffer.alloc(771))] })],
  ['two palettes', makePng({ colours: 3, before: [chunk('PLTE', Buffer.alloc(9)), chunk('PLTE', Buffer.alloc(9))] })],
  ['a palette behind the pixels', makePng({ colours: 3, before: [], after: [chunk('PLTE', Buffer.alloc(9))] })],
  ['a palette for grey', makePng({ colours: 0, before: [chunk('PLTE', Buffer.alloc(9))] })],
  ['a palette for grey with alpha', makePng({ colours: 4, before: [chunk('PLTE', Buffer.alloc(9))] })],
  [
    'more transparent colours than colours',
    makePng({ colours: 3, before: [chunk('PLTE', Buffer.alloc(9)), chunk('tRNS', Buffer.alloc(4))] }),
  ],
  ['a transparent colour beside alpha', makePng({ before: [chunk('tRNS', Buffer.alloc(6))] })],
  ['a transparent grey of three bytes', makePng({ colours: 0, before: [chunk('tRNS', Buffer.alloc(3))] })],
  ['a transparent RGB of three bytes', makePng({ colours: 2, before: [chunk('tRNS', Buffer.alloc(3))] })],
  ['transparent colours behind the pixels', makePng({ colours: 0, after: [chunk('tRNS', Buffer.alloc(2))] })],
  ['a row too few', makePng({ raw: rawOf(3, 1, 6) })],
  ['a row too many', makePng({ raw: rawOf(3, 3, 6) })],
  ['a filter that does not exist', makePng({ raw: Buffer.alloc(26, 5) })],
  ['pixels that cannot be inflated', makePng({ stream: Buffer.from('no deflate stream') })],
  ['pixels that end in the middle', makePng({ stream: deflateSync(rawOf(3, 2, 6)).subarray(0, -6) })],
]
