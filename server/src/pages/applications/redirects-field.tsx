/** Field for the redirect URIs of the dialog, and the texts for invalid ones. */
import { MAX_REDIRECTS } from '../../core/dialog/redirect-uri.ts'
import { TextArea } from '../ui/field-kinds.tsx'
import type { Words } from '../ui/words.ts'
import type { RedirectProblemAt } from './scope-choice.tsx'

type RedirectsFieldProps = {
  readonly words: Words
  readonly value: string
  readonly problem: string | null
  readonly focus?: boolean
}

export function RedirectsField({ words, value, problem, focus = false }: RedirectsFieldProps) {
  return (
    <TextArea
      id="redirects"
      label={words.t('redirects.label')}
      hint={
        <>
          <p>{words.t('redirects.hint', { max: MAX_REDIRECTS })}</p>
          <p>{words.rich('redirects.example', { address: 'https://app.example/callback', code: address })}</p>
        </>
      }
      value={value}
      rows={4}
      problem={problem}
      focus={focus}
    />
  )
}

const address = (chunks: unknown) => (
  <code class="technical" dir="ltr">
    {chunks as string}
  </code>
)

/** Characters of a redirect URI to quote in a problem text: enough to recognise it. */
const MAX_SHOWN_LENGTH = 120

export function redirectProblemText(words: Words, { uri, reason }: RedirectProblemAt): string {
  if (reason === 'none') return words.t('redirects.problem_none')
  if (reason === 'too_many') return words.t('redirects.problem_too_many', { max: MAX_REDIRECTS })
  const shown = shortened(uri)
  if (reason === 'not_canonical') {
    const spelled = shortened(URL.parse(uri)?.href ?? uri)
    return words.t('redirects.problem_not_canonical', { uri: shown, spelled })
  }
  return words.t(`redirects.problem_${reason}`, { uri: shown })
}

function shortened(uri: string): string {
  return uri.length > MAX_SHOWN_LENGTH ? `${uri.slice(0, MAX_SHOWN_LENGTH)}…` : uri
}
