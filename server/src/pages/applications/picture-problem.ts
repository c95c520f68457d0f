/** Why an uploaded picture was refused, in the reader's language. */
import { MAX_PICTURE_BYTES, MAX_SIDE_PIXELS, type PictureProblem } from '../../core/picture.ts'
import type { Words } from '../ui/words.ts'

const LIMITS = { side: MAX_SIDE_PIXELS, kilobytes: Math.floor(MAX_PICTURE_BYTES / 1000) }

export function pictureProblemText(words: Words, problem: PictureProblem): string {
  switch (problem.kind) {
    case 'format':
      return problem.found === null
        ? words.t('picture.problem_unknown', LIMITS)
        : words.t('picture.problem_format', { found: problem.found })
    case 'pixels':
      return words.t('picture.problem_pixels', { width: problem.width, height: problem.height, ...LIMITS })
    case 'bytes':
      return words.t('picture.problem_bytes', LIMITS)
    default:
      return words.t(`picture.problem_${problem.kind}`)
  }
}

export function pictureHint(words: Words): string {
  return words.t('picture.hint', LIMITS)
}
