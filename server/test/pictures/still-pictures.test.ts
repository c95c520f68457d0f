/** WB-18: JPEG and WebP lose everything but one still picture, and a refusal says what is wrong. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PictureProblem } from '../../src/core/picture.ts'
import { pictureType, rewritePicture } from '../../src/pictures/picture.ts'
import { makePng } from '../rig/corpora/pictures.ts'
import {
  chunksOf,
  extended,
  jpeg,
  jpegWith,
  jpegWithFrame,
  riff,
  riffChunk,
  segment,
  webp,
} from '../rig/corpora/still-pictures.ts'

const SCRIPT = '<script>alert(document.domain)</script>'

/** The picture, or the kind of problem. */
async function rewritten(bytes: Buffer): Promise<Buffer | PictureProblem> {
  const result = await rewritePicture(bytes)
  return 'picture' in result ? result.picture : result.problem
}

describe('a plain picture stays as it is', () => {
  test.each([
    ['JPEG', jpeg, 'image/jpeg'],
    ['lossy WebP', webp.lossy, 'image/webp'],
    ['transparent WebP', webp.transparent, 'image/webp'],
    ['lossless WebP', webp.lossless, 'image/webp'],
  ])('%s', async (_name, bytes, type) => {
    expect(await rewritten(bytes)).toEqual(bytes)
    expect(pictureType(bytes)).toBe(type)
  })
})

describe('WB-18 metadata is removed', () => {
  test.each([
    ['EXIF', 0xe1, `Exif\0\0${SCRIPT}`],
    ['XMP', 0xe1, `http://ns.adobe.com/xap/1.0/\0${SCRIPT}`],
    ['a colour profile', 0xe2, `ICC_PROFILE\0${SCRIPT}`],
    ['a thumbnail', 0xe0, `JFXX\0${SCRIPT}`],
    ['a comment', 0xfe, SCRIPT],
    ['Adobe data of another length', 0xee, `Adobe${SCRIPT}`],
  ])('%s of a JPEG', async (_name, marker, data) => {
    expect(await rewritten(jpegWith(segment(marker, data)))).toEqual(jpeg)
  })

  test('of the Adobe segment of a JPEG only the colour transform is kept', async () => {
    const adobe = segment(0xee, Buffer.concat([Buffer.from('Adobe'), Buffer.from('<b>evil'.slice(0, 6)), Buffer.of(1)]))
    const written = await rewritten(jpegWith(adobe))
    expect(written).toEqual(jpegWith(segment(0xee, Buffer.from('Adobe\0d\0\0\0\0\u0001', 'latin1'))))
  })

  test.each(['EXIF', 'XMP ', 'ICCP', 'EVIL'])('the chunk %s of a WebP', async (name) => {
    const more = riffChunk(name, SCRIPT)
    for (const picture of [webp.lossy, webp.lossless]) {
      expect(await rewritten(riff(extended(0x2c), chunksOf(picture), more))).toEqual(picture)
    }
    const transparent = riff(extended(0x3c), chunksOf(webp.transparent).subarray(18), more)
    expect(await rewritten(transparent)).toEqual(webp.transparent)
  })
})

