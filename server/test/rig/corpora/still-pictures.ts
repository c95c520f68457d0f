/** JPEG and WebP pictures of 8 by 6 pixels, written by Chromium, without metadata. */

const read = (...lines: string[]) => Buffer.from(lines.join(''), 'base64')

export const jpeg = read(
  '/9j/2wBDABALDA4MChAODQ4SERATGCgaGBYWGDEjJR0oOjM9PDkzODdASFxOQERXRTc4UG1RV19iZ2hnPk1xeXBkeFxlZ2P/2wBDARESEhgVGC8aGi9jQjhC',
  'Y2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2P/wAARCAAGAAgDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAA',
  'AAb/xAAdEAABBAMBAQAAAAAAAAAAAAABAAIDBQQRITFB/8QAFQEBAQAAAAAAAAAAAAAAAAAAAAL/xAAYEQEAAwEAAAAAAAAAAAAAAAABAAIRIf/aAAwD',
  'AQACEQMRAD8AqYq2whtX5IsXSY73EmF5Omgu3oDo858RETVeyrABk//Z',
)

export const webp = {
  lossy: read(
    'UklGRloAAABXRUJQVlA4IE4AAAAQAgCdASoIAAYAAsBMJQBOgMVL1f/FaSQAAP5tEoMmWclbFOX+P03td5ep0NfkVMfqz0VGb7mjk24RXVlrZRKzTIuxA0m7',
    'JhF8X2LMAAA=',
  ),
  transparent: read(
    'UklGRooAAABXRUJQVlA4WAoAAAAQAAAABwAABQAAQUxQSBsAAAABFyAQSFKffI2ICAeCANJc4zxPQEf0P8BY+wEAVlA4IEgAAACwAQCdASoIAAYAAsBMJbAC',
    'dLoABDAAAP7vTr/WsDQhcV/UjhixQaFKvFfyztbb04/ta0+c37/nrv9nJlm/bnQY+//yb/p4AAA=',
  ),
  lossless: read(
    'UklGRkQAAABXRUJQVlA4TDcAAAAvB0ABEB8gEEhCHH80IQFho26vWwKBJH+OIcYTEBQ9Z3oAu24DAg2LTwdTR1zRRIrof8D0PDUAAA==',
  ),
}

/** A segment of a JPEG. */
export function segment(marker: number, data: Buffer | string): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(2 + Buffer.byteLength(data))
  return Buffer.concat([Buffer.of(0xff, marker), length, Buffer.from(data)])
}

/** Inserts segments behind the start of a JPEG. */
export function jpegWith(...segments: readonly Buffer[]): Buffer {
  return Buffer.concat([jpeg.subarray(0, 2), ...segments, jpeg.subarray(2)])
}

/** Changes bytes of the frame header: 4 is the depth, 5 the height, 7 the width, 9 the number of components. */
export function jpegWithFrame(at: number, ...bytes: readonly number[]): Buffer {
  const changed = Buffer.from(jpeg)
  changed.set(bytes, changed.indexOf(Buffer.of(0xff, 0xc0)) + at)
  return changed
}

/** A chunk of a WebP. */
export function riffChunk(name: string, data: Buffer | string): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(Buffer.byteLength(data))
  return Buffer.concat([Buffer.from(name), length, Buffer.from(data), Buffer.alloc(Buffer.byteLength(data) % 2)])
}

/** A WebP with these chunks. */
export function riff(...chunks: readonly Buffer[]): Buffer {
  return riffChunk('RIFF', Buffer.concat([Buffer.from('WEBP'), ...chunks]))
}

/** The chunks of a WebP, as they are. */
export const chunksOf = (picture: Buffer) => picture.subarray(12)

/** An extended header for 8 by 6 pixels. */
export const extended = (flags: number) => riffChunk('VP8X', Buffer.of(flags, 0, 0, 0, 7, 0, 0, 5, 0, 0))
