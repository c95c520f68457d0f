/**
 * JPEG sanitizer for uploads (ITU-T T.81): checks the structure and writes only the segments that are needed to show the
 * picture. Comments, EXIF, XMP, colour profiles, thumbnails and data behind the end are dropped or refused.
 */
import { isWithinSize, type PictureProblem } from '../core/picture.ts'

type Kind = PictureProblem['kind']
type Read = { readonly picture: Buffer } | { readonly problem: PictureProblem }

const START = Buffer.of(0xff, 0xd8)
const END = Buffer.of(0xff, 0xd9)

const SOF_BASELINE = 0xc0
const SOF_EXTENDED = 0xc1
const SOF_PROGRESSIVE = 0xc2
const HUFFMAN_TABLES = 0xc4
const END_OF_IMAGE = 0xd9
const START_OF_SCAN = 0xda
const QUANTIZATION_TABLES = 0xdb
const RESTART_INTERVAL = 0xdd
const ADOBE = 0xee

/** A picture with more scans is made to keep decoders busy; encoders write about ten. */
const MAX_SCANS = 64

type Frame = { readonly components: ReadonlySet<number> }

class Refused extends Error {
  readonly problem: PictureProblem
  constructor(problem: PictureProblem) {
    super(problem.kind)
    this.problem = problem
  }
}

function refuse(kind: Exclude<Kind, 'format' | 'pixels' | 'bytes'>): never {
  throw new Refused({ kind, format: 'JPEG' })
}

export function isJpeg(bytes: Buffer): boolean {
  return bytes.subarray(0, 2).equals(START) && bytes[2] === 0xff
}

export function rewriteJpeg(bytes: Buffer): Read {
  try {
    return { picture: Buffer.concat([START, ...readSegments(bytes), END]) }
  } catch (error) {
    if (error instanceof Refused) return { problem: error.problem }
    // Reads behind the end of the file.
    if (error instanceof RangeError) return { problem: { kind: 'damaged', format: 'JPEG' } }
    throw error
  }
}

/** The segments to write, in order. */
function readSegments(bytes: Buffer): readonly Buffer[] {
  const kept: Buffer[] = []
  let frame: Frame | null = null
  let scans = 0
  let at = 2
  for (;;) {
    if (bytes.readUInt8(at) !== 0xff) refuse('damaged')
    const marker = bytes.readUInt8(at + 1)
    if (marker === END_OF_IMAGE) {
      if (scans === 0 || at + 2 !== bytes.length) refuse('damaged')
      return kept
    }
    const end = at + 2 + bytes.readUInt16BE(at + 2)
    if (end > bytes.length || end < at + 4) refuse('damaged')
    const data = bytes.subarray(at + 4, end)
    const segment = bytes.subarray(at, end)
    at = end
    if (isFrame(marker)) {
      if (frame) refuse('damaged')
      frame = readFrame(marker, data)
      kept.push(segment)
    } else if (marker === START_OF_SCAN) {
      scans += 1
      if (!frame || scans > MAX_SCANS || !isScan(data, frame)) refuse('damaged')
      const length = scanLength(bytes, at)
      kept.push(segment, bytes.subarray(at, at + length))
      at += length
    } else if (marker === ADOBE) {
      const written = adobeSegment(data)
      if (written) kept.push(written)
    } else if (isTable(marker)) {
      if (!TABLES[marker](data)) refuse('damaged')
      kept.push(segment)
    } else if (!isDropped(marker)) refuse('damaged')
  }
}

/** All markers of frames, of which three can be shown. */
function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && ![HUFFMAN_TABLES, 0xc8, 0xcc].includes(marker)
}

/** Application data and comments. */
function isDropped(marker: number): boolean {
  return (marker >= 0xe0 && marker <= 0xef) || marker === 0xfe
}

/** T.81, B.2.2. */
function readFrame(marker: number, data: Buffer): Frame {
  if (![SOF_BASELINE, SOF_EXTENDED, SOF_PROGRESSIVE].includes(marker)) refuse('compression')
  const [depth, height, width] = [data.readUInt8(0), data.readUInt16BE(1), data.readUInt16BE(3)]
  const count = data.readUInt8(5)
  if (depth !== 8) refuse('depth')
  if (count !== 1 && count !== 3) refuse('colours')
  if (data.length !== 6 + 3 * count) refuse('damaged')
  if (!isWithinSize(width, height)) throw new Refused({ kind: 'pixels', width, height })
  const components = new Set<number>()
  for (let at = 6; at < data.length; at += 3) {
    const [id, sampling, table] = [data.readUInt8(at), data.readUInt8(at + 1), data.readUInt8(at + 2)]
    const isFactor = (factor: number) => factor >= 1 && factor <= 4
    if (!isFactor(sampling >> 4) || !isFactor(sampling & 15) || table > 3) refuse('damaged')
    components.add(id)
  }
  if (components.size !== count) refuse('damaged')
  return { components }
}

/** T.81, B.2.3. */
function isScan(data: Buffer, { components }: Frame): boolean {
  const count = data.readUInt8(0)
  if (count < 1 || count > components.size || data.length !== 4 + 2 * count) return false
  const entries = Array.from({ length: count }, (_, index) => data.subarray(1 + 2 * index, 3 + 2 * index))
  const known = entries.every(([id = 0, tables = 0]) => components.has(id) && tables >> 4 <= 3 && (tables & 15) <= 3)
  const [first = 0, last = 0, approximation = 0] = data.subarray(1 + 2 * count)
  return known && first <= last && last <= 63 && approximation >> 4 <= 13 && (approximation & 15) <= 13
}

/** Up to the next marker that is neither a stuffed byte nor a restart (T.81, B.1.1.5). */
function scanLength(bytes: Buffer, from: number): number {
  let at = bytes.indexOf(0xff, from)
  while (at !== -1) {
    const next = bytes.readUInt8(at + 1)
    if (next !== 0 && !(next >= 0xd0 && next <= 0xd7)) return at - from
    at = bytes.indexOf(0xff, at + 2)
  }
  return refuse('damaged')
}

/** Whether the data of a segment with tables is complete, by marker. */
const TABLES = {
  [QUANTIZATION_TABLES]: (data: Buffer) => {
    let at = 0
    while (at < data.length) {
      const head = data.readUInt8(at)
      if (head >> 4 > 1 || (head & 15) > 3) return false
      at += 1 + (head >> 4 === 1 ? 128 : 64)
    }
    return at === data.length && at > 0
  },
  [HUFFMAN_TABLES]: (data: Buffer) => {
    let at = 0
    while (at < data.length) {
      const head = data.readUInt8(at)
      const codes = data.subarray(at + 1, at + 17).reduce((sum, count) => sum + count, 0)
      if (head >> 4 > 1 || (head & 15) > 3 || codes > 256) return false
      at += 17 + codes
    }
    return at === data.length && at > 0
  },
  [RESTART_INTERVAL]: (data: Buffer) => data.length === 2,
} as const

function isTable(marker: number): marker is keyof typeof TABLES {
  return marker in TABLES
}

/** Tells whether three components are RGB or YCbCr. Written anew, with nothing but that. */
function adobeSegment(data: Buffer): Buffer | null {
  if (data.length !== 12 || data.toString('latin1', 0, 5) !== 'Adobe') return null
  const transform = data.readUInt8(11)
  if (transform > 1) refuse('colours')
  return Buffer.concat([Buffer.of(0xff, ADOBE, 0, 14), Buffer.from('Adobe'), Buffer.of(0, 100, 0, 0, 0, 0, transform)])
}
