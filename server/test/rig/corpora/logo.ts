/** A logo to upload: a PNG, drawn pixel by pixel. */
import { crc32, deflateSync } from 'node:zlib'
import { rewritePicture } from '../../../src/pictures/picture.ts'

const SIDE = 96
const GREEN = [0x0b, 0x7a, 0x5b, 255] as const
const BLUE = [0x24, 0x50, 0xb8, 255] as const
const WHITE = [255, 255, 255, 255] as const
const CLEAR = [0, 0, 0, 0] as const

/** A white N on a round green ground, encoded as the service stores it. */
export function drawLogo(): Promise<Buffer> {
  return draw(letterN)
}

/** A white A on a square blue ground. */
export function drawOtherLogo(): Promise<Buffer> {
  return draw(letterA)
}

async function draw(pixel: (x: number, y: number) => readonly number[]): Promise<Buffer> {
  const rows = Array.from({ length: SIDE }, (_, y) => [
    0,
    ...Array.from({ length: SIDE }, (_, x) => pixel(x, y)).flat(),
  ])
  const header = Buffer.alloc(13)
  header.writeUInt32BE(SIDE, 0)
  header.writeUInt32BE(SIDE, 4)
  header.set([8, 6, 0, 0, 0], 8)
  const picture = Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.from(rows.flat()))),
    chunk('IEND', Buffer.alloc(0)),
  ])
  const kept = await rewritePicture(picture)
  if ('problem' in kept) throw new Error(`this is not a picture that the service takes: ${kept.problem.kind}`)
  return kept.picture
}

function letterN(x: number, y: number): readonly number[] {
  const [across, down] = [x - SIDE / 2 + 0.5, y - SIDE / 2 + 0.5]
  if (across ** 2 + down ** 2 > (SIDE / 2) ** 2) return CLEAR
  const isUpright = Math.abs(Math.abs(across) - 17) < 5 && Math.abs(down) < 24
  const isSlanted = Math.abs(across - (down * 17) / 24) < 6 && Math.abs(down) < 24
  return isUpright || isSlanted ? WHITE : GREEN
}

function letterA(x: number, y: number): readonly number[] {
  const [across, down] = [Math.abs(x - SIDE / 2 + 0.5), y - SIDE / 2 + 0.5]
  const isLeg = Math.abs(across - (down + 26) * 0.45) < 5 && Math.abs(down) < 26
  const isBar = Math.abs(down - 10) < 4 && across < (down + 26) * 0.45
  return isLeg || isBar ? WHITE : BLUE
}

function chunk(type: string, data: Buffer): Buffer {
  const content = Buffer.concat([Buffer.from(type), data])
  const [length, crc] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  crc.writeUInt32BE(crc32(content))
  return Buffer.concat([length, content, crc])
}
