/**
 * Reduces the size of a screenshot with a palette of at most 256 colours (PNG, third edition, section 11.2.2). Supports only
 * the output of Chromium: eight bits per channel, RGB with or without alpha, not interlaced.
 */
import { crc32, deflateSync, inflateSync } from 'node:zlib'

const MAX_COLOURS = 64

type Picture = { readonly width: number; readonly height: number; readonly pixels: Uint32Array }

export function palettePng(png: Buffer): Buffer {
  const { width, height, pixels } = readPixels(png)
  const { palette, indexOf } = choosePalette(pixels)
  const rows = Buffer.alloc((width + 1) * height)
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) rows[y * (width + 1) + 1 + x] = indexOf(pixels[y * width + x] ?? 0)
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 3, 0, 0, 0], 8)
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]))
  return Buffer.concat([
    png.subarray(0, 8),
    chunk('IHDR', header),
    chunk('PLTE', colours),
    chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** The most frequent colours; all others are mapped to the nearest of them. */
function choosePalette(pixels: Uint32Array): { palette: readonly number[]; indexOf: (colour: number) => number } {
  const counts = new Map<number, number>()
  for (const colour of pixels) counts.set(colour, (counts.get(colour) ?? 0) + 1)
  const palette = [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, MAX_COLOURS)
    .map(([colour]) => colour)
  const known = new Map(palette.map((colour, index) => [colour, index]))
  const indexOf = (colour: number): number => {
    const index = known.get(colour)
    if (index !== undefined) return index
    const nearest = palette.reduce((best, each, at) => {
      return distance(each, colour) < distance(palette[best] ?? 0, colour) ? at : best
    }, 0)
    known.set(colour, nearest)
    return nearest
  }
  return { palette, indexOf }
}

function distance(one: number, other: number): number {
  const red = (one >> 16) - (other >> 16)
  const green = ((one >> 8) & 255) - ((other >> 8) & 255)
  const blue = (one & 255) - (other & 255)
  return red * red + green * green + blue * blue
}

function readPixels(png: Buffer): Picture {
  const parts: Buffer[] = []
  let [width, height, pixelBytes] = [0, 0, 3]
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    const type = png.toString('latin1', at + 4, at + 8)
    const data = png.subarray(at + 8, at + 8 + png.readUInt32BE(at))
    if (type === 'IHDR')
      [width, height, pixelBytes] = [data.readUInt32BE(0), data.readUInt32BE(4), data[9] === 6 ? 4 : 3]
    if (type === 'IDAT') parts.push(data)
  }
  const raw = unfilter(inflateSync(Buffer.concat(parts)), width * pixelBytes, height, pixelBytes)
  const pixels = new Uint32Array(width * height)
  for (let index = 0; index < pixels.length; index += 1) {
    pixels[index] = raw.readUIntBE(index * pixelBytes, 3)
  }
  return { width, height, pixels }
}

/** Section 9: each row starts with its filter type. */
function unfilter(filtered: Buffer, rowBytes: number, rows: number, pixelBytes: number): Buffer {
  const raw = Buffer.alloc(rowBytes * rows)
  for (let row = 0; row < rows; row += 1) {
    const filter = filtered[row * (rowBytes + 1)] ?? 0
    for (let column = 0; column < rowBytes; column += 1) {
      const at = row * rowBytes + column
      const left = column >= pixelBytes ? (raw[at - pixelBytes] ?? 0) : 0
      const above = row > 0 ? (raw[at - rowBytes] ?? 0) : 0
      const corner = row > 0 && column >= pixelBytes ? (raw[at - rowBytes - pixelBytes] ?? 0) : 0
      raw[at] = (filtered[row * (rowBytes + 1) + 1 + column] ?? 0) + predict(filter, left, above, corner)
    }
  }
  return raw
}

function predict(filter: number, left: number, above: number, corner: number): number {
  switch (filter) {
    case 0:
      return 0
    case 1:
      return left
    case 2:
      return above
    case 3:
      return (left + above) >> 1
    default:
      return paeth(left, above, corner)
  }
}

function paeth(left: number, above: number, corner: number): number {
  const guess = left + above - corner
  const toLeft = Math.abs(guess - left)
  const toAbove = Math.abs(guess - above)
  const toCorner = Math.abs(guess - corner)
  if (toLeft <= toAbove && toLeft <= toCorner) return left
  return toAbove <= toCorner ? above : corner
}

function chunk(type: string, data: Buffer): Buffer {
  const content = Buffer.concat([Buffer.from(type), data])
  const [length, crc] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  crc.writeUInt32BE(crc32(content))
  return Buffer.concat([length, content, crc])
}
