/** The logo file that SERVICE_LOGO names (docs/configuration.md): read once at startup, and checked like an upload. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { MAX_PICTURE_BYTES, MAX_SIDE_PIXELS, type PictureProblem } from '../core/picture.ts'
import { ConfigurationError } from '../setting-texts.ts'
import { PICTURE_TYPE, rewritePicture } from './picture.ts'

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
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 12)
  return { path: `/assets/service.${digest}.png`, contentType: PICTURE_TYPE, bytes }
}

function refuse(file: string, reason: string): never {
  throw new ConfigurationError(
    `SERVICE_LOGO cannot be used from ${file}: ${reason}. Name a PNG file, or leave SERVICE_LOGO out.`,
  )
}

function describe(problem: PictureProblem): string {
  switch (problem.kind) {
    case 'format':
      return problem.found === null ? 'it is no PNG' : `it is of the type ${problem.found}`
    case 'pixels':
      return `it has ${problem.width} by ${problem.height} pixels, at most ${MAX_SIDE_PIXELS} by ${MAX_SIDE_PIXELS} are possible`
    case 'bytes':
      return `it takes more than ${MAX_PICTURE_BYTES} bytes`
    case 'depth':
      return 'it does not have 8 bits per channel'
    case 'interlaced':
      return 'it is interlaced'
    case 'damaged':
      return 'it is incomplete or damaged'
  }
}
