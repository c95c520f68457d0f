/** The logo file that SERVICE_LOGO names (docs/configuration.md): read once at startup, and checked like an upload. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { MAX_PICTURE_BYTES, MAX_SIDE_PIXELS, type PictureProblem } from '../core/picture.ts'
import { ConfigurationError } from '../setting-texts.ts'
import { pictureType, rewritePicture } from './picture.ts'

export type ServiceLogo = {
  /** `/assets/service.<digest>.png`: another picture has another path, so it can be cached for good. */
  readonly path: string
  readonly contentType: string
  readonly bytes: Buffer
}

export async function readLogoFile(file: string | null): Promise<ServiceLogo | null> {
  if (file === null) return null
  const content = await readFile(file).catch((error: NodeJS.ErrnoException) =>
    refuse(file, error.code ?? error.message),
  )
  const result = await rewritePicture(content)
  if ('problem' in result) return refuse(file, describe(result.problem))
  const { picture: bytes } = result
  const contentType = pictureType(bytes)
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 12)
  return { path: `/assets/service.${digest}.${contentType.replace('image/', '')}`, contentType, bytes }
}

function refuse(file: string, reason: string): never {
  throw new ConfigurationError(
    `SERVICE_LOGO cannot be used from ${file}: ${reason}. Name a PNG, JPEG or WebP file, or leave SERVICE_LOGO out.`,
  )
}

function describe(problem: PictureProblem): string {
  switch (problem.kind) {
    case 'format':
      return problem.found === null ? 'it is no PNG, JPEG or WebP' : `it is of the type ${problem.found}`
    case 'pixels':
      return `it has ${problem.width} by ${problem.height} pixels, at most ${MAX_SIDE_PIXELS} by ${MAX_SIDE_PIXELS} are possible`
    case 'bytes':
      return `it takes more than ${MAX_PICTURE_BYTES} bytes`
    case 'animated':
      return `this ${problem.format} is animated`
    case 'depth':
      return `this ${problem.format} does not have 8 bits per channel`
    case 'interlaced':
      return `this ${problem.format} is interlaced`
    case 'colours':
      return `the colours of this ${problem.format} are neither RGB nor grey`
    case 'compression':
      return `this ${problem.format} is neither baseline nor progressive`
    case 'damaged':
      return `this ${problem.format} is incomplete or damaged`
  }
}