describe('a refusal says what is wrong', () => {
  const JPEG = { format: 'JPEG' }
  const WEBP = { format: 'WebP' }
  const lossyOf = (width: number) => {
    const bytes = Buffer.from(webp.lossy)
    bytes.writeUInt16LE(width, 26)
    return bytes
  }
  test.each<[string, Buffer, unknown]>([
    ['a JPEG of 1025 pixels', jpegWithFrame(7, 4, 1), { kind: 'pixels', width: 1025, height: 6 }],
    ['a JPEG without height', jpegWithFrame(5, 0, 0), { kind: 'pixels', width: 8, height: 0 }],
    ['a JPEG of 12 bits', jpegWithFrame(4, 12), { kind: 'depth', ...JPEG }],
    ['a JPEG of four colours', jpegWithFrame(9, 4), { kind: 'colours', ...JPEG }],
    ['an arithmetic JPEG', jpegWithFrame(1, 0xc9), { kind: 'compression', ...JPEG }],
    ['a lossless JPEG', jpegWithFrame(1, 0xc3), { kind: 'compression', ...JPEG }],
    ['a JPEG with a page behind it', Buffer.concat([jpeg, Buffer.from(SCRIPT)]), { kind: 'damaged', ...JPEG }],
    ['a JPEG behind a JPEG', Buffer.concat([jpeg, jpeg]), { kind: 'damaged', ...JPEG }],
    [
      'a JPEG with two frames',
      jpegWith(jpeg.subarray(jpeg.indexOf(Buffer.of(0xff, 0xc0))).subarray(0, 19)),
      { kind: 'damaged', ...JPEG },
    ],
    ['a JPEG with an unknown segment', jpegWith(segment(0xf0, SCRIPT)), { kind: 'damaged', ...JPEG }],
    ['a JPEG with half a table', jpegWith(segment(0xdb, Buffer.alloc(64))), { kind: 'damaged', ...JPEG }],
    ['an animated WebP', riff(extended(2), riffChunk('ANIM', Buffer.alloc(6))), { kind: 'animated', ...WEBP }],
    ['frames of an animation', riff(extended(0), riffChunk('ANMF', Buffer.alloc(16))), { kind: 'animated', ...WEBP }],
    ['a WebP of 1025 pixels', lossyOf(1025), { kind: 'pixels', width: 1025, height: 6 }],
    ['a WebP with a page behind it', Buffer.concat([webp.lossy, Buffer.from(SCRIPT)]), { kind: 'damaged', ...WEBP }],
    ['a WebP with two pictures', riff(chunksOf(webp.lossy), chunksOf(webp.lossy)), { kind: 'damaged', ...WEBP }],
    ['a WebP that is no key frame', riff(riffChunk('VP8 ', Buffer.alloc(40, 1))), { kind: 'damaged', ...WEBP }],
    ['a WebP without a picture', riff(extended(0)), { kind: 'damaged', ...WEBP }],
    ['an interlaced PNG', makePng({ interlace: 1 }), { kind: 'interlaced', format: 'PNG' }],
    ['a PNG of 16 bits', makePng({ depth: 16 }), { kind: 'depth', format: 'PNG' }],
    ['a PNG of 1025 pixels', makePng({ width: 1025 }), { kind: 'pixels', width: 1025, height: 2 }],
    ['a GIF', Buffer.from('GIF89a\u0001\0\u0001\0'), { kind: 'format', found: 'GIF' }],
    [
      'an SVG',
      Buffer.from('<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>'),
      { kind: 'format', found: 'SVG' },
    ],
    ['a photograph of a phone', Buffer.from('\0\0\0\u0018ftypheic'), { kind: 'format', found: 'HEIC' }],
    ['a page', Buffer.from(SCRIPT), { kind: 'format', found: null }],
  ])('%s', async (_name, bytes, problem) => {
    expect(await rewritten(bytes)).toEqual(problem)
  })

  test('a picture of more than 256 KiB, not counting what is dropped', async () => {
    const [head, tail] = [jpeg.subarray(0, -2), jpeg.subarray(-2)]
    const padded = (bytes: number) => Buffer.concat([head, Buffer.alloc(bytes - jpeg.length), tail])
    expect(await rewritten(padded(262_144))).toHaveLength(262_144)
    expect(await rewritten(padded(262_145))).toEqual({ kind: 'bytes' })
    const large = segment(0xe1, Buffer.alloc(60_000))
    expect(await rewritten(jpegWith(large, large, large, large, large))).toEqual(jpeg)
  })

  test('a JPEG with more scans than any encoder writes', async () => {
    const from = jpeg.indexOf(Buffer.of(0xff, 0xda))
    const scans = (count: number) =>
      Buffer.concat([
        jpeg.subarray(0, from),
        ...Array.from({ length: count }, () => jpeg.subarray(from, -2)),
        jpeg.subarray(-2),
      ])
    expect(await rewritten(scans(64))).toEqual(scans(64))
    expect(await rewritten(scans(65))).toEqual({ kind: 'damaged', format: 'JPEG' })
  })
})

test.each([
  ['JPEG', jpeg],
  ['WebP', webp.lossy],
  ['WebP', webp.transparent],
])('a %s truncated anywhere is refused', async (_format, picture) => {
  for (let length = 0; length < picture.length; length += 1) {
    expect(await rewritten(picture.subarray(0, length))).toHaveProperty('kind')
  }
})

test('no input throws, and what is accepted stays as it is when it is written again', async () => {
  const pictures = [jpeg, ...Object.values(webp)]
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...pictures),
      fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { minLength: 1, maxLength: 4 }),
      async (picture, changes) => {
        const changed = Buffer.from(picture)
        for (const [at, byte] of changes) if (at < changed.length) changed[at] = byte
        const once = await rewritten(changed)
        if (Buffer.isBuffer(once)) expect(await rewritten(once)).toEqual(once)
      },
    ),
    { numRuns: 2000 },
  )
})
