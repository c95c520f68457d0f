/**
 * `npm run check:commits`: subjects of new commits are `scope: imperative subject`, at most 72 characters (CONTRIBUTING.md).
 * Commits up to BASE predate the rule. Without git history (an archive, a shallow clone) there are no new commits.
 */
import { spawnSync } from 'node:child_process'

const BASE = 'ea5ac49b68b9'

const MAX_LENGTH = 72
const FORM = /^[a-z][a-z0-9-]*(, [a-z][a-z0-9-]*)*: ([a-z]\S*) \S/

/** First words that are not imperative verbs: participles, articles, pronouns, conjunctions. */
const NOT_IMPERATIVE =
  /(ed|ing)$|^(the|a|an|what|who|whoever|where|when|nobody|nothing|every|each|all|no|one|it|its|is|are|to|so|in|on|of)$/
const IMPERATIVE_EXCEPTIONS = ['embed', 'feed', 'need', 'shed', 'speed', 'bring', 'ping', 'string']

export function subjectProblem(subject: string): string | null {
  if (/^(Merge|Revert) /.test(subject)) return null
  if (subject.length > MAX_LENGTH) return `${subject.length} characters, at most ${MAX_LENGTH}`
  const verb = FORM.exec(subject)?.[2]
  if (verb === undefined) return 'not "scope: imperative subject"'
  if (NOT_IMPERATIVE.test(verb) && !IMPERATIVE_EXCEPTIONS.includes(verb)) return `"${verb}" is no imperative`
  return null
}

if (import.meta.main) {
  const { status, stdout } = spawnSync('git', ['log', '--format=%h %s', `${BASE}..HEAD`], { encoding: 'utf8' })
  const lines = status === 0 ? stdout.trim().split('\n').filter(Boolean) : []
  const problems = lines.flatMap((line) => {
    const problem = subjectProblem(line.slice(line.indexOf(' ') + 1))
    return problem === null ? [] : [`${line}: ${problem}`]
  })
  for (const problem of problems) console.error(problem)
  console.log(`commits: new=${lines.length} problems=${problems.length}`)
  process.exitCode = problems.length > 0 ? 1 : 0
}
