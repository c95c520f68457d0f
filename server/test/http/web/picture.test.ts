/** WB-18: uploaded pictures are re-encoded or refused. */
import { randomBytes } from 'node:crypto'
import { crc32, deflateSync, inflateSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PictureProblem } from '../../../src/core/picture.ts'
import { rewritePicture } from '../../../src/pictures/picture.ts'
import { chunk, makePng, noPictures, rawOf } from '../../rig/corpora/pictures.ts'

/** Null if it is refused. */
async function rewritePng(bytes: Buffer): Promise<Buffer | null> {
  const result = await rewritePicture(bytes)
  return 'picture' in result ? result.picture : null
}

/** Decoded by an independent library. */
function chunksOf(png: Buffer): { type: string; data: Buffer }[] {
  const found = []
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    const data = png.subarray(at + 8, at + 8 + png.readUInt32BE(at))
    expect(png.readUInt32BE(at + 8 + data.length)).toBe(crc32(png.subarray(at + 4, at + 8 + data.length)))
    found.push({ type: png.toString('latin1', at + 4, at + 8), data })
  }
  return found
}

/** The fastest of several runs: other load only adds time. */
async function fastestMs(times: number, work: () => Promise<void>): Promise<number> {
  let fastest = Number.POSITIVE_INFINITY
  for (let time = 0; time < times; time += 1) {
    const begun = performance.now()
    await work()
    fastest = Math.min(fastest, performance.now() - begun)
  }
  return fastest
}

const typesOf = (png: Buffer | null) => png && chunksOf(png).map(({ type }) => type)
const dataOf = (png: Buffer | null, wanted: string) => png && chunksOf(png).find(({ type }) => type === wanted)?.data

describe('a plain picture', () => {
  test.each([0, 2, 3, 4, 6])('of colour type %d comes back with the same size and pixels', async (colours) => {
    const png = makePng({ colours, width: 7, height: 9 })
    const written = await rewritePng(png)
    expect(typesOf(written)).toEqual(colours === 3 ? ['IHDR', 'PLTE', 'IDAT', 'IEND'] : ['IHDR', 'IDAT', 'IEND'])
    expect(dataOf(written, 'IHDR')).toEqual(dataOf(png, 'IHDR'))
    expect(inflateSync(dataOf(written, 'IDAT') ?? '')).toEqual(rawOf(7, 9, colours))
    expect(await rewritePng(written as Buffer), 'written again, it stays as it is').toEqual(written)
  })

  test('of 1024 by 1024 is accepted; with one pixel more on either side, or none, it is not', async () => {
    const plain = (width: number, height: number) =>
      rewritePng(makePng({ width, height, colours: 0, raw: Buffer.alloc((1 + width) * height) }))
    expect(await plain(1024, 1024)).not.toBeNull()
    for (const [width, height] of [
      [1025, 1],
      [1, 1025],
      [0, 1],
      [1, 0],
    ] as const)
      expect(await plain(width, height)).toBeNull()
  })

  test('in several IDAT chunks is decoded', async () => {
    const stream = deflateSync(rawOf(3, 2, 6))
    const png = makePng({ stream: stream.subarray(0, 5), after: [chunk('IDAT', stream.subarray(5))] })
    expect(await rewritePng(png)).toEqual(await rewritePng(makePng()))
  })

  test('keeps its palette and its transparent colour; an unused palette is left out', async () => {
    const palette = chunk('PLTE', Buffer.from('ff0000 00ff00 0000ff'.replaceAll(' ', ''), 'hex'))
    const clear = chunk('tRNS', Buffer.of(0, 128))
    const written = await rewritePng(makePng({ colours: 3, before: [palette, clear] }))
    expect([dataOf(written, 'PLTE'), dataOf(written, 'tRNS')]).toEqual([palette.subarray(8, -4), Buffer.of(0, 128)])
    expect(dataOf(await rewritePng(makePng({ colours: 0, before: [chunk('tRNS', Buffer.of(0, 7))] })), 'tRNS')).toEqual(
      Buffer.of(0, 7),
    )
    expect(dataOf(await rewritePng(makePng({ colours: 2, before: [chunk('tRNS', Buffer.alloc(6))] })), 'tRNS')).toEqual(
      Buffer.alloc(6),
    )
    expect(typesOf(await rewritePng(makePng({ colours: 2, before: [palette] })))).toEqual(['IHDR', 'IDAT', 'IEND'])
  })

  test('that would be larger than 256 KiB is refused', async () => {
    const noise = (height: number) =>
      makePng({
        width: 255,
        height,
        colours: 0,
        raw: Buffer.concat(Array.from({ length: height }, () => Buffer.concat([Buffer.of(0), randomBytes(255)]))),
      })
    expect((await rewritePng(noise(1020)))?.length).toBeLessThanOrEqual(262_144)
    expect(await rewritePng(noise(1024))).toBeNull()
  })
})

