/** Reader of the folder with overlays (docs/configuration.md, "MESSAGES_DIR"). Read once, at startup. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ConfigurationError } from '../../setting-texts.ts'
import { isBuiltIn } from '../ui/words.ts'
import { type Overlay, overlayProblems } from './overlay.ts'

/** As many as fit a screen; the rest is counted. */
const MAX_SHOWN = 20

/** Throws a ConfigurationError that names every file and key that is wrong. */
export async function readOverlays(folder: string | null): Promise<readonly Overlay[]> {
  if (folder === null) return []
  const files = await readdir(folder).catch((error: NodeJS.ErrnoException) =>
    refuse(folder, [`cannot be read: ${error.code}`]),
  )
  const read = await Promise.all(files.sort().map((file) => readOverlay(folder, file)))
  const problems = read.flatMap((each) => ('problems' in each ? each.problems : []))
  if (problems.length > 0) return refuse(folder, problems)
  return read.flatMap((each) => ('overlay' in each ? [each.overlay] : []))
}

async function readOverlay(
  folder: string,
  file: string,
): Promise<{ readonly overlay: Overlay } | { readonly problems: readonly string[] }> {
  const code = /^([a-z]{2})\.json$/.exec(file)?.[1]
  if (code === undefined) return { problems: [`${file}: is not named like a language, for example fr.json`] }
  try {
    const messages: unknown = JSON.parse(await readFile(join(folder, file), 'utf8'))
    const problems = overlayProblems(code, messages, isBuiltIn(code))
    if (problems.length > 0) return { problems: problems.map((problem) => `${file}: ${problem}`) }
    return { overlay: { code, messages: messages as Overlay['messages'] } }
  } catch (error) {
    return { problems: [`${file}: ${(error as Error).message}`] }
  }
}

function refuse(folder: string, problems: readonly string[]): never {
  const more = problems.length > MAX_SHOWN ? [`and ${problems.length - MAX_SHOWN} more`] : []
  const lines = [...problems.slice(0, MAX_SHOWN), ...more].map((line) => `  ${line}`)
  throw new ConfigurationError([`MESSAGES_DIR ${folder} cannot be used:`, ...lines].join('\n'))
}