describe('WB-18 metadata is removed', () => {
  const WORDS = '<script>alert(document.domain)</script>'

  test.each(['tEXt', 'zTXt', 'iTXt', 'eXIf', 'iCCP', 'acTL', 'fdAT', 'caBX', 'prVt'])('a chunk %s', async (type) => {
    const written = await rewritePng(makePng({ before: [chunk(type, WORDS)], after: [chunk(type, WORDS)] }))
    expect(written).toEqual(await rewritePng(makePng()))
  })

  test('text after the end of the compressed pixels', async () => {
    const stream = Buffer.concat([deflateSync(rawOf(3, 2, 6)), Buffer.from(WORDS)])
    expect(await rewritePng(makePng({ stream }))).toEqual(await rewritePng(makePng()))
  })

  test('text in stored (uncompressed) blocks', async () => {
    const raw = Buffer.concat([Buffer.of(0), Buffer.from(WORDS.repeat(8)), Buffer.alloc(1023 - 8 * WORDS.length)])
    const stream = deflateSync(raw, { level: 0 })
    expect(stream.includes(WORDS)).toBe(true)
    const written = await rewritePng(makePng({ width: 1023, height: 1, colours: 0, raw, stream }))
    expect(written?.includes(WORDS.repeat(2))).toBe(false)
  })
})

describe('a refusal says what is wrong', () => {
  test.each<[string, Buffer, PictureProblem]>([
    ['an interlaced PNG', makePng({ interlace: 1 }), { kind: 'interlaced' }],
    ['a PNG of 16 bits', makePng({ depth: 16 }), { kind: 'depth' }],
    ['a PNG of 1025 pixels', makePng({ width: 1025 }), { kind: 'pixels', width: 1025, height: 2 }],
    ['a PNG with a page behind it', makePng({ tail: Buffer.from('<script>') }), { kind: 'damaged' }],
    ['a JPEG', Buffer.from('ffd8ffe000104a46494600', 'hex'), { kind: 'format', found: 'JPEG' }],
    ['a WebP', Buffer.from('RIFF\u0004\0\0\0WEBPVP8 '), { kind: 'format', found: 'WebP' }],
    ['a GIF', Buffer.from('GIF89a\u0001\0\u0001\0'), { kind: 'format', found: 'GIF' }],
    [
      'an SVG',
      Buffer.from('<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>'),
      { kind: 'format', found: 'SVG' },
    ],
    ['a photograph of a phone', Buffer.from('\0\0\0\u0018ftypheic'), { kind: 'format', found: 'HEIC' }],
    ['a page', Buffer.from('<script>alert(1)</script>'), { kind: 'format', found: null }],
  ])('%s', async (_name, bytes, problem) => {
    expect(await rewritePicture(bytes)).toEqual({ problem })
  })
})

describe('WB-18 invalid pictures are refused', () => {
  const png = makePng()

  test.each(noPictures)('%s', async (_name, bytes) => {
    expect(await rewritePng(bytes)).toBeNull()
  })

  test('any flipped bit is refused, by its checksum', async () => {
    for (let bit = 0; bit < png.length * 8; bit += 1) {
      const flipped = Buffer.from(png)
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect(await rewritePng(flipped)).toBeNull()
    }
  })

  test('a picture truncated anywhere', async () => {
    for (let length = 0; length < png.length; length += 1) expect(await rewritePng(png.subarray(0, length))).toBeNull()
  })

  test('a decompression bomb is not inflated: 200 MB behind a header of six pixels', async () => {
    const stream = deflateSync(Buffer.alloc(200_000_000), { level: 1 })
    const bomb = makePng({ stream })
    const begun = performance.now()
    inflateSync(stream)
    const inflatingMs = performance.now() - begun
    expect(await fastestMs(5, async () => expect(await rewritePng(bomb)).toBeNull())).toBeLessThan(inflatingMs / 2)
  })

  test('pixels that are hard to compress do not block the process', async () => {
    const raw = Buffer.from(randomBytes(4_097 * 1_024).map((byte) => byte & 3))
    const awkward = makePng({ width: 1_024, height: 1_024, stream: deflateSync(raw, { level: 1 }) })
    const begun = performance.now()
    deflateSync(raw, { level: 9 })
    const bestCompressionMs = performance.now() - begun
    let turns = 0
    const turning = setInterval(() => {
      turns += 1
    }, 1)
    const rewritingMs = await fastestMs(3, async () => expect(await rewritePng(awkward)).toBeNull())
    clearInterval(turning)
    expect(turns).toBeGreaterThan(5)
    expect(rewritingMs).toBeLessThan(bestCompressionMs / 2)
  })

  test('no input throws', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
        expect(await rewritePng(Buffer.from(bytes))).toBeNull()
        expect(await rewritePng(Buffer.concat([png.subarray(0, 33), Buffer.from(bytes)]))).toBeNull()
      }),
    )
  })
})
